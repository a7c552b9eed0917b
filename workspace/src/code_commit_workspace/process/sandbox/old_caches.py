"""Remove the private caches of projects that are gone or not used.

A project is not used if nothing of it ran in the sandbox for a month.
"""

from __future__ import annotations

import fcntl
import os
import re
import threading
import time
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from code_commit_workspace.files.tree_removal import remove_tree
from code_commit_workspace.process.sandbox.private_folders import PROJECT, in_use, locked

_DAY = 24 * 60 * 60.0
_MONTH = 30 * _DAY
_STAMP = "looked-for-old-ones"
_REMOVED = "removed-"
_NAME = re.compile(r"[0-9a-f]{16}")


def remove_old_caches(place: Path) -> None:
    """Remove old private folders in `place` in the background, at most once a day."""
    stamp = place / _STAMP
    with suppress(OSError):
        if stamp.exists() and abs(time.time() - stamp.stat().st_mtime) < _DAY:
            return
        stamp.touch()
        thread = threading.Thread(target=_remove, args=[place], name="old caches", daemon=True)
        thread.start()  # if the program ends meanwhile, the next day removes the remaining ones


def _remove(place: Path) -> None:
    with suppress(OSError):
        with locked(place, fcntl.LOCK_EX | fcntl.LOCK_NB):  # no run begins meanwhile
            named = [folder for folder in place.iterdir() if _NAME.fullmatch(folder.name)]
            for folder in filter(_is_old, named):
                folder.rename(place / f"{_REMOVED}{uuid4().hex}")
        for folder in place.glob(f"{_REMOVED}*"):
            if not folder.is_symlink():
                remove_tree(folder)


def _is_old(folder: Path) -> bool:
    if folder.is_symlink() or not folder.is_dir():
        return False
    unused = time.time() - folder.stat().st_mtime  # each run makes and removes a folder in it
    if unused < _DAY or in_use(folder):
        return False
    return unused > _MONTH or _project_is_gone(folder)


def _project_is_gone(folder: Path) -> bool:
    try:
        project = os.fsdecode((folder / PROJECT).read_bytes())
        return not Path(project).is_dir()
    except (OSError, ValueError):
        return False  # unknown: made by an earlier version
