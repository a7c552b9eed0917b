"""Find programs on PATH, except where a process of the project could have put them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.path_text import within
from code_commit_workspace.files.way_of_path import places_on_way


def find_program(name: str, root: Path, writable: Iterable[str | Path] = ()) -> str | None:
    """Return the path of the program `name` from PATH, or None.

    Skip programs in the project at `root`, such as in a virtual environment, and in `writable`
    folders, and those to which a link in them leads: a build can choose the program there, and we
    would run it outside of the sandbox.
    """
    changed = _real(root, writable)
    for folder in trusted_path(root, writable=writable).split(os.pathsep):
        found = shutil.which(name, path=folder) if folder else None
        if found and not leads_through(found, changed):
            return found
    return None


def require_program(name: str, root: Path, writable: Iterable[str | Path] = ()) -> str:
    """Return the path of the program `name`, as `find_program` does.

    Raises:
        NotReady: it is missing, or only in a `writable` folder, which the user opened for builds.
    """
    if found := find_program(name, root, writable):
        return found
    if inside := find_program(name, root):
        opened = next(each for each in _real(root, writable)[1:] if leads_through(inside, (each,)))
        raise NotReady(
            f"sandbox.writable: {opened} holds {inside}, which a build could replace",
            hint="open only the folders in it that builds need",
        )
    raise NotReady(f"{name} was not found on PATH", hint=f"install {name} outside the project")


def trusted_path(root: Path, path: str | None = None, writable: Iterable[str | Path] = ()) -> str:
    """Return `path` (default: PATH) without relative folders, and without those in the project or a
    `writable` one.

    A folder to which a link in one of those leads is left out, too.
    """
    return _trusted(
        _real(root, writable), os.pathsep.join(os.get_exec_path()) if path is None else path
    )


def _real(root: Path, writable: Iterable[str | Path]) -> tuple[str, ...]:
    opened = (os.path.expanduser(str(folder)) for folder in writable)  # noqa: PTH111 - it does not raise
    return tuple(os.path.realpath(folder) for folder in (str(root), *opened))


@lru_cache(maxsize=16)
def _trusted(changed: tuple[str, ...], path: str) -> str:
    absolute = (folder for folder in path.split(os.pathsep) if Path(folder).is_absolute())
    return os.pathsep.join(folder for folder in absolute if not leads_through(folder, changed))


def leads_through(path: str, folders: Iterable[str]) -> bool:
    """Return whether an absolute `path` ends in one of `folders`, or whether something in one
    decides where it ends.

    `folders` are real paths.
    """
    *passed, last = places_on_way(path)
    return any(
        within(last, folder) or any(_is_in(place, folder) for place in passed) for folder in folders
    )


def _is_in(path: str, folder: str) -> bool:
    return path != folder and within(path, folder)
