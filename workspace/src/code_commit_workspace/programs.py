"""Find programs on PATH, outside of the project."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def find_program(name: str, root: Path) -> str | None:
    """Return the path of the program `name` from PATH, or None.

    Skip relative folders and those in the project at `root`, such as a virtual environment: a build can put a program
    there, and we would run it outside of the sandbox.
    """
    project = os.path.realpath(root)
    folders = (folder for folder in os.get_exec_path() if Path(folder).is_absolute())
    trusted = (folder for folder in folders if not within(os.path.realpath(folder), project))
    return shutil.which(name, path=os.pathsep.join(trusted))


def within(path: str, folder: str) -> bool:
    """Return whether `path` is `folder` or lies in it; both are absolute."""
    return os.path.commonpath((path, folder)) == folder
