"""The checkpoints of a project: take, compare, restore."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from code_commit_workspace.checkpoint.repository import REFS, PrivateRepository
from code_commit_workspace.checkpoint.snapshot import Snapshots
from code_commit_workspace.git import Git
from code_commit_workspace.interruption import uninterrupted
from code_commit_workspace.project_tree import ProjectTree

if TYPE_CHECKING:  # imported on first use: most runs only take checkpoints
    from code_commit_workspace.checkpoint.restore import Restorer
    from code_commit_workspace.checkpoint.saved import Difference, Saved

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


class Checkpoints:
    """Checkpoints by run and label. Hold the project's lock while you take or restore one.

    `home` is the state folder; `git` reads the project's own repository and changes nothing in it.
    """

    def __init__(self, tree: ProjectTree, git: Git, home: Path) -> None:
        self._tree = tree
        self._git = git
        self._home = home
        self._repository = PrivateRepository(git, home)
        self._snapshots = Snapshots(tree, git, self._repository)
        self._labels: dict[str, list[str]] = {}
        self._trees: dict[str, str] = {}  # of the commits made here

    def take(
        self, run: str, label: str, *, written: Collection[str] | None = None, warn: Callable[[str], object] = str
    ) -> str:
        """Save the visible tree under `label` and return its commit id. A label in use becomes `label-2`, and so on.

        With `written`, files that are new since the latest checkpoint taken here are saved only if they are among them.
        `warn` is called with a text before files are read that take seconds.

        Raises:
            NotReady: git fails, or a file cannot be read.
        """
        for name in (run, label):
            if not _NAME.fullmatch(name) or ".." in name or name.endswith((".lock", ".")):
                raise ValueError(f"not a valid name for a checkpoint: {name!r}")
        if run not in self._labels:
            known = self.of_run(run) if self._repository.has_below(f"{REFS}{run}") else []
            self._labels[run] = [label for label, _commit in known]
        labels = self._labels[run]
        names = itertools.chain([label], (f"{label}-{n}" for n in itertools.count(2)))
        free = next(name for name in names if name not in labels)
        snapshot, _files = self._snapshots.look(written, warn)
        commit = self._snapshots.keep(snapshot, subject=str(len(labels) + 1))
        self._trees[commit] = snapshot.tree
        self._repository.set_ref(f"{REFS}{run}/{free}", commit)
        labels.append(free)
        return commit

    def of_run(self, run: str) -> list[tuple[str, str]]:
        """Return labels and commit ids of a run, oldest first."""
        return self._saved.runs().get(run, [])

    def runs(self) -> list[str]:
        """Return the runs that have checkpoints, oldest first."""
        return list(self._saved.runs())

    def latest_change(self) -> str | None:
        """Return the latest run of whose changes some are still there, or None: the others were undone."""
        return self._restorer.latest_change()

    def changes(self, old: str, new: str) -> tuple[str, ...]:
        """Return the paths whose content, kind or executable bit differs between two commits."""
        return tuple(difference.path for difference in self._differences(old, new))

    def written(self, old: str, new: str) -> tuple[str, ...]:
        """Return those of `changes` that `new` has."""
        return tuple(difference.path for difference in self._differences(old, new) if not difference.removed)

    def _differences(self, old: str, new: str) -> list[Difference]:
        return [] if self.equal(old, new) else self._saved.differences(old, new)

    def equal(self, old: str, new: str) -> bool:
        """Return whether two commits are known to have the same tree."""
        return old == new or (old in self._trees and self._trees[old] == self._trees.get(new))

    def diff(self, old: str, new: str, *, most: int | None = None) -> bytes:
        """Return the unified diff between two commits.

        Raises:
            NotReady: git fails, or the diff is larger than `most` bytes.
        """
        return b"" if self.equal(old, new) else self._saved.diff(old, new, most=most)

    def patch(self, old: str, new: str, *, most: int | None = None) -> bytes:
        """Return a patch from `old` to `new` for `git apply`, with binary files and paths from the repository's top.

        Raises:
            NotReady: git fails, or the patch is larger than `most` bytes.
        """
        below = os.path.relpath(os.path.realpath(self._git.root), self._git.layout().top)
        folder = "" if below == os.curdir else f"{below}/"
        paths = f"--src-prefix=a/{folder}", f"--dst-prefix=b/{folder}"
        return self._saved.diff(old, new, "--binary", *paths, most=most)

    def listing(self, commit: str) -> dict[str, str]:
        """Return mode and object id of each file in a commit, by path. Equal content has the same id everywhere."""
        return self._saved.listing(commit)

    def restore(self, commit: str, only: Collection[str] | None = None) -> tuple[str, ...]:
        """Restore the visible tree of `commit`, or `only` these paths of it, and return the changed paths.

        Files added since are removed. Files that git ignores now and ignored before stay as they are.

        Raises:
            NotReady: something is in the way or missing; the tree is unchanged.
        """
        return self._restorer.restore(self._saved.load(commit), only)

    @contextmanager
    def visit(self, commit: str, back: str) -> Iterator[None]:
        """Restore the visible tree of `commit` for the block, and that of `back` after it.

        Raises:
            NotReady: as `restore`.
        """
        try:
            with uninterrupted():
                self.restore(commit)
            yield
        finally:
            with uninterrupted():
                self.restore(back)

    @contextmanager
    def put_back(
        self, run: str, written: Collection[str], keep: Callable[[bytes], object]
    ) -> Iterator[Collection[str]]:
        """Undo what the block changes in files other than `written`; the yielded collection gets their paths.

        `keep` gets a diff of what is undone, except deletions. A person may have made these changes.

        Raises:
            NotReady: as `restore`.
        """
        before = self.take(run, "before")
        changed: list[str] = []
        try:
            yield changed
        finally:
            with uninterrupted():
                after = self.take(run, "after")
                changed += [path for path in self.changes(before, after) if path not in written]
                if changed:
                    self.restore(before, changed)
                    if diff := self._saved.diff(before, after, "--binary", "--diff-filter=d"):
                        keep(diff)

    def undo(self, run: str, paths: Sequence[str] = (), *, force: bool = False) -> tuple[str, ...]:
        """Restore the files that `run` changed, or only those at or below `paths`; return the restored paths.

        With `force`, also restore files that were changed since.

        Raises:
            NotReady: the run has no checkpoint or changed nothing there, or files that it changed were changed since
                its last checkpoint; the message names them.
        """
        return self._restorer.undo(run, paths, force=force)

    def copy(self, commit: str, into: ProjectTree, home: Path) -> None:
        """Write the files of a commit into an empty folder; `home` is the state folder there.

        Raises:
            NotReady: an object is missing, or the folder cannot be written.
        """
        from code_commit_workspace.checkpoint.restore import copy

        copy(self._saved, commit, into, home)

    def forget(self, runs: Collection[str]) -> None:
        """Drop the checkpoints of `runs`; skip runs without any."""
        self._saved.forget(runs)
        for run in runs:
            self._labels.pop(run, None)

    @cached_property
    def _saved(self) -> Saved:
        from code_commit_workspace.checkpoint.saved import Saved

        return Saved(self._repository)

    @cached_property
    def _restorer(self) -> Restorer:
        from code_commit_workspace.checkpoint.restore import Restorer

        return Restorer(self._tree, self._home, self._snapshots, self._saved)
