"""Report to a model how a process ended, and what it wrote."""

from __future__ import annotations

import os

from code_commit.plugin_api import ProcessResult, Run
from code_commit_toolbox.shortening import head_and_tail


def process_report(run: Run, result: ProcessResult, limit: int) -> str:
    """Return the exit code and the output of a process, about `limit` characters; the run folder has all of it."""
    log = os.path.relpath(result.log, run.root)
    outputs = {
        name: output.decode("utf-8", "replace")
        for name, output in (("stdout", result.stdout), ("stderr", result.stderr))
        if output
    }
    ending = "ended by a signal or its time limit" if result.exit_code is None else f"exit code: {result.exit_code}"
    pieces = [ending]
    for name, text in outputs.items():
        ended = text if text.endswith("\n") else f"{text}\n"
        pieces.append(f"--- {name} ---\n" + head_and_tail(ended, limit // len(outputs), whole=f"see {log}"))
    return "\n".join(piece.removesuffix("\n") for piece in pieces)
