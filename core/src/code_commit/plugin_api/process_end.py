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


def process_passed(data: Mapping[str, Any]) -> bool:
    """Return whether the process of a `process.finished` with `data` succeeded."""
    return data.get("exit_code") == 0 and not data.get("tampered")


def process_ending(data: Mapping[str, Any]) -> str:
    """Return how the process of a `process.finished` with `data` ended, to follow its name: that it
    changed its own checks, else `ProcessResult.ending`.
    """
    if tampered := data.get("tampered"):
        return f"changed its own checks: {join_paths(_texts(tampered), _SHOWN_PATHS)}"
    if ending := data.get("ending"):
        return str(ending)
    code = data.get("exit_code")
    return describe_ending(
        code if isinstance(code, int) else None,
        time_limit=_UNKNOWN_LIMIT if data.get("timed_out") else None,
    )


def _texts(values: Any) -> Sequence[str]:
    return [str(value) for value in values] if isinstance(values, list | tuple) else [str(values)]
