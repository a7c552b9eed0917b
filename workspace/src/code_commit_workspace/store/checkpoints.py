"""The checkpoints of a project: take, compare, restore."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.git import Git
from code_commit_workspace.records import CheckpointLimits
from code_commit_workspace.store.green_builds import GreenBuilds
from code_commit_workspace.store.repository import REFS, PrivateRepository
from code_commit_workspace.store.run_order import RunOrder
from code_commit_workspace.store.snapshot import Snapshot, Snapshots
from code_commit_workspace.store.writers import Writers

if TYPE_CHECKING:  # imported on first use: most runs only take checkpoints
    from code_commit_workspace.store.history import Histories
    from code_commit_workspace.store.placed import Placer
    from code_commit_workspace.store.restore import Restorer
    from code_commit_workspace.store.saved import Difference, Saved
    from code_commit_workspace.store.undo import PutBack, Undoer
    from code_commit_workspace.store.work import Work
    from code_commit_workspace.store.writers import RunWrites

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_UNKNOWN = Writers()


class Checkpoints:
    """Checkpoints by run and label. Hold the project's lock while you take or restore one.

    `home` is the state folder; `git` reads the project's own repository and changes nothing in it.
    """

    def __init__(
        self,
        tree: ProjectTree,
        git: Git,
        home: Path,
        limits: Callable[[], CheckpointLimits] = CheckpointLimits,
    ) -> None:
        self._tree = tree
        self._git = git
        self._home = home
        self._repository = PrivateRepository(git, home)
        self._snapshots = Snapshots(tree, git, self._repository, limits)
        self._labels: dict[str, list[str]] = {}
        self._made: dict[str, Snapshot] = {}  # by the commits made here
        self._loaded: dict[str, Snapshot] = {}  # likewise, of commits made elsewhere
        self._incomplete: set[str] = set()  # trees that lack files

    def take(
        self,
        run: str,
        label: str,
        *,
        writers: Writers = _UNKNOWN,
        unless: str = "",
        again: str = "",
        only: Collection[str] | None = None,
        warn: Callable[[str], object] = str,
    ) -> str:
        """Save the visible tree under `label` and return its commit id.

        A label in use becomes `label-2`, and so on.

        `writers` says who may have written since the run's checkpoint before. With `unless`, a
        commit that was taken here, save nothing and return it if nothing differs from it. `again`
        is a commit that was taken here and has the present files: they are not looked at. With
        `only`, look at these paths alone: nothing else was changed since the latest look. `warn` is
        called with a text before files are read that take seconds.

        Raises:
            NotReady: git fails, or a file cannot be read.
        """
        for name in (run, label):
            if not _NAME.fullmatch(name) or ".." in name or name.endswith((".lock", ".")):
                raise ValueError(f"not a valid name for a checkpoint: {name!r}")
        snapshot = self._made[again] if again else self._look(warn, only)
        before = self._made.get(unless)
        if before and replace(before, taken=0) == replace(snapshot, taken=0):
            return unless
        labels = self._labels_of(run)
        if not labels:
            RunOrder(self._repository).add(run)
        free_label = _free_label(label, labels)
        commit = self._snapshots.keep(snapshot, str(len(labels) + 1), writers)
        self._made[commit] = snapshot
        self._repository.set_ref(f"{REFS}{run}/{free_label}", commit)
        labels.append(free_label)
        return commit

    def _labels_of(self, run: str) -> list[str]:
        """Return the labels of a run, in a list that `take` adds to."""
        if run not in self._labels:
            labels: list[str] = []
            if self._repository.has_below(f"{REFS}{run}"):
                labels += [label for label, _commit in self.of_run(run)]
            self._labels[run] = labels
        return self._labels[run]

    def _look(
        self, warn: Callable[[str], object] = str, only: Collection[str] | None = None
    ) -> Snapshot:
        if only is None:
            snapshot = self._snapshots.look(warn)
        else:
            snapshot = self._snapshots.look_at(only, warn)
        if snapshot.left_out:
            self._incomplete.add(snapshot.tree)
        return snapshot

    def is_left_out(self, path: str) -> bool:
        """Return whether the file at `path` was too large for the latest checkpoint taken here."""
        latest = next(reversed(self._made.values()), None)
        return latest is not None and path in latest.left_out

    def left_out(self, old: str, new: str) -> tuple[str, ...]:
        """Return the files that were too large for one of two commits.

        Neither `diff` nor `changes` has them.
        """
        snapshots = self._made | self._loaded
        missing = [commit for commit in (old, new) if commit not in snapshots]
        if missing:
            loaded = [snapshot for snapshot, _writers in self._saved.load_all(missing)]
            self._loaded |= dict(zip(missing, loaded, strict=True))
            snapshots |= self._loaded
        return tuple(sorted({*snapshots[old].left_out, *snapshots[new].left_out}))

    def _comparable(self, old: str, new: str) -> tuple[str, str]:
        left_out = self.left_out(old, new)
        return self._saved.without(old, left_out), self._saved.without(new, left_out)

    def blob_of(self, content: bytes) -> str:
        """Return the id of the object that has this content, for `Writers`."""
        return self._repository.blob_of(content)

    def of_run(self, run: str) -> list[tuple[str, str]]:
        """Return labels and commit ids of a run, oldest first."""
        return self._saved.of_run(run)

    def runs(self) -> list[str]:
        """Return the runs that have checkpoints, oldest first."""
        return list(self._saved.runs())

    def latest_change(self) -> str | None:
        """Return the latest run whose changes were not all undone, or None."""
        history = self._histories.latest_change()
        return history.run if history else None

    def changes(self, old: str, new: str) -> tuple[str, ...]:
        """Return the paths whose content, kind or executable bit differs between two commits."""
        return tuple(difference.path for difference in self._differences(old, new))

    def written(self, old: str, new: str) -> tuple[str, ...]:
        """Return those of `changes` that `new` has."""
        differences = self._differences(old, new)
        return tuple(difference.path for difference in differences if not difference.removed)

    def _differences(self, old: str, new: str) -> list[Difference]:
        if self.equal(old, new):
            return []
        return self._saved.differences(*self._comparable(old, new))

    def equal(self, old: str, new: str) -> bool:
        """Return whether two commits are known to have the same tree."""
        if old == new:
            return True
        return old in self._made and self.tree_of(old) == self.tree_of(new)

    def differ_only_at(self, old: str, new: str, paths: Collection[str]) -> bool:
        """Return whether two commits that were taken here differ at `paths` alone."""
        before, after = self._made[old], self._made[new]
        if replace(before, taken=0, tree="") != replace(after, taken=0, tree=""):
            return False
        return set(paths).issuperset(self.changes(old, new))

    def diff(self, old: str, new: str, *, most: int | None = None) -> bytes:
        """Return the unified diff between two commits.

        Raises:
            NotReady: git fails, or the diff is larger than `most` bytes.
        """
        if self.equal(old, new):
            return b""
        return self._saved.diff(*self._comparable(old, new), most=most)

    def line_counts(self, old: str, new: str) -> Mapping[str, tuple[int | None, int | None]]:
        """Return the lines added and removed in each file that differs; None for a binary file."""
        if self.equal(old, new):
            return {}
        return self._saved.line_counts(*self._comparable(old, new))

    def written_diff(self, old: str, new: str) -> bytes:
        """Return the diff between two commits with binary files and without deletions."""
        return self._saved.diff(*self._comparable(old, new), "--binary", "--diff-filter=d")

    def patch(self, old: str, new: str, *, most: int | None = None) -> bytes:
        """Return a patch from `old` to `new` for `git apply`, with binary files.

        Its paths begin at the top of the project's repository.

        Raises:
            NotReady: git fails, or the patch is larger than `most` bytes.
        """
        top = self._git.layout().top
        root = os.path.relpath(os.path.realpath(self._git.root), top)
        folder = "" if root == os.curdir else f"{root}/"
        prefixes = (f"--src-prefix=a/{folder}", f"--dst-prefix=b/{folder}")
        return self._saved.diff(*self._comparable(old, new), "--binary", *prefixes, most=most)

    def listing(self, commit: str) -> dict[str, str]:
        """Return mode and object id of each file in a commit, by path.

        Equal content has the same id everywhere.
        """
        return self._saved.listing(commit)

    def restore(self, commit: str, only: Collection[str] | None = None) -> tuple[str, ...]:
        """Restore the visible tree of `commit`, or `only` these paths of it.

        Return the changed paths. Files added since are removed. Files that git ignores now and
        ignored before stay as they are.

        Raises:
            NotReady: something is in the way or missing; the tree is unchanged.
        """
        return self._restorer.restore(self._saved.load(commit), only)

    def writes(self, run: str) -> RunWrites:
        """Return what a run and people wrote, as of the run's last checkpoint.

        Raises:
            NotReady: there is no checkpoint of the run.
        """
        return self._histories.of_run(run).writes

    def work_since(self, checkpoints: Sequence[str], left_by_process: Collection[str] = ()) -> Work:
        """Return what runs changed, each since one of `checkpoints`; see `work.work_since`.

        Raises:
            NotReady: the checkpoints are gone.
        """
        from code_commit_workspace.store.work import work_since

        return work_since(self._saved, checkpoints, left_by_process)

    def put_back(
        self,
        run: str,
        reason: str,
        *,
        since: str = "",
        but: Collection[str] = (),
        only_unclaimed: bool = False,
        placed: PutBack | None = None,
    ) -> PutBack:
        """Put back what the run changed since its start or its checkpoint `since`.

        The paths `but` stay as they are.

        Take a checkpoint of the run first: what differs from the last one is a person's and stays
        as it is, like each file that a person changed after the run wrote it. The state before is
        saved, so that `redo` brings back what was put back here. With `only_unclaimed`, it brings
        back those files alone that may be a person's; files of `placed` that no longer have the
        placed content may be.

        Raises:
            NotReady: something is in the way or missing; the tree is unchanged.
        """
        altered = self._placer.altered(placed) if placed else ()
        return self._undoer.put_back(
            run,
            reason,
            since=since,
            but=but,
            only_unclaimed=only_unclaimed,
            altered=altered,
        )

    def place(
        self,
        run: str,
        contents: Mapping[str, bytes | None],
        *,
        now: str,
        start: str,
    ) -> PutBack:
        """Put `contents` in place of files of a run; None removes a file. `take_back` ends that.

        `now` and `start` are checkpoints of the run that were taken here: one with the present
        files, and the one from before the run, whose permission bits are used. `redo` brings the
        files back after a kill.

        Raises:
            NotReady: something is in the way; the tree is unchanged.
        """
        made = self._made
        return self._placer.place(run, contents, (now, made[now]), (start, made[start]))

    def take_back(self, placed: PutBack) -> bool:
        """Put the files of `place` back; do nothing and return False if one was changed since."""
        return self._placer.take_back(placed)

    def has(self, path: str, blob: str | None) -> bool:
        """Return whether the file at `path` now has the content of an object; None is no file."""
        content = self._placer.read(path)
        return blob == (None if content is None else self.blob_of(content))

    def contents(self, commit: str, paths: Collection[str]) -> dict[str, bytes | None]:
        """Return the content of each of `paths` in a commit, None where it has no such file."""
        return self._saved.contents(commit, paths)

    def still_changed(self, run: str) -> set[str]:
        """Return the paths that a run changed and nobody changed back.

        Raises:
            NotReady: there is no checkpoint of the run.
        """
        return self._histories.of_run(run).still_there(edited=True)

    def undo(self, run: str | None, paths: Sequence[str] = (), *, force: bool = False) -> PutBack:
        """Restore the files that `run` changed, or only those at or below `paths`.

        None is the run that `latest_change` returns. `redo` takes it back.

        A file that a person changed during the run, after the run wrote it, stays as it is. With
        `force`, restore such files too, and those that were changed since the run.

        Raises:
            NotReady: there is no such run, it has no checkpoint or changed nothing there, or files
                that its responses wrote were changed since its last checkpoint; the message names
                them.
        """
        return self._undoer.undo(run, paths, force=force)

    def redo(self, run: str | None = None) -> tuple[str, tuple[str, ...]]:
        """Bring back what the latest operation put back, or the latest one of `run`.

        Return the run and the paths.

        Raises:
            NotReady: there is no such operation, or the files were changed since.
        """
        record, paths = self._undoer.redo(run)
        match record.reason:
            case "restore":
                writers = Writers(process=False, put_back=paths)
            case "original":  # the run was killed
                writers = Writers(process=False, rewinds=record.latest)
            case "trial" | "limit":
                writers = Writers(process=False)
            case _:  # after an undo, the run's last checkpoint has them
                return record.run, paths
        self.take(record.run, "redone", writers=writers)
        return record.run, paths

    def drop(self, put_back: PutBack) -> None:
        """Forget the state before an operation, because what it put back is in place again."""
        if put_back.record:
            self._saved.drop_record(put_back.record)

    def current_tree(self) -> str:
        """Return the id of the visible tree as it is now, without saving a checkpoint.

        Raises:
            NotReady: git fails, or a file cannot be read.
        """
        return self._look().tree

    def tree_of(self, commit: str) -> str:
        """Return the id of the tree of a commit that was taken here, or an empty text."""
        snapshot = self._made.get(commit)
        return snapshot.tree if snapshot else ""

    def note_green(self, tree: str) -> None:
        """Remember that `build.sh` passes on a tree, unless the tree lacks files.

        The last 20 trees are remembered.
        """
        if tree not in self._incomplete:
            self._green.add(tree)

    def is_green(self, tree: str) -> bool:
        """Return whether `build.sh` is known to pass on a tree."""
        return tree not in self._incomplete and tree in self._green

    def copy(self, commit: str, into: ProjectTree, home: Path) -> None:
        """Write the files of a commit into an empty folder; `home` is the state folder there.

        Raises:
            NotReady: an object is missing, or the folder cannot be written.
        """
        from code_commit_workspace.store.restore import copy

        copy(self._saved, commit, into, home)

    def forget(self, runs: Collection[str]) -> None:
        """Drop the checkpoints of `runs`; skip runs without any. `free` frees their bytes."""
        from code_commit_workspace.store.put_aside import forget_put_aside

        self._saved.forget(runs)
        forget_put_aside(self._home, runs)
        for run in runs:
            self._labels.pop(run, None)

    def free(self) -> int:
        """Delete what no checkpoint needs any more, and return how many bytes that frees.

        Raises:
            NotReady: git fails.
        """
        before = self.size()
        self._snapshots.forget_last_look()
        self._saved.free()
        return max(0, before - self.size())

    def size(self) -> int:
        """Return how many bytes all checkpoints take."""
        return self._repository.size()

    def runs_of(self, commits: Collection[str]) -> set[str]:
        """Return the runs that have at least one of these checkpoints."""
        return {
            run
            for run, checkpoints in self._saved.runs().items()
            if any(commit in commits for _label, commit in checkpoints)
        }

    @cached_property
    def _green(self) -> GreenBuilds:
        return GreenBuilds(self._home)

    @cached_property
    def _saved(self) -> Saved:
        from code_commit_workspace.store.saved import Saved

        return Saved(self._repository)

    @cached_property
    def _restorer(self) -> Restorer:
        from code_commit_workspace.store.restore import Restorer

        return Restorer(self._tree, self._home, self._snapshots, self._saved)

    @cached_property
    def _undoer(self) -> Undoer:
        from code_commit_workspace.store.undo import Undoer

        return Undoer(self._tree, self._home, self._snapshots, self._saved)

    @cached_property
    def _placer(self) -> Placer:
        from code_commit_workspace.store.placed import Placer

        return Placer(self._tree, self._home, self._saved)

    @cached_property
    def _histories(self) -> Histories:
        from code_commit_workspace.store.history import Histories

        return Histories(self._tree, self._snapshots, self._saved)


def _free_label(label: str, labels: Collection[str]) -> str:
    """Return `label`, or with a number if it is one of `labels`."""
    numbered = (f"{label}-{number}" for number in itertools.count(2))
    candidates = itertools.chain([label], numbered)
    return next(candidate for candidate in candidates if candidate not in labels)
