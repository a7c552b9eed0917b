"""What is in the folders of a project. A folder is read again only after it was changed."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

from code_commit_workspace.files.path_kinds import is_file

CACHE_MARKS = frozenset({"CACHEDIR.TAG", "pyvenv.cfg"})
READ_BY_GIT = frozenset({".gitignore", ".gitattributes"})  # git opens them whatever they are
CONTROL_NAMES = READ_BY_GIT | {".git"}
_WANTED = CONTROL_NAMES | CACHE_MARKS
_SETTLED = 2_000_000_000  # nanoseconds; a folder changed since may change again at the same time


@dataclass(frozen=True, slots=True)
class FolderContent:
    """The names of control files and marks of caches in a folder, and of all folders in it.

    `links` are the names that are links, `special` what is a pipe, a device or a socket.
    """

    names: frozenset[str] = frozenset()
    links: frozenset[str] = frozenset()
    special: frozenset[str] = frozenset()
    folders: tuple[str, ...] = ()


class Folders:
    """The folders below `root`, as they were when they were read last."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self._root = os.fspath(root)
        self._contents: dict[str, tuple[tuple[int, ...], FolderContent]] = {}

    def content(self, folder: str) -> FolderContent:
        """Return what is in `folder`, a path relative to the root; nothing if it is not there."""
        place = f"{self._root}/{folder}"
        try:
            status = os.stat(place)  # noqa: PTH116 - a text
        except OSError:
            return FolderContent()
        state = (status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns)
        known_state, content = self._contents.get(folder, ((), FolderContent()))
        if known_state == state:
            return content
        content = _read(place)
        if status.st_ctime_ns < time.time_ns() - _SETTLED:
            self._contents[folder] = (state, content)
        return content


def _read(folder: str) -> FolderContent:
    names: set[str] = set()
    links: set[str] = set()
    folders: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                if entry.name in _WANTED:
                    names.add(entry.name)
                    if entry.is_symlink():
                        links.add(entry.name)
    except OSError:
        return FolderContent()
    opened_by_git = (names & READ_BY_GIT) - links - set(folders)
    special = {name for name in opened_by_git if not is_file(f"{folder}/{name}")}
    return FolderContent(frozenset(names), frozenset(links), frozenset(special), tuple(folders))
