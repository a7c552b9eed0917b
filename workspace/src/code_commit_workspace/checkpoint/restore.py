"""Restore the visible tree of a checkpoint."""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Collection, Mapping
from pathlib import Path

from code_commit_workspace.checkpoint.saved import Difference, Saved
from code_commit_workspace.checkpoint.snapshot import Snapshot, Snapshots
from code_commit_workspace.checkpoint.visible import Modes
from code_commit_workspace.errors import NotReady
from code_commit_workspace.project_tree import ProjectTree
from code_commit_workspace.transaction.apply import replace
from code_commit_workspace.transaction.survey import Write

_NAMED = 20  # paths that one message names
_AT_ONCE = 500  # files that a copy holds in memory at once


class Restorer:
    """Restores the tree of the project, whose state folder is `home`."""

    def __init__(self, tree: ProjectTree, home: Path, snapshots: Snapshots, saved: Saved) -> None:
        self._tree = tree
        self._home = home
        self._snapshots = snapshots
        self._saved = saved

    def restore(self, wanted: Snapshot) -> tuple[str, ...]:
        """See `Checkpoints.restore`."""
        before, _files = self._snapshots.look()
        # Restore ignore rules first: under changed rules, ignored files would look new.
        rules = self._rules(before, wanted)
        self._write(self._saved.writes(rules, wanted))
        try:
            others = self._restore_others(wanted)
        except NotReady:
            self._write(self._saved.writes(self._rules(wanted, before), before))
            raise
        return tuple(sorted({found.path for found in rules} | others))

    def _rules(self, old: Snapshot, new: Snapshot) -> list[Difference]:
        found = self._saved.differences(old.tree, new.tree)
        return [difference for difference in found if posixpath.basename(difference.path) == ".gitignore"]

    def _restore_others(self, wanted: Snapshot) -> set[str]:
        now, files = self._snapshots.look()
        differences = self._saved.differences(now.tree, wanted.tree)
        chosen = [found for found in differences if not _older(found, files, wanted)]
        rights = _rights(files, wanted.modes, but={found.path for found in differences})
        self._write([*self._saved.writes(chosen, wanted), *self._with_rights(rights)])
        return {found.path for found in chosen} | rights.keys()

    def _with_rights(self, rights: Mapping[str, int]) -> list[Write]:
        return [Write(path, self._tree.read(path), mode=mode) for path, mode in rights.items()]

    def _write(self, writes: list[Write]) -> None:
        if writes:
            replace(self._tree, self._home, writes)

    def undo(self, run: str) -> tuple[str, ...]:
        """See `Checkpoints.undo`."""
        runs = self._saved.runs()
        commits = [commit for _label, commit in runs.get(run, [])]
        if not commits:
            known = ", ".join(list(runs)[-_NAMED:]) or "no run"
            raise NotReady(f"there is no checkpoint of the run {run}", hint=f"there are checkpoints of: {known}")
        first, last = self._saved.load(commits[0]), self._saved.load(commits[-1])
        now, files = self._snapshots.look()
        # A file that equals its state before the run loses nothing: an earlier undo may have been interrupted.
        since = self._changed_since(now, files, last) & self._changed_since(now, files, first)
        if since:
            names = ", ".join(sorted(since)[:_NAMED])
            more = f" and {len(since) - _NAMED} more" if len(since) > _NAMED else ""
            raise NotReady(
                f"files were changed since the run {run}: {names}{more}",
                hint="nothing was undone; put these changes aside (a commit and `git revert` may serve better)",
            )
        return self.restore(first)

    def _changed_since(self, now: Snapshot, files: Mapping[str, os.stat_result], than: Snapshot) -> set[str]:
        """Return the paths that differ from an earlier tree, permission bits included."""
        paths = {found.path for found in self._saved.differences(than.tree, now.tree)}
        return paths | _rights(files, than.modes, but=paths).keys()


def _older(found: Difference, files: Mapping[str, os.stat_result], wanted: Snapshot) -> bool:
    """Return whether a file to remove is older than the checkpoint: then git ignored it at that time, and it stays."""
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
