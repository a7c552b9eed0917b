"""Inspect the changed paths, and the folders to create or remove."""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Self

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.move.plan import check_path
from code_commit_workspace.move.versions import Version


@dataclass(frozen=True, slots=True)
class Write:
    """The wanted state of `path`: a file, a link whose target is `content`, or nothing.

    It is nothing if `content` is None. With `mode` None, an existing file keeps its permission
    bits, and the umask decides those of a new file.
    """

    path: str
    content: bytes | memoryview | None = field(repr=False)
    mode: int | None = None
    link: bool = False

    @classmethod
    def of(cls, path: str, version: Version | None) -> Self:
        """Return the write that puts `version` at `path`."""
        if version is None:
            return cls(path, None)
        return cls(path, version.content, version.mode, version.is_link)


@dataclass(frozen=True, slots=True)
class Target:
    """A write that changes something.

    `before` is the status of the existing file or link, if any.
    """

    write: Write
    before: os.stat_result | None
    group: int | None = None  # the group that a new file inherits from its folder


@dataclass(frozen=True, slots=True)
class Survey:
    """The effect of a change set. Folders are listed outermost first."""

    targets: tuple[Target, ...]
    gone: tuple[tuple[str, int], ...]  # folders to remove when empty, with their permission bits
    must_go: frozenset[str]  # those of them that a file replaces
    made: tuple[str, ...]  # folders to create


def survey(
    tree: ProjectTree,
    writes: Sequence[Write],
    private_folder: str,
) -> Survey:
    """Inspect the paths of all `writes`.

    Raises:
        NotReady: a path cannot be written; the message names what is in the way.
        OSError: a path cannot be inspected.
    """
    by_path = _distinct(writes, private_folder)
    written = [write.path for write in writes if write.content is not None]
    needed = {folder for path in written for folder in _above(path)}
    current = _CurrentTree(tree, by_path, needed)
    targets = [target for write in writes if (target := current.target(write)) is not None]
    replaced = _replaced_folders(tree, targets, current)
    gone = _folders_of_removed(targets, current, needed) | replaced
    made = {folder for folder in _needed_folders(targets) if current.folder(folder) is None}
    return Survey(
        targets=tuple(targets),
        gone=tuple(sorted(gone.items())),
        must_go=frozenset(replaced),
        made=tuple(sorted(made)),
    )


def _folders_of_removed(
    targets: Sequence[Target],
    current: _CurrentTree,
    needed: set[str],
) -> dict[str, int]:
    """Return the folders above removed files that are not `needed`, with their permission bits."""
    folders: dict[str, int] = {}
    for target in targets:
        if target.write.content is not None:
            continue
        for folder in _above(target.write.path):
            if folder not in needed and (status := current.folder(folder)):
                folders[folder] = status.st_mode & 0o777
    return folders


def _replaced_folders(
    tree: ProjectTree,
    targets: Sequence[Target],
    current: _CurrentTree,
) -> dict[str, int]:
    """Return the folders in whose place a file is written, and those in them.

    Raises:
        NotReady: the change set does not remove everything in them.
    """
    changed = {target.write.path for target in targets}
    folders: dict[str, int] = {}
    for target in targets:
        path = target.write.path
        if target.write.content is None or target.before is not None:
            continue
        if current.folder(_parent(path)) and (status := tree.lstat(path)):
            # Only a folder can be there.
            folders.update(_emptied(tree, path, status.st_mode, changed))
    return folders


def _needed_folders(targets: Sequence[Target]) -> Iterator[str]:
    """Yield the folders above each file that is written."""
    for target in targets:
        if target.write.content is not None:
            yield from _above(target.write.path)


def _distinct(writes: Sequence[Write], private_folder: str) -> dict[str, Write]:
    """Return the writes by path.

    Raises:
        NotReady: a path is not allowed, occurs twice, or leads through another one.
    """
    by_path: dict[str, Write] = {}
    for write in writes:
        try:
            check_path(write.path, private_folder)
        except ValueError as error:
            raise NotReady(str(error)) from error
        if write.path in by_path:
            raise NotReady(f"{write.path} occurs twice in one change set")
        by_path[write.path] = write
    files = {path for path, write in by_path.items() if write.content is not None}
    for write in writes:
        if write.content is None:
            continue
        for folder in _above(write.path):
            if folder in files:
                raise NotReady(f"{folder} would be both a file and the folder of {write.path}")
    return by_path


