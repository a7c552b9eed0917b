"""Open the state folder without following links that somebody planted."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.open_flags import FOLDER, ROOT_FOLDER
from code_commit_workspace.files.project_tree import parts_of

STORE = "store.git"  # in the state folder


def open_home(home: Path) -> int:
    """Return a handle on `home`. Create it, and the folder above it, if missing.

    Neither may be a link: a repository could contain one, and we would write state wherever it
    leads.

    Raises:
        NotReady: a link or a file is in the way, or the folder cannot be created.
    """
    try:
        handle = os.open(home.parent.parent, ROOT_FOLDER)
        for name in (home.parent.name, home.name):
            try:
                below = open_folder(handle, name)
            finally:
                os.close(handle)
            handle = below
    except OSError as error:
        raise NotReady(
            f"the state folder {home} cannot be used: {error.strerror}",
            hint=f"{home.parent} and the folders in it must be writable and cannot be links",
        ) from error
    return handle


def unlock(handle: int) -> None:
    """Release the lock on `handle` and close it.

    Unlock explicitly: a process that another thread is starting shares the handle until its exec,
    and would keep the lock after we close ours.
    """
    with suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_UN)
    os.close(handle)


def open_folder(parent: int, name: str) -> int:
    """Return a handle on the folder `name` in `parent`. Create it with mode 0700 if missing.

    Raises:
        OSError: it is a link or a file, or cannot be created.
    """
    try:
        return os.open(name, FOLDER, dir_fd=parent)
    except FileNotFoundError:
        os.mkdir(name, 0o700, dir_fd=parent)
        return os.open(name, FOLDER, dir_fd=parent)


def make_state_folder(home: Path, name: str) -> Path:
    """Return the folder `name` for state between runs, in `home`; create it if missing.

    Raises:
        NotReady: it cannot be created, or a link is in its place.
    """
    folder = home / "state" / name
    handle = open_home(home)
    try:
        for part in ("state", *parts_of(name)):
            below = open_folder(handle, part)
            os.close(handle)
            handle = below
    except OSError as error:
        raise NotReady(f"cannot make {folder}: {error.strerror}") from error
    finally:
        os.close(handle)
    return folder
