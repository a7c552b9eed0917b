"""What is at a path: its content with its permission bits, or nothing."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import NamedTuple

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.project_tree import ProjectTree, open_regular
from code_commit_workspace.records import StoreLimits

_PERMISSIONS = 0o777
_MOVE_AWAY = "move it away, then run again"


class Version(NamedTuple):
    """A file with this content, or a link with this target. `None` in its place is no file.

    `mode` has the permission bits. With None, an existing file keeps its own, and the umask decides
    those of a new one.
    """

    content: bytes
    mode: int | None = None
    is_link: bool = False

    def same_as(self, other: Version | None) -> bool:
        """Return whether `other` has the same content and kind."""
        return other is not None and self.is_link == other.is_link and self.content == other.content


def read_version(
    tree: ProjectTree, path: str, most: Callable[[], int]
) -> tuple[Version | None, os.stat_result | None]:
    """Return what is at `path` now, and its status. A folder counts as no file.

    `most` is called for a file that may have too many bytes to be kept.

    Raises:
        NotReady: what is there is neither a file nor a link nor a folder, is too large, or cannot
            be read.
    """
    try:
        with tree.parent(path) as (folder, name):
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISLNK(status.st_mode):
                target = os.fsencode(os.readlink(name, dir_fd=folder))
                return Version(target, is_link=True), status
            if stat.S_ISDIR(status.st_mode):
                return None, None
            with open_regular(name, folder=folder) as file:
                status = os.fstat(file.fileno())
                if status.st_size > StoreLimits.LEAST_FILE and status.st_size > most():
                    raise NotReady(f"{path} is too large to be kept", hint=_MOVE_AWAY)
                return Version(file.read(), status.st_mode & _PERMISSIONS), status
    except (FileNotFoundError, NotADirectoryError):
        return None, None
    except OSError as error:
        raise NotReady(f"{path} cannot be read: {error.strerror}", hint=_MOVE_AWAY) from error