class _CurrentTree:
    """The current state of the project; each folder is inspected once."""

    def __init__(
        self,
        tree: ProjectTree,
        writes: dict[str, Write],
        needed: set[str],
    ) -> None:
        self._tree = tree
        self._writes = writes
        self._needed = needed  # folders above written files
        self._folders: dict[str, os.stat_result | None] = {"": os.fstat(tree.handle)}

    def folder(self, path: str) -> os.stat_result | None:
        """Return the status of the folder at `path`.

        It is None if the folder is missing, and the changes may create it.
        """
        unseen = []
        while path not in self._folders:
            unseen.append(path)
            path = _parent(path)
        for folder in reversed(unseen):
            if self._folders[path] is None:
                self._folders[folder] = None
            else:
                self._folders[folder] = self._look(folder)
            path = folder
        return self._folders[path]

    def _look(self, path: str) -> os.stat_result | None:
        status = self._tree.lstat(path)
        if status is None or stat.S_ISDIR(status.st_mode):
            return status
        is_removed = path in self._writes and self._writes[path].content is None
        if is_removed and _is_replaceable(status):
            return None
        if stat.S_ISREG(status.st_mode):
            if path not in self._needed:
                return None  # the paths to remove below it do not exist anyway
            raise _in_the_way(self._file_below(path), f"{path} is a file")
        if stat.S_ISLNK(status.st_mode):
            raise _in_the_way(path, "it is a link")
        raise _in_the_way(path, "it is not a folder")

    def _file_below(self, folder: str) -> str:
        """Return a file that is written below `folder`."""
        for path, write in self._writes.items():
            if write.content is not None and path.startswith(f"{folder}/"):
                return path
        raise LookupError(folder)

    def target(self, write: Write) -> Target | None:
        """Return what `write` changes, or None if it changes nothing."""
        before = None
        if self.folder(_parent(write.path)) is not None:
            before = self._tree.lstat(write.path)
        if before is None:
            if write.content is None:
                return None
            return Target(write, None, self._group(write.path))
        if stat.S_ISDIR(before.st_mode):
            if write.content is None:
                raise _in_the_way(write.path, "it is a folder")
            return Target(write, None, self._group(write.path))
        if not _is_replaceable(before):
            raise _in_the_way(write.path, "it is neither a file nor a folder")
        return Target(write, before)

    def _group(self, path: str) -> int | None:
        folder = _parent(path)
        while (status := self.folder(folder)) is None:
            folder = _parent(folder)
        if status.st_mode & stat.S_ISGID:
            return status.st_gid
        return None


def _is_replaceable(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)


def _emptied(
    tree: ProjectTree,
    path: str,
    mode: int,
    changed: set[str],
) -> Iterator[tuple[str, int]]:
    """Yield the folder at `path` and all folders in it, with their permission bits.

    Raises:
        NotReady: a file in them is not in `changed`.
    """
    folders = [(path, mode)]
    while folders:
        path, mode = folders.pop()
        yield path, mode & 0o777
        with tree.folder(path) as handle:
            names = sorted(os.listdir(handle))  # noqa: PTH208 - a handle has no pathlib
            entries = [
                (name, os.stat(name, dir_fd=handle, follow_symlinks=False)) for name in names
            ]
        for name, status in entries:
            below = f"{path}/{name}"
            if stat.S_ISDIR(status.st_mode):
                folders.append((below, status.st_mode))
            elif below not in changed:
                raise _in_the_way(path, f"it is a folder that contains {name}")


def _above(path: str) -> Iterator[str]:
    """Yield the folders above `path`, innermost first, without the root."""
    while path := _parent(path):
        yield path


def _parent(path: str) -> str:
    return posixpath.dirname(path)


def _in_the_way(path: str, reason: str) -> NotReady:
    return NotReady(
        f"{path} cannot be changed: {reason}",
        hint="nothing was written; move it away, then run again",
    )
