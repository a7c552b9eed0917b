"""Ask what is at a path that somebody else may own.

Unlike the methods of `pathlib`, these functions never raise: a folder that this account may not enter, a loop of links
and a name that is too long are answers, too. They follow links, except `is_link`,
`is_plain_folder` and `lexists`.
"""

from __future__ import annotations

import os
import stat
from os.path import exists, lexists
from os.path import isdir as is_folder
from os.path import isfile as is_file
from os.path import islink as is_link
from pathlib import Path

__all__ = ["exists", "is_file", "is_folder", "is_link", "is_plain_folder", "is_socket", "lexists"]


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
