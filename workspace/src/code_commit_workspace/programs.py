"""Find programs on PATH that no process of the project can have put there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path


def find_program(name: str, root: Path, writable: Iterable[str | Path] = ()) -> str | None:
    """Return the path of the program `name` from PATH, or None.

    Skip relative folders and those in the project at `root`, such as a virtual environment, or in a `writable` folder:
    a build can put a program there, and we would run it outside of the sandbox.
    """
    changed = [os.path.realpath(folder) for folder in (root, *writable)]
    trusted = [
        folder
        for folder in os.get_exec_path()
        if Path(folder).is_absolute() and not any(within(os.path.realpath(folder), each) for each in changed)
    ]
    found = shutil.which(name, path=os.pathsep.join(trusted))
    if found and any(within(os.path.realpath(found), each) for each in changed):
        return None
    return found


def within(path: str, folder: str) -> bool:
    """Return whether `path` is `folder` or lies in it; both are absolute."""
    return os.path.commonpath((path, folder)) == folder
