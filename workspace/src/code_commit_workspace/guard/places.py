"""Check the files and folders on disk along a path. Links are neither followed nor accepted."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from code_commit_workspace.files.path_kinds import kind_of
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.git import Git
from code_commit_workspace.guard.names import quote
from code_commit_workspace.records import Change, Refusal, Tree


@dataclass(frozen=True, slots=True)
class PathState:
    """Why nothing below a folder is allowed, if so, and whether the folder exists."""

    reason: str | None = None
    exists: bool = True


class PathLookup:
    """Inspects the folders above many paths, each folder once.

    `gone` are files that are about to be deleted, so a folder may take their place. `git` lists the
    submodules, which are other repositories even if they are empty, and its own folders, which may
    have any name.

    Raises:
        GitError: git cannot list these folders.
    """

    def __init__(self, tree: ProjectTree, git: Git, *, gone: Collection[str] = ()) -> None:
        self._tree = tree
        self._gone = gone
        self.submodules = git.submodules()
        self._git_folders = tuple(_existing(git.layout().folders))
        self._known: dict[str, PathState] = {"": PathState()}

    def to(self, path: str) -> PathState:
        """Inspect the folders above `path`, from the root down to the first one that is missing or
        not allowed.
        """
        folder = path.rpartition("/")[0]
        end = 0
        while (state := self._known.get(folder)) is None:
            end = folder.find("/", end)
            here = folder if end < 0 else folder[:end]
            if here not in self._known:
                self._known[here] = self._look(here)
            state = self._known[here]
            if state.reason is not None or not state.exists:
                return state
            end += 1
        return state

    def regular_files(self, folder: str) -> AbstractSet[str]:
        """Return the names of the regular files in `folder`; none unless it is reached through real
        folders.
        """
        inside = f"{folder}/" if folder else ""
        state = self.to(inside)
        if state.reason is not None or not state.exists:
            return frozenset()
        found = _regular_files(self._tree, folder)
        return (
            {name for name in found if inside + name not in self.submodules}
            if self.submodules
            else found
        )

    def _look(self, folder: str) -> PathState:
        if folder in self.submodules:
            return PathState(other_repository(folder))
        found = look(self._tree, folder)
        if isinstance(found, str):
            return PathState(found)
        if found is None or (stat.S_ISREG(found.st_mode) and folder in self._gone):
            return PathState(exists=False)
        return PathState(self._closed(folder, found))

    def _closed(self, folder: str, found: os.stat_result) -> str | None:
        if not stat.S_ISDIR(found.st_mode):
            return f"{quote(folder)} in this path is {kind_of(found)}, not a folder."
        if any(os.path.samestat(found, own) for own in self._git_folders):
            return f"{quote(folder)} is the git folder of this repository."
        inner = look(self._tree, f"{folder}/.git")
        return inner if inner is None or isinstance(inner, str) else other_repository(folder)


class Places:
    """A path must lead through real folders of this repository to a regular file, or to nothing
    yet.
    """

    name = "place"

    def __init__(self, tree: ProjectTree, git: Git) -> None:
        self._tree = tree
        self._git = git

    def judge(self, changes: Sequence[Change], tree: Tree) -> Iterator[Refusal]:  # noqa: ARG002 - see `__init__`
        """Refuse paths through a link or into another repository, files outside a sparse checkout,
        and special files.

        Raises:
            GitError: git cannot list its files.
        """
        left_out = self._git.left_out()
        gone = {change.path for change in changes if change.content is None}
        lookup = PathLookup(self._tree, self._git, gone=gone)
        for change in changes:
            state = lookup.to(change.path)
            reason = state.reason
            if reason is None and change.path in lookup.submodules:
                reason = other_repository(change.path)
            if change.path in left_out:  # a model has not seen what it would overwrite
                reason = "git tracks it, but your sparse checkout leaves it out."
            if reason is None and state.exists:
                reason = self._target(change, gone)
            if reason is not None:
                yield Refusal(change.path, self.name, reason)

    def _target(self, change: Change, gone: Collection[str]) -> str | None:
        found = look(self._tree, change.path)
        if found is None or isinstance(found, str):
            return found
        if stat.S_ISREG(found.st_mode):
            return None
        if not stat.S_ISDIR(found.st_mode):
            return f"It is {kind_of(found)}; only regular files can be changed."
        if change.content is None:
            return "It is a folder; delete each of its files by its path."
        stays = _what_stays(self._tree, change.path, gone)
        return stays and f"It is a folder, and {quote(stays)} would remain in it."


def look(tree: ProjectTree, path: str) -> os.stat_result | str | None:
    """Return the status of `path`, None if nothing is there, or why it cannot be read.

    Its folders must be real.
    """
    try:
        return os.stat(path, dir_fd=tree.handle, follow_symlinks=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"{quote(path)} cannot be read: {error.strerror}."


def _regular_files(tree: ProjectTree, folder: str) -> AbstractSet[str]:
    try:
        with tree.folder(folder) as handle, os.scandir(handle) as entries:
            return {entry.name for entry in entries if entry.is_file(follow_symlinks=False)}
    except OSError:
        return frozenset()


def _existing(folders: Iterable[Path]) -> Iterator[os.stat_result]:
    for folder in folders:
        with suppress(OSError):
            yield folder.stat()


def other_repository(folder: str) -> str:
    """Return why neither `folder` nor anything in it can be changed or read."""
    return f"{quote(folder)} is another git repository."


def _what_stays(tree: ProjectTree, folder: str, gone: Collection[str]) -> str | None:
    """Return something in `folder` that would remain there after the deletion of `gone`, or None."""
    folders = [folder]
    while folders:
        here = folders.pop()
        try:
            below = tree.entries(here)
        except OSError:
            return here
        if not below:
            return here  # no deletion removes an empty folder
        for path, is_folder in below:
            if is_folder:
                folders.append(path)
            elif path not in gone:
                return path
    return None
