"""Save state for a run that is killed, as JSON in the folder `Run.state`."""

from __future__ import annotations

import json
import os
from pathlib import Path

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC


def save_json(path: Path, value: object) -> None:
    """Replace the file at `path` atomically, safe against power loss."""
    fresh = path.with_name(f"{path.name}.new")
    handle = os.open(fresh, _NEW_FILE, 0o600)
    with open(handle, "w", encoding="utf-8") as file:  # noqa: PTH123 - a handle
        json.dump(value, file)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
