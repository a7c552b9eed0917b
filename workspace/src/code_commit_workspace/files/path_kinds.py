"""Ask what is at a path that somebody else may own.

Unlike the methods of `pathlib`, these functions never raise: a folder that this account may not
enter, a loop of links and a name that is too long are answers, too. They follow links, except
`is_link`, `is_plain_folder` and `lexists`.
"""

from __future__ import annotations

import os
import stat
from os.path import exists, lexists
from os.path import isdir as is_folder
from os.path import isfile as is_file
from os.path import islink as is_link
from pathlib import Path

__all__ = [
    "blocks_readers",
    "exists",
    "is_file",
    "is_folder",
    "is_link",
    "is_plain_folder",
    "is_socket",
    "kind_of",
    "lexists",
]

_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
    stat.S_IFDIR: "a folder",
    stat.S_IFREG: "a file",
}


def kind_of(status: os.stat_result) -> str:
    """Return the kind of file, for people."""
    return _KINDS.get(stat.S_IFMT(status.st_mode), "not a regular file")


def blocks_readers(path: str | Path) -> os.stat_result | None:
    """Return the status of a pipe or device that `path` leads to, else None.

    Whoever reads it may wait forever. The null device does not count.
    """
    try:
        status = os.stat(path)  # noqa: PTH116 - it may be a text
        if stat.S_IFMT(status.st_mode) not in {stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK}:
            return None
        null = os.stat(os.devnull)  # noqa: PTH116 - a text
    except (OSError, ValueError):
        return None
    if stat.S_ISCHR(status.st_mode) and status.st_rdev == null.st_rdev:
        return None
    return status


def is_socket(path: str | Path) -> bool:
    """Return whether `path` leads to a socket."""
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)  # noqa: PTH116 - it may be a text
    except (OSError, ValueError):
        return False


def is_plain_folder(path: str | Path) -> bool:
    """Return whether `path` itself is a folder, not a link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False
