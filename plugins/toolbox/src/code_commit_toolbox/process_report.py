"""Report to a model how a process ended, and what it wrote."""

from __future__ import annotations

import os

from code_commit.plugin_api import ProcessResult, Run
from code_commit_toolbox.shortening import head_and_tail

OUTPUT_MARK = "--- output ---"


def process_report(run: Run, result: ProcessResult, limit: int) -> str:
    """Return how a process ended, and about `limit` characters of its output.

    The run folder has the whole output.
    """
    log = os.path.relpath(result.log, run.root)
    text = result.output.decode("utf-8", "replace")
    if not text:
        return result.ending
    if not text.endswith("\n"):
        text += "\n"
    shown = head_and_tail(text, limit, whole=f"see {log}").removesuffix("\n")
    return f"{result.ending}\n{OUTPUT_MARK}\n{shown}"
