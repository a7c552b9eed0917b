"""Restore the visible tree of a checkpoint."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Collection, Mapping
from pathlib import Path

from code_commit_workspace.checkpoint.history import is_left_out, rights_to_put_back
from code_commit_workspace.checkpoint.present import PresentFiles
from code_commit_workspace.checkpoint.saved import Difference, Saved
from code_commit_workspace.checkpoint.snapshot import Snapshot, Snapshots
from code_commit_workspace.checkpoint.visible import Statuses, statuses
from code_commit_workspace.checkpoint.writers import State
from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.stop import STOP
from code_commit_workspace.transaction.apply import replace
from code_commit_workspace.transaction.survey import Write

_AT_ONCE = 500  # files that a copy holds in memory at once


class Restorer:
    """Restores the project's tree; `home` is its state folder."""

    def __init__(self, tree: ProjectTree, home: Path, snapshots: Snapshots, saved: Saved) -> None:
        self._tree = tree
        self._home = home
        self._snapshots = snapshots
        self._saved = saved

    def restore(self, snapshot: Snapshot, only: Collection[str] | None = None) -> tuple[str, ...]:
        """See `Checkpoints.restore`. With `only`, leave all other paths as they are."""
        before = self._snapshots.look()
        # Restore ignore rules first: under changed rules, ignored files would look new.
        rules = self._rules(before, snapshot, only)
        with STOP.hold():  # the rules and the files belong together
            self.write(self._saved.writes(rules, snapshot))
            try:
                restored = self._restore_files(snapshot, only)
            except NotReady:
                changed_rules = self._rules(snapshot, before, only)
                self.write(self._saved.writes(changed_rules, before))
                raise
        restored |= {rule.path for rule in rules}
        return tuple(sorted(restored))

    def _rules(
        self,
        old: Snapshot,
        new: Snapshot,
        only: Collection[str] | None,
    ) -> list[Difference]:
        """Return the differences between the ignore rules of two snapshots."""
        return [
            difference
            for difference in self._differences(old, new, only)
            if posixpath.basename(difference.path) == ".gitignore"
        ]

    def _differences(
        self,
        old: Snapshot,
        new: Snapshot,
        only: Collection[str] | None,
    ) -> list[Difference]:
        """Return the differences between two snapshots, without files that one of them left out."""
        return [
            difference
            for difference in self._saved.differences(old.tree, new.tree)
            if only is None or difference.path in only
            if not is_left_out(difference.path, old, new)
        ]

    def _restore_files(self, snapshot: Snapshot, only: Collection[str] | None) -> set[str]:
        """Restore what differs from a snapshot now, and return the paths."""
        now = self._snapshots.look()
        present = PresentFiles(self._tree, self._saved, now)
        differences = self._differences(now, snapshot, only)
        changed = {difference.path for difference in differences}
        rights = rights_to_put_back(present, snapshot.modes, but=changed)
        if only is not None:
            rights = {path: mode for path, mode in rights.items() if path in only}
        before = self._saved.states(now.tree, changed | rights.keys())
        seen = self.seen(before)
        # A file to remove that is older than the checkpoint stays: git ignored it then.
        restorable = [
            difference
            for difference in differences
            if not (difference.removed and _is_older(seen.get(difference.path), snapshot))
        ]
        writes = self._saved.writes(restorable, snapshot)
        self.write([*writes, *self.with_rights(rights)], seen)
        return {difference.path for difference in restorable} | rights.keys()

    def seen(self, states: Mapping[str, State]) -> Statuses:
        """Return the status of each file that still has its state in the latest look.

        So a file that somebody changed since is not among them, and is not written over.
        """
        files = statuses(self._tree, [path for path, state in states.items() if not state.missing])
        return {
            path: status
            for path, status in files.items()
            if self._saved.is_in_state(self._tree, path, status, states[path])
        }

    def with_rights(self, rights: Mapping[str, int]) -> list[Write]:
        """Return writes that change the permission bits of files alone."""
        return [
            Write(path, self._tree.read(path, self._tree.size(path)), mode=mode)
            for path, mode in rights.items()
        ]

    def write(self, writes: list[Write], seen: Statuses | None = None) -> None:
        """Write all of `writes` or none. `seen` are the files that may be replaced."""
        if writes:
            replace(self._tree, self._home, writes, seen=seen)


def _is_older(status: os.stat_result | None, snapshot: Snapshot) -> bool:
    return status is not None and status.st_ctime_ns < snapshot.taken


def copy(saved: Saved, commit: str, into: ProjectTree, home: Path) -> None:
    """See `Checkpoints.copy`."""
    snapshot = saved.load(commit)
    differences = saved.differences(saved.empty_tree(), snapshot.tree)
    for start in range(0, len(differences), _AT_ONCE):
        writes = saved.writes(differences[start : start + _AT_ONCE], snapshot)
        replace(into, home, writes)
