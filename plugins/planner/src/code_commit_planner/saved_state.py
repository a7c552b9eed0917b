"""Save state for a run that is killed, as JSON in the folder `Run.state`."""

from __future__ import annotations

import json
from pathlib import Path

from code_commit_workspace import replace_file


def save_json(path: Path, value: object) -> None:
    """Replace the file at `path` atomically, safe against power loss."""
    replace_file(path, json.dumps(value).encode(), sync=True)
