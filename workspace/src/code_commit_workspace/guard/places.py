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
    """Whether a folder exists, and the reason if nothing below it is allowed."""

    reason: str | None = None
    exists: bool = True


class PathLookup:
    """Inspects the folders above many paths, each folder once.

    `gone` are files that are about to be deleted, so a folder may take their place. `git` lists the
    submodules, which are other repositories even if they are empty. It also lists its own folders,
    which may have any name.

    Raises:
        GitError: git cannot list these folders.
    """

    def __init__(self, tree: ProjectTree, git: Git, *, gone: Collection[str] = ()) -> None:
        self._tree = tree
        self._gone = gone
        self.submodules = git.submodules()
        self._git_folders = tuple(_existing(git.layout().folders))
        self._states: dict[str, PathState] = {"": PathState()}

    def to(self, path: str) -> PathState:
        """Inspect the folders above `path`, from the root down.

        Stop at the first one that is missing or not allowed.
        """
        folder = path.rpartition("/")[0]
        end = 0
        while (state := self._states.get(folder)) is None:
            end = folder.find("/", end)
            here = folder if end < 0 else folder[:end]
            if here not in self._states:
                self._states[here] = self._look(here)
            state = self._states[here]
            if state.reason is not None or not state.exists:
                return state
            end += 1
        return state

    def regular_files(self, folder: str) -> AbstractSet[str]:
        """Return the names of the regular files in `folder`; none if a link leads to it."""
        inside = ""
        if folder:
            inside = f"{folder}/"
        state = self.to(inside)
        if state.reason is not None or not state.exists:
            return frozenset()
        names = _regular_files(self._tree, folder)
        if self.submodules:
            return {name for name in names if inside + name not in self.submodules}
        return names

    def _look(self, folder: str) -> PathState:
        if folder in self.submodules:
            return PathState(other_repository(folder))
        status = look(self._tree, folder)
        if isinstance(status, str):
            return PathState(status)
        if status is None or (stat.S_ISREG(status.st_mode) and folder in self._gone):
            return PathState(exists=False)
        return PathState(self._why_closed(folder, status))

    def _why_closed(self, folder: str, status: os.stat_result) -> str | None:
        """Return why nothing below `folder` is allowed, or None."""
        if not stat.S_ISDIR(status.st_mode):
            return f"{quote(folder)} in this path is {kind_of(status)}, not a folder."
        if any(os.path.samestat(status, git_folder) for git_folder in self._git_folders):
            return f"{quote(folder)} is the git folder of this repository."
        inner = look(self._tree, f"{folder}/.git")
        if isinstance(inner, os.stat_result):
            return other_repository(folder)
        return inner


class Places:
    """A path must lead through real folders of this repository to a regular file or to nothing."""

    name = "place"

    def __init__(self, tree: ProjectTree, git: Git) -> None:
        self._tree = tree
        self._git = git

    def judge(self, changes: Sequence[Change], tree: Tree) -> Iterator[Refusal]:  # noqa: ARG002 - see `__init__`
        """Refuse paths that do not lead to a regular file of this repository.

        These are paths through a link or into another repository, special files, and files that a
        sparse checkout leaves out.

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
                reason = self._wrong_target(change, gone)
            if reason is not None:
                yield Refusal(change.path, self.name, reason)

    def _wrong_target(self, change: Change, gone: Collection[str]) -> str | None:
        """Return why what is at the path of `change` cannot be changed, or None."""
        status = look(self._tree, change.path)
        if status is None or isinstance(status, str):
            return status
        if stat.S_ISREG(status.st_mode):
            return None
        if not stat.S_ISDIR(status.st_mode):
            return f"It is {kind_of(status)}; only regular files can be changed."
        if change.content is None:
            return "It is a folder; delete each of its files by its path."
        remaining = _remaining_path(self._tree, change.path, gone)
        if remaining is None:
            return None
        return f"It is a folder, and {quote(remaining)} would remain in it."


def look(tree: ProjectTree, path: str) -> os.stat_result | str | None:
    """Return the status of `path`, None if nothing is there, or why it cannot be read.

    The folders above it must not be links.
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


def _remaining_path(tree: ProjectTree, folder: str, gone: Collection[str]) -> str | None:
    """Return a path in `folder` that would remain there after the deletion of `gone`, or None."""
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
