"""Look at the files of the project, and keep them as a git tree."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import NamedTuple

from code_commit_workspace.errors import NotReady
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
_OTHER = "? "  # the row of a file that the index does not have
_FEW = 16  # git makes folders for a batch of objects: to flush a few one by one is faster
_FLUSH_ONE_BY_ONE = ("-c", "core.fsyncMethod=fsync")
# In gitformat-index: the mode of a submodule; the extension of an index whose other entries are in
# a second file; the begin of an index whose paths lack what they share with the path before.
_SUBMODULE = b"\0\0\xe0\0"
_SPLIT = b"link\0"
_SHORT_PATHS = b"DIRC\0\0\0\4"


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
        self._private_folder = repository.path.parent.parent.name
        self._latest = ""  # the tree of the last look
        self._warned_of: set[str] = set()
        self.left_out: Collection[str] = ()  # the files that are too large

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
            self._add_tracked()
            changed |= self._update(warn)
            self._latest = self._write_tree(changed)
        return Look(self._latest, frozenset(changed))

    def _copy_index(self) -> None:
        """Begin with the user's index, which has the status of each file that git tracks."""
        self._repository.prepare()
        self._repository.forget_index()
        with suppress(GitError, OSError):
            users = self._git.layout().index
            written = users.stat().st_mtime_ns
            index = read_git_file(users, limit=-1)
            if not index.startswith(b"DIRC") or _SPLIT in index:
                self._add_tracked()
                return
            copy = self._repository.path / "index"
            replace_file(copy, index)
            # git reads files again that were changed when the index was written, or later.
            os.utime(copy, ns=(written, written))
            if self._may_have_others(index):
                listing = _rows(self._repository.run(["ls-files", "-z", "--stage"]))
                modes = {row.partition("\t")[2]: row.partition(" ")[0] for row in listing}
                files = [path for path, mode in modes.items() if mode != "160000"]
                self._forget(modes.keys() - set(self._savable(files)))

    def _may_have_others(self, index: bytes) -> bool:
        """Return whether the user's index may have submodules or files of the private folder."""
        name = os.fsencode(self._private_folder).lower()
        return _SUBMODULE in index or index.startswith(_SHORT_PATHS) or name in index.lower()

    def _add_tracked(self) -> None:
        """Begin with the files that git tracks, for it may ignore some of them."""
        with suppress(NotReady):  # no repository
            files = self._files(self._git.list_tracked())
            self._add(files.keys() - set(too_large(files, self._limits)))

    def _update(self, warn: Callable[[str], object]) -> set[str]:
        """Bring the index up to date, and return the paths that were changed."""
        rows = _rows(self._repository.run(_LIST_CHANGES))
        files = self._files({row[2:] for row in rows})
        left_out = {path: files[path].st_size for path in too_large(files, self._limits)}
        self._warn_of(left_out, warn)
        sizes = {path: files[path].st_size for path in files.keys() - left_out.keys()}
        if text := much_to_read(sizes):
            warn(text)
        kept_before = {row[2:] for row in rows if not row.startswith(_OTHER)}
        removed = kept_before - sizes.keys()
        gone = {path for path in removed if self._is_gone(path)}
        self._forget(removed - gone)
        self._add(sizes.keys() | gone)
        return sizes.keys() | removed

    def _files(self, paths: Collection[str]) -> dict[str, os.stat_result]:
        return statuses(self._tree, self._savable(paths))

    def _savable(self, paths: Collection[str]) -> list[str]:
        return savable(sorted(paths), self._git, self._private_folder)

    def _is_gone(self, path: str) -> bool:
        """Return whether nothing is at `path`, and no link or file in place of a folder above."""
        with suppress(OSError):
            return self._tree.lstat(path) is None
        return False

    def _add(self, paths: Collection[str]) -> None:
        """Keep the files at `paths`, or forget those that are gone."""
        if paths:
            add = ["update-index", "-z", "--add", "--remove", "--replace", "--stdin"]
            flush = _FLUSH_ONE_BY_ONE if len(paths) <= _FEW else ()
            self._repository.run([*flush, *add], stdin=_lines(paths))

    def _forget(self, paths: Collection[str]) -> None:
        if paths:
            remove = ["update-index", "-z", "--force-remove", "--stdin"]
            self._repository.run(remove, stdin=_lines(paths))

    def _write_tree(self, changed: Collection[str]) -> str:
        flush = _FLUSH_ONE_BY_ONE if len(changed) <= _FEW else ()
        prefix = self._repository.prefix
        below = [f"--prefix={prefix}"] if prefix else []
        try:
            return self._repository.run([*flush, "write-tree", *below]).decode().strip()
        except GitError:
            if self._repository.run(["ls-files", "-z"]):
                raise
            return self._repository.objects.put_tree({})  # no files below the prefix

    def _warn_of(self, left_out: Mapping[str, int], warn: Callable[[str], object]) -> None:
        """Warn of files that are too large, once of each."""
        sized = [
            f"{path} ({size / 1e6:,.0f} MB)"
            for path, size in sorted(left_out.items())
            if path not in self._warned_of
        ]
        self._warned_of.update(left_out)
        self.left_out = left_out.keys()
        if sized:
            paths = join_paths(sized, _NAMED)
            warn(f"too large to save, so `undo` cannot bring it back: {paths}")


def _rows(output: bytes) -> list[str]:
    return os.fsdecode(output).split("\0")[:-1]


def _lines(paths: Collection[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in sorted(paths))
