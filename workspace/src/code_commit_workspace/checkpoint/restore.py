"""Restore the visible tree of a checkpoint."""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path

from code_commit_workspace.checkpoint.saved import Difference, Saved
from code_commit_workspace.checkpoint.snapshot import Snapshot, Snapshots
from code_commit_workspace.checkpoint.visible import Modes
from code_commit_workspace.errors import NotReady
from code_commit_workspace.project_tree import ProjectTree
from code_commit_workspace.terminal import join_paths
from code_commit_workspace.transaction.apply import replace
from code_commit_workspace.transaction.survey import Write

_NAMED = 20  # paths in one message
_AT_ONCE = 500  # files that a copy holds in memory at once


class Restorer:
    """Restores the project's tree; `home` is its state folder."""

    def __init__(self, tree: ProjectTree, home: Path, snapshots: Snapshots, saved: Saved) -> None:
        self._tree = tree
        self._home = home
        self._snapshots = snapshots
        self._saved = saved

    def restore(self, wanted: Snapshot, only: Collection[str] | None = None) -> tuple[str, ...]:
        """See `Checkpoints.restore`. With `only`, leave all other paths as they are."""
        before, _files = self._snapshots.look()
        # Restore ignore rules first: under changed rules, ignored files would look new.
        rules = self._rules(before, wanted, only)
        self._write(self._saved.writes(rules, wanted))
        try:
            others = self._restore_others(wanted, only)
        except NotReady:
            self._write(self._saved.writes(self._rules(wanted, before, only), before))
            raise
        return tuple(sorted({found.path for found in rules} | others))

    def _rules(self, old: Snapshot, new: Snapshot, only: Collection[str] | None) -> list[Difference]:
        found = _chosen(self._saved.differences(old.tree, new.tree), only)
        return [difference for difference in found if posixpath.basename(difference.path) == ".gitignore"]

    def _restore_others(self, wanted: Snapshot, only: Collection[str] | None) -> set[str]:
        now, files = self._snapshots.look()
        differences = _chosen(self._saved.differences(now.tree, wanted.tree), only)
        chosen = [found for found in differences if not _older(found, files, wanted)]
        rights = _rights(files, wanted.modes, but={found.path for found in differences})
        if only is not None:
            rights = {path: mode for path, mode in rights.items() if path in only}
        self._write([*self._saved.writes(chosen, wanted), *self._with_rights(rights)])
        return {found.path for found in chosen} | rights.keys()

    def _with_rights(self, rights: Mapping[str, int]) -> list[Write]:
        return [Write(path, self._tree.read(path), mode=mode) for path, mode in rights.items()]

    def _write(self, writes: list[Write]) -> None:
        if writes:
            replace(self._tree, self._home, writes)

    def latest_change(self) -> str | None:
        """See `Checkpoints.latest_change`."""
        now, files = self._snapshots.look()
        load = cache(self._saved.load)  # a git process each, and the last run is mostly the one
        runs = [(run, taken[0][1], taken[-1][1]) for run, taken in self._saved.runs().items()]
        while runs:
            run, before, after = runs.pop()
            first, last = load(before), load(after)
            left = self._changed_by_run(first, last, files) & self._changed_since(now, files, first)
            edited = self._changed_since(now, files, last)
            if left - edited:
                return run
            for _run, older, _after in runs:  # an undo of an earlier run has undone this one's changes, too
                left = left and left & self._changed_since(now, files, load(older))
            if left:
                return run
        return None

    def undo(self, run: str, below: Sequence[str], *, force: bool) -> tuple[str, ...]:
        """See `Checkpoints.undo`."""
        runs = self._saved.runs()
        commits = [commit for _label, commit in runs.get(run, [])]
        if not commits:
            known = ", ".join(list(runs)[-_NAMED:]) or "no run"
            raise NotReady(f"there is no checkpoint of the run {run}", hint=f"runs with checkpoints: {known}")
        first, last = self._saved.load(commits[0]), self._saved.load(commits[-1])
        now, files = self._snapshots.look()
        changed = _below(self._changed_by_run(first, last, files), below, run)
        # A file that equals its state before the run loses nothing: an earlier undo may have been interrupted.
        since = changed & self._changed_since(now, files, last) & self._changed_since(now, files, first)
        if since and not force:
            raise NotReady(
                f"files were changed since the run {run}: {join_paths(sorted(since), _NAMED)}",
                hint=f"nothing was undone; `code-commit undo {run} --force` discards these later changes too",
            )
        return self.restore(first, changed)

    def _changed_by_run(self, first: Snapshot, last: Snapshot, files: Mapping[str, os.stat_result]) -> set[str]:
        """Return the paths that the run changed, permission bits included."""
        changed = {found.path for found in self._saved.differences(first.tree, last.tree)}
        if first.modes == last.modes:
            return changed
        executable = {path: bool(status.st_mode & 0o100) for path, status in files.items()}
        return changed | {
            path
            for path, each in executable.items()
            if first.modes.of(path, executable=each) != last.modes.of(path, executable=each)
        }

    def _changed_since(self, now: Snapshot, files: Mapping[str, os.stat_result], than: Snapshot) -> set[str]:
        """Return the paths that differ from an earlier tree, permission bits included."""
        paths = {found.path for found in self._saved.differences(than.tree, now.tree)}
        return paths | _rights(files, than.modes, but=paths).keys()


def _below(changed: set[str], paths: Sequence[str], run: str) -> set[str]:
    """Return those of the `changed` paths that are at or below one of `paths`; all of them without `paths`.

    Raises:
        NotReady: the run changed nothing at one of `paths`.
    """
    chosen: set[str] = set()
    for path in paths:
        wanted = posixpath.normpath(path)
        found = {each for each in changed if wanted in {".", each} or each.startswith(f"{wanted}/")}
        if not found:
            hint = f"nothing was undone; it changed {join_paths(sorted(changed), _NAMED)}"
            raise NotReady(f"the run {run} changed nothing at {path}", hint=hint)
        chosen |= found
    return chosen if paths else changed


def _chosen(found: list[Difference], only: Collection[str] | None) -> list[Difference]:
    return found if only is None else [difference for difference in found if difference.path in only]


def _older(found: Difference, files: Mapping[str, os.stat_result], wanted: Snapshot) -> bool:
    """Return whether a file to remove is older than the checkpoint. git ignored it then, so it stays."""
    return found.removed and files[found.path].st_ctime_ns < wanted.taken


def _rights(now: Mapping[str, os.stat_result], wanted: Modes, but: Collection[str]) -> dict[str, int]:
    """Return the wanted permission bits of the files whose bits differ, except `but`."""
    other: dict[str, int] = {}
    for path, status in now.items():
        if stat.S_ISREG(status.st_mode) and path not in but:
            mode = wanted.of(path, executable=bool(status.st_mode & 0o100))
            if mode != status.st_mode & 0o777:
                other[path] = mode
    return other


def copy(saved: Saved, commit: str, into: ProjectTree, home: Path) -> None:
    """See `Checkpoints.copy`."""
    wanted = saved.load(commit)
    found = saved.differences(saved.empty_tree(), wanted.tree)
    for start in range(0, len(found), _AT_ONCE):
        replace(into, home, saved.writes(found[start : start + _AT_ONCE], wanted))
