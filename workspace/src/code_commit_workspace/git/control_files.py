"""Find files that git cannot read: pipes, devices and huge files.

git opens its control files without a look at their kind, and nothing ends the wait for the other
end of a pipe. It reads rules as a whole into memory.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.path_kinds import blocks_readers, kind_of
from code_commit_workspace.files.project_tree import open_regular

_IN_TREE = frozenset({".gitignore", ".gitattributes", ".gitmodules", ".mailmap"})
_IN_GIT_FOLDER = (
    *("HEAD", "commondir", "config", "config.worktree", "index", "packed-refs", "shallow"),
    *("info/exclude", "info/sparse-checkout", "objects/info/alternates"),
)
_LARGEST_RULES = 64 * 1024 * 1024  # bytes

_PART_OF_STORE = re.compile(r"[0-9a-f]{2}|pack|info")
_OCTAL = re.compile(rb"\\([0-3][0-7]{2})")
_LONGEST = 64 * 1024  # bytes of a list of alternates


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
        ahead = [(str(self.top), False)]
        ahead += [(str(folder), True) for folder in self.folders]
        while ahead and not stop():
            folder, is_of_git = ahead.pop()
            for entry in _entries(folder):
                if entry.is_dir(follow_symlinks=False):
                    ahead.append((entry.path, is_of_git or entry.name == ".git"))
                elif entry.is_file(follow_symlinks=False):
                    continue
                # In the work tree, git follows no link to these files.
                elif is_of_git or (entry.name in _IN_TREE and not entry.is_symlink()):
                    require_plain([entry.path])
        for store in self._other_stores():
            for part in _entries(store):
                if stop():
                    return
                if _PART_OF_STORE.fullmatch(part.name):
                    odd = [entry.path for entry in _entries(part.path) if not entry.is_file()]
                    require_plain(odd)

    def _other_stores(self) -> Iterator[str]:
        """Yield the folders of objects outside of git's folders.

        gitrepository-layout(5) calls them alternates.
        """
        ahead = [f"{folder}/objects" for folder in self.folders]
        seen = set(ahead)
        while ahead:
            stores = [store for store in _alternates(ahead.pop()) if store not in seen]
            seen.update(stores)
            ahead += stores
            yield from stores


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
                raise NotReady(
                    f"{path} has {size:,} bytes: git cannot read it",
                    hint="delete it, then run again",
                )


def _alternates(store: str) -> list[str]:
    try:
        with open_regular(Path(store, "info/alternates"), follow=True) as file:
            lines = file.read(_LONGEST).split(b"\n")
    except OSError:
        return []
    stores: dict[str, None] = {}
    for line in lines:
        if not line or line.startswith(b"#"):
            continue
        escaped = line[1:-1] if line.startswith(b'"') else line
        name = _OCTAL.sub(lambda match: bytes([int(match[1], 8)]), escaped)
        path = os.path.join(store, os.fsdecode(name))  # noqa: PTH118 - a text
        stores[os.path.normpath(path)] = None
    return list(stores)


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except OSError:
        return  # gone, or git cannot read it either
