"""The hooks of the plugin. Every start imports this module: import nothing slow here."""

from __future__ import annotations

from functools import partial
from typing import Any

from code_commit.plugin_api import AcceptanceCheck, Run, Submission, Verdict, count_of, hookimpl


@hookimpl
def code_commit_settings() -> str:
    """Return the model of the section `[plugins.new-name]`."""
    return "code_commit_new_name.settings:NewNameSettings"


@hookimpl
def code_commit_acceptance(settings: Any) -> list[AcceptanceCheck]:
    """Return the check."""
    return [AcceptanceCheck("new-name", partial(accept, settings.max_files))]


def accept(max_files: int, run: Run, submission: Submission) -> Verdict:
    """Accept a green change of few files."""
    count = len(submission.changes)
    if count > max_files:
        return Verdict(False, f"Change at most {count_of(max_files, 'file')}, not {count}.")
    return Verdict(True, trailers={"Changed-Files": str(count)})
