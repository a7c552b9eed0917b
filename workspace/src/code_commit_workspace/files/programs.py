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
    folders, and those to which a link in them leads. A build can choose the program there, and we
    would run it outside of the sandbox.
    """
    untrusted = _real_paths(root, writable)
    for folder in trusted_path(root, writable=writable).split(os.pathsep):
        if not folder:
            continue
        program = shutil.which(name, path=folder)
        if program and not leads_through(program, untrusted):
            return program
    return None


def require_program(name: str, root: Path, writable: Iterable[str | Path] = ()) -> str:
    """Return the path of the program `name`, as `find_program` does.

    Raises:
        NotReady: it is missing, or only in a `writable` folder, which the user opened for builds.
    """
    if program := find_program(name, root, writable):
        return program
    if replaceable := find_program(name, root):
        _, *writable_paths = _real_paths(root, writable)
        folder = next(path for path in writable_paths if leads_through(replaceable, (path,)))
        raise NotReady(
            f"sandbox.writable: {folder} holds {replaceable}, which a build could replace",
            hint="open only the folders in it that builds need",
        )
    raise NotReady(f"{name} was not found on PATH", hint=f"install {name} outside the project")


def trusted_path(root: Path, path: str | None = None, writable: Iterable[str | Path] = ()) -> str:
    """Return `path` (default: PATH) without relative folders and without untrusted ones.

    Untrusted are folders in the project or in a `writable` folder, and those to which a link in
    one of these leads.
    """
    if path is None:
        path = os.pathsep.join(os.get_exec_path())
    return _trusted_path(_real_paths(root, writable), path)


def _real_paths(root: Path, writable: Iterable[str | Path]) -> tuple[str, ...]:
    """Return the real path of the project, then those of the `writable` folders."""
    expanded = (os.path.expanduser(str(folder)) for folder in writable)  # noqa: PTH111 - it does not raise
    return tuple(os.path.realpath(folder) for folder in (str(root), *expanded))


@lru_cache(maxsize=16)
def _trusted_path(untrusted: tuple[str, ...], path: str) -> str:
    absolute = (folder for folder in path.split(os.pathsep) if Path(folder).is_absolute())
    return os.pathsep.join(folder for folder in absolute if not leads_through(folder, untrusted))


def leads_through(path: str, folders: Iterable[str]) -> bool:
    """Return whether an absolute `path` ends in one of `folders`, or leads through one.

    It leads through a folder if something in the folder decides where the path ends. `folders` are
    real paths.
    """
    *places, end = places_on_way(path)
    for folder in folders:
        if within(end, folder):
            return True
        if any(place != folder and within(place, folder) for place in places):
            return True
    return False
