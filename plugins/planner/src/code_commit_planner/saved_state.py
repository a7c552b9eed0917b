"""Save state as JSON in the folder `Run.state`, for a run that continues an interrupted one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from code_commit_workspace import replace_file

_T = TypeVar("_T")


def save_json(path: Path, value: object) -> None:
    """Replace the file at `path` atomically, safe against power loss."""
    replace_file(path, json.dumps(value).encode(), sync=True)


def load_json(path: Path, build: Callable[[Any], _T]) -> _T | None:
    """Return what `build` makes of the JSON at `path`; None if it is missing or invalid."""
    try:
        return build(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None
