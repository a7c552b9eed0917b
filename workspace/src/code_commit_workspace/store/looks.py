"""Look at the files of the project, and keep them as a git tree."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import NamedTuple

from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.files.whole_file import replace_file
from code_commit_workspace.git import Git, GitError
from code_commit_workspace.git.layout import read_git_file
from code_commit_workspace.records import StoreLimits
from code_commit_workspace.store.limits import much_to_read, too_large
from code_commit_workspace.store.repository import PrivateRepository
from code_commit_workspace.store.visible import savable, statuses
from code_commit_workspace.words import join_paths

_NAMED = 20  # paths in one message
_LIST_CHANGES = (
    *("ls-files", "-t", "-z", "--exclude-standard"),
    *("--others", "--modified", "--deleted"),
)
_FEW = 16  # git makes folders for a batch of objects: to flush a few one by one is faster
_FLUSH_ONE_BY_ONE = ("-c", "core.fsyncMethod=fsync")
# In gitformat-index: the mode of a submodule, and the extension of an index whose other entries are
# in a second file.
_SUBMODULE, _SPLIT = b"\0\0\xe0\0", b"link\0"


class Look(NamedTuple):
    """The files at one moment: their tree, and the paths that were `changed` since the last look.

    Files that are too large are in neither.
    """

    tree: str
    changed: frozenset[str]


class Looks:
    """Looks at the files with an index of its own, which begins as a copy of the user's."""

    def __init__(
        self,
        tree: ProjectTree,
        git: Git,
        repository: PrivateRepository,
        limits: Callable[[], StoreLimits],
    ) -> None:
        self._tree = tree
        self._git = git
        self._repository = repository
        self._limits = limits
        self._latest = ""  # the tree of the last look
        self.left_out: Mapping[str, int] = {}  # the sizes of the files that are too large

    def look(self, warn: Callable[[str], object]) -> Look:
        """Keep the files as they are now. `warn` of those that take seconds or are too large.

        The first look names all files that differ from the user's index as changed.

        Raises:
            NotReady: git fails.
        """
        changed: set[str] = set()
        is_first = not self._latest
        if is_first:
            self._copy_index()
        try:
            changed = self._update(warn)
            if is_first or changed:
                self._latest = self._write_tree(changed)
        except GitError:  # an object that the user's git deleted, or a damaged index
            self._repository.forget_index()
            changed |= self._update(warn)
            self._latest = self._write_tree(changed)
        return Look(self._latest, frozenset(changed))

    def _copy_index(self) -> None:
        """Begin with the user's index, which has the status of each file that git tracks."""
        self._repository.prepare()
        self._repository.forget_index()
        with suppress(GitError, OSError):
            index = read_git_file(self._git.layout().index, limit=-1)
            if not index.startswith(b"DIRC") or _SPLIT in index:
                return
            replace_file(self._repository.path / "index", index)
            if _SUBMODULE in index:
                listing = self._repository.run(["ls-files", "-z", "--stage"])
                rows = [row for row in _rows(listing) if row.startswith("160000 ")]
                self._forget([row.partition("\t")[2] for row in rows])

    def _update(self, warn: Callable[[str], object]) -> set[str]:
        """Bring the index up to date, and return the paths that were changed."""
        paths = {row[2:] for row in _rows(self._repository.run(_LIST_CHANGES))}
        private_folder = self._repository.path.parent.parent.name
        wanted = savable(sorted(paths), self._git, private_folder)
        files = statuses(self._tree, wanted)
        left_out = {path: files[path].st_size for path in too_large(files, self._limits)}
        self._warn_of(left_out, warn)
        files = {path: status for path, status in files.items() if path not in left_out}
        if text := much_to_read({path: status.st_size for path, status in files.items()}):
            warn(text)
        self._forget([path for path in wanted if path not in files])
        if files:
            add = ["update-index", "-z", "--add", "--remove", "--replace", "--stdin"]
            flush = _FLUSH_ONE_BY_ONE if len(files) <= _FEW else ()
            self._repository.run([*flush, *add], stdin=_lines(files))
        return {path for path in wanted if path not in left_out}

    def _forget(self, paths: Collection[str]) -> None:
        if paths:
            remove = ["update-index", "-z", "--force-remove", "--stdin"]
            self._repository.run(remove, stdin=_lines(paths))

    def _write_tree(self, changed: Collection[str]) -> str:
        flush = _FLUSH_ONE_BY_ONE if len(changed) <= _FEW else ()
        prefix = self._repository.prefix
        below = [f"--prefix={prefix}"] if prefix else []
        return self._repository.run([*flush, "write-tree", *below]).decode().strip()

    def _warn_of(self, left_out: Mapping[str, int], warn: Callable[[str], object]) -> None:
        """Warn of files that are too large, once of each."""
        sized = [
            f"{path} ({size / 1e6:,.0f} MB)"
            for path, size in sorted(left_out.items())
            if path not in self.left_out
        ]
        self.left_out = {**self.left_out, **left_out}
        if sized:
            paths = join_paths(sized, _NAMED)
            warn(f"too large to save, so `undo` cannot bring it back: {paths}")


def _rows(output: bytes) -> list[str]:
    return os.fsdecode(output).split("\0")[:-1]


def _lines(paths: Collection[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in sorted(paths))
