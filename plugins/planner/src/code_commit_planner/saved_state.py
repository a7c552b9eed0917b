"""Save state for a run that is killed, as JSON in the folder `Run.state`."""

from __future__ import annotations

import json
import os
from pathlib import Path


def save_json(path: Path, value: object) -> None:
    """Replace the file at `path` atomically, safe against power loss."""
    fresh = path.with_name(f"{path.name}.new")
    with fresh.open("w", encoding="utf-8") as file:
        json.dump(value, file)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
