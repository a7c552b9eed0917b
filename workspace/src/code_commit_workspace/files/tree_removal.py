"""Remove a folder of any depth. `shutil.rmtree` recurses, with an open handle for each level."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

from code_commit_workspace.files.open_flags import CLOSED_FOLDER, FOLDER


def remove_tree(path: str | Path, *, dir_fd: int | None = None) -> None:
    """Remove the folder at `path`, relative to `dir_fd`, and everything in it. Do not follow links.

    Folders that their owner may not read or write are removed, too.

    Raises:
        OSError: something cannot be removed.
    """
    with suppress(RecursionError, OSError):
        shutil.rmtree(path, dir_fd=dir_fd)
        return
    top = _open(path, dir_fd)
    try:
        _empty(top)
    finally:
        os.close(top)
    os.rmdir(path, dir_fd=dir_fd)


def _empty(top: int) -> None:
    """Remove everything in `top`.

    Move each folder below into `top` first, so that no path gets long.
    """
    prefix = f".{os.urandom(8).hex()}-"
    moved = 0
    ahead = _remove_files(top)
    while ahead:
        name = ahead.pop()
        folder = _open(name, top)
        try:
            for below in _remove_files(folder):
                os.close(_open(below, folder))  # makes it writable, or it could not be moved
                moved += 1
                os.rename(below, f"{prefix}{moved}", src_dir_fd=folder, dst_dir_fd=top)
                ahead.append(f"{prefix}{moved}")
        finally:
            os.close(folder)
        os.rmdir(name, dir_fd=top)


def _remove_files(folder: int) -> list[str]:
    """Remove all files in `folder`, and return the names of the folders in it."""
    files: list[str] = []
    folders: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            names = folders if entry.is_dir(follow_symlinks=False) else files
            names.append(entry.name)
    for name in files:
        os.unlink(name, dir_fd=folder)
    return folders


def _open(path: str | Path, parent: int | None) -> int:
    """Open a folder, and let its owner do everything there."""
    try:
        handle = os.open(path, FOLDER, dir_fd=parent)
    except PermissionError:
        closed = os.open(path, CLOSED_FOLDER, dir_fd=parent)
        try:
            # By its handle: the name could be a link by now.
            Path(f"/proc/self/fd/{closed}").chmod(0o700)
        finally:
            os.close(closed)
        handle = os.open(path, FOLDER, dir_fd=parent)
    with suppress(OSError):
        os.fchmod(handle, 0o700)
    return handle
