"""Find what git cannot read: a pipe or a device in the place of a file that git reads, or a huge file.

git opens its control files without a look at their kind, and nothing ends the wait for the other
end of a pipe. It reads rules as a whole into memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from code_commit_workspace.errors import NotReady
from code_commit_workspace.path_kinds import blocks_readers, kind_of

_IN_TREE = frozenset({".gitignore", ".gitattributes", ".gitmodules", ".mailmap"})
_IN_GIT_FOLDER = (
    *("HEAD", "commondir", "config", "config.worktree", "index", "packed-refs", "shallow"),
    *("info/exclude", "info/sparse-checkout", "objects/info/alternates"),
)
_LARGEST_RULES = 64 * 1024 * 1024  # bytes


@dataclass(frozen=True, slots=True)
class ControlFiles:
    """The files that tell git what to do.

    They are in the work tree at `top`, in git's `folders`, and `of_user`.
    """

    top: Path
    folders: tuple[Path, ...]
    of_user: tuple[Path, ...] = ()

    def require_plain(self) -> None:
        """Check the files that git reads in any case.

        Raises:
            NotReady: one is a pipe or a device, or is too large.
        """
        in_tree = [f"{self.top}/{name}" for name in sorted(_IN_TREE)]
        require_plain(in_tree)
        require_plain([f"{folder}/{name}" for folder in self.folders for name in _IN_GIT_FOLDER])
        _require_small([*in_tree, *(f"{folder}/info/exclude" for folder in self.folders)])
        require_plain(self.of_user)

    def search(self, stop: Callable[[], bool]) -> None:
        """Check all files that git may read, in every folder. Give up when `stop` returns true.

        Raises:
            NotReady: one is a pipe or a device.
        """
        self.require_plain()
        ahead = [(str(self.top), False), *((str(folder), True) for folder in self.folders)]
        while ahead and not stop():
            folder, is_of_git = ahead.pop()
            for entry in _entries(folder):
                if entry.is_dir(follow_symlinks=False):
                    ahead.append((entry.path, is_of_git or entry.name == ".git"))
                elif (is_of_git or entry.name in _IN_TREE) and not entry.is_file(follow_symlinks=False):
                    require_plain([entry.path])


def require_plain(paths: Iterable[str | Path]) -> None:
    """Check that none of `paths` is a pipe or a device, also behind a link.

    Raises:
        NotReady: one is.
    """
    for path in paths:
        if status := blocks_readers(path):
            raise NotReady(
                f"{path} is {kind_of(status)}, not a file: git would wait for it forever",
                hint="delete it, then run again",
            )


def _require_small(paths: Iterable[str]) -> None:
    for path in paths:
        with suppress(OSError):
            size = os.stat(path).st_size  # noqa: PTH116 - a text
            if size > _LARGEST_RULES:
                raise NotReady(f"{path} has {size:,} bytes: git cannot read it", hint="delete it, then run again")


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except OSError:
        return  # gone, or git cannot read it either
