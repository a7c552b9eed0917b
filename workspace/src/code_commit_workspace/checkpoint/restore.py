"""Restore the visible tree of a checkpoint."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Collection, Mapping
from pathlib import Path

from code_commit_workspace.checkpoint.history import is_left_out, rights_to_put_back
from code_commit_workspace.checkpoint.saved import Difference, Saved
from code_commit_workspace.checkpoint.snapshot import Snapshot, Snapshots
from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.project_tree import ProjectTree
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

    def restore(self, wanted: Snapshot, only: Collection[str] | None = None) -> tuple[str, ...]:
        """See `Checkpoints.restore`. With `only`, leave all other paths as they are."""
        before, _files = self._snapshots.look()
        # Restore ignore rules first: under changed rules, ignored files would look new.
        rules = self._rules(before, wanted, only)
        self.write(self._saved.writes(rules, wanted))
        try:
            others = self._restore_others(wanted, only)
        except NotReady:
            self.write(self._saved.writes(self._rules(wanted, before, only), before))
            raise
        return tuple(sorted({found.path for found in rules} | others))

    def _rules(
        self, old: Snapshot, new: Snapshot, only: Collection[str] | None
    ) -> list[Difference]:
        found = _chosen(self._saved.differences(old.tree, new.tree), only)
        rules = [
            difference
            for difference in found
            if posixpath.basename(difference.path) == ".gitignore"
        ]
        return [rule for rule in rules if not is_left_out(rule.path, old, new)]

    def _restore_others(self, wanted: Snapshot, only: Collection[str] | None) -> set[str]:
        now, files = self._snapshots.look()
        differences = _chosen(self._saved.differences(now.tree, wanted.tree), only)
        differences = [found for found in differences if not is_left_out(found.path, now, wanted)]
        chosen = [found for found in differences if not _older(found, files, wanted)]
        rights = rights_to_put_back(files, wanted.modes, but={found.path for found in differences})
        if only is not None:
            rights = {path: mode for path, mode in rights.items() if path in only}
        self.write([*self._saved.writes(chosen, wanted), *self.with_rights(rights)], files)
        return {found.path for found in chosen} | rights.keys()

    def with_rights(self, rights: Mapping[str, int]) -> list[Write]:
        """Return writes that change the permission bits of files alone."""
        return [
            Write(path, self._tree.read(path, self._tree.size(path)), mode=mode)
            for path, mode in rights.items()
        ]

    def write(self, writes: list[Write], seen: Mapping[str, os.stat_result] | None = None) -> None:
        """Write all of `writes` or none. `seen` are the files that may be replaced."""
        if writes:
            replace(self._tree, self._home, writes, seen=seen)


def copy(saved: Saved, commit: str, into: ProjectTree, home: Path) -> None:
    """See `Checkpoints.copy`."""
    wanted = saved.load(commit)
    found = saved.differences(saved.empty_tree(), wanted.tree)
    for start in range(0, len(found), _AT_ONCE):
        replace(into, home, saved.writes(found[start : start + _AT_ONCE], wanted))


def _chosen(found: list[Difference], only: Collection[str] | None) -> list[Difference]:
    return (
        found if only is None else [difference for difference in found if difference.path in only]
    )


def _older(found: Difference, files: Mapping[str, os.stat_result], wanted: Snapshot) -> bool:
    """Return whether a file to remove is older than the checkpoint. git ignored it then, so it
    stays.
    """
    return found.removed and files[found.path].st_ctime_ns < wanted.taken
