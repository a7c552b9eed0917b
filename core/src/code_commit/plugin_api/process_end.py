"""What the events of a process say, those that earlier versions recorded included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from code_commit_workspace.words import describe_ending, join_paths

_SHOWN_PATHS = 5
_UNKNOWN_LIMIT = 0.0


def is_build(argv: Any) -> bool:
    """Return whether `argv` is the command line of the build, whatever its interpreter."""
    return isinstance(argv, list | tuple) and list(argv[-1:]) == ["build.sh"]


def is_baseline(data: Mapping[str, Any]) -> bool:
    """Return whether an event of a process with `data` is about the build of untouched files."""
    return str(data.get("log")).rpartition("/")[2].startswith("baseline-build")


def process_passed(data: Mapping[str, Any]) -> bool:
    """Return whether the process of a `process.finished` with `data` succeeded."""
    return data.get("exit_code") == 0 and not data.get("tampered")


def process_ending(data: Mapping[str, Any]) -> str:
    """Return how the process of a `process.finished` with `data` ended, to follow its name.

    It changed its own checks; else this is `ProcessResult.ending`.
    """
    if tampered := data.get("tampered"):
        return f"changed its own checks: {join_paths(_texts(tampered), _SHOWN_PATHS)}"
    if ending := data.get("ending"):
        return str(ending)
    exit_code = data.get("exit_code")
    if not isinstance(exit_code, int):
        exit_code = None
    time_limit = _UNKNOWN_LIMIT if data.get("timed_out") else None
    return describe_ending(exit_code, time_limit=time_limit)


def _texts(values: Any) -> Sequence[str]:
    if isinstance(values, list | tuple):
        return [str(value) for value in values]
    return [str(values)]
