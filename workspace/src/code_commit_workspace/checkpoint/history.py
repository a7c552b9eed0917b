"""What each run did to the files, as its checkpoints tell, and what is left of it now."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from code_commit_workspace.checkpoint.saved import Saved
from code_commit_workspace.checkpoint.snapshot import Snapshot, Snapshots
from code_commit_workspace.checkpoint.visible import Modes
from code_commit_workspace.checkpoint.writers import (
    Earlier,
    Interval,
    RunWrites,
    State,
    Step,
    Writers,
)
from code_commit_workspace.errors import NotReady

_NAMED = 20  # runs in one message


class Histories:
    """The histories of runs, each read from the checkpoints of the run and a look at the files."""

    def __init__(self, snapshots: Snapshots, saved: Saved) -> None:
        self._snapshots = snapshots
        self._saved = saved

    def of_run(self, run: str, since: str = "") -> History:
        """Return the history of `run`, from its checkpoint `since` if one is given.

        Raises:
            NotReady: there is no checkpoint of the run.
        """
        now, files = self._snapshots.look()
        return self._history(run, self._checkpoints_of(run), now, files, since)

    def latest_change(self) -> str | None:
        """See `Checkpoints.latest_change`."""
        now, files = self._snapshots.look()
        runs = self._saved.runs()
        names = list(runs)
        while names:
            run = names.pop()
            history = self._history(run, runs[run], now, files)
            left = history.still_there()
            if left - history.changed_since():
                return run
            # An undo of an earlier run has undone this one's changes, too.
            for older in names if left else ():
                first = self._saved.load(runs[older][0][1])
                left &= self._changed_since(now, files, first)
            if left:
                return run
        return None

    def look_again(self, history: History) -> History:
        """Return the history with what is there now."""
        now, files = self._snapshots.look()
        (steps,) = self._saved.steps([history.snapshots[-1].tree, now.tree])
        states = {step.path: step.new for step in steps}
        return replace(history, snapshot=now, files=files, changed_states=states)

    def _checkpoints_of(self, run: str) -> list[tuple[str, str]]:
        runs = self._saved.runs()
        if run not in runs:
            known = ", ".join(list(runs)[-_NAMED:]) or "no run"
            raise NotReady(
                f"there is no checkpoint of the run {run}", hint=f"runs with checkpoints: {known}"
            )
        return runs[run]

    def _history(
        self,
        run: str,
        checkpoints: Sequence[tuple[str, str]],
        now: Snapshot,
        files: Mapping[str, os.stat_result],
        since: str = "",
    ) -> History:
        commits = [commit for _label, commit in checkpoints]
        commits = commits[commits.index(since) :] if since else commits
        commits, loaded = _without_rewound(commits, self._saved.load_all(commits))
        snapshots = [snapshot for snapshot, _writers in loaded]
        *between, to_now = self._saved.steps([*(snapshot.tree for snapshot in snapshots), now.tree])
        intervals = []
        for number, steps in enumerate(between):
            old, (new, writers) = snapshots[number], loaded[number + 1]
            intervals.append(
                Interval(number, writers, steps, _rights_between(old, new, files, steps))
            )
        writes = RunWrites(intervals)
        return History(
            run,
            commits[-1],
            snapshots,
            writes,
            now,
            files,
            {step.path: step.new for step in to_now},
        )

    def _changed_since(
        self, now: Snapshot, files: Mapping[str, os.stat_result], than: Snapshot
    ) -> set[str]:
        """Return the paths that differ from an earlier tree, permission bits included."""
        paths = {found.path for found in self._saved.differences(than.tree, now.tree)}
        return paths | rights_to_put_back(files, than.modes, but=paths).keys()


@dataclass(frozen=True, slots=True)
class History:
    """What a run did to each file until its last checkpoint, and what is there now."""

    run: str
    latest: str  # the last checkpoint
    snapshots: Sequence[Snapshot]
    writes: RunWrites
    snapshot: Snapshot
    files: Mapping[str, os.stat_result]
    changed_states: Mapping[str, State]  # of the files that differ from the last checkpoint

    def now(self, path: str) -> State:
        """Return the present state of a path that the run changed."""
        return self.changed_states.get(path) or self.writes.last(path)

    def wanted(self, *, force: bool = False) -> dict[str, Earlier]:
        """Return what to put back at each path.

        With `force`, also where a person wrote after the run.
        """
        wanted = dict(self.writes.back)
        for path in self.writes.edited if force else ():
            if earlier := self.writes.before_run(path):
                wanted[path] = earlier
        return wanted

    def is_saved(self, path: str, earlier: Earlier) -> bool:
        """Return whether a checkpoint has the earlier state of a path, and the present one is kept,
        too.

        Where a process made a response's file too large to save, the file is put aside.
        """
        if is_left_out(path, self.snapshots[earlier.checkpoint]):
            return False
        return self.writes.is_own(path) or not is_left_out(path, self.snapshot)

    def changed_unsaved(self) -> tuple[str, ...]:
        """Return the files that the run changed and that were too large to save, at its start or
        its end.
        """
        then, last = self.snapshots[0].left_out, self.snapshots[-1].left_out
        return tuple(path for path in sorted({*then, *last}) if then.get(path) != last.get(path))

    def changed_since(self) -> set[str]:
        """Return the paths that somebody changed since the last checkpoint, to a state that no
        checkpoint has.
        """
        changed = {
            path
            for path, state in self.changed_states.items()
            if not self.writes.has_seen(path, state)
        }
        last, first = self.snapshots[-1], self.snapshots[0]
        bits = rights_to_put_back(self.files, last.modes, but=changed)
        return changed | (
            bits.keys() & rights_to_put_back(self.files, first.modes, but=changed).keys()
        )

    def still_there(self, *, edited: bool = False) -> set[str]:
        """Return the paths that the run changed and nobody changed back; with `edited`, also those
        that people edited after it."""
        contents = {
            path
            for path, earlier in self.wanted(force=edited).items()
            if self.now(path) != earlier.state
        }
        return contents | self.rights().keys()

    def rights(self) -> dict[str, int]:
        """Return the permission bits to put back, of the files that have others now."""
        bits = {
            path: self.files[path].st_mode & 0o777
            for path in self.writes.rights
            if path in self.files
        }
        return {
            path: self.writes.rights[path]
            for path in bits
            if bits[path] != self.writes.rights[path]
        }

    def mode_of(self, path: str, earlier: Earlier) -> int:
        """Return the permission bits that belong to an earlier state."""
        modes = self.snapshots[earlier.checkpoint].modes
        return self.writes.rights.get(path) or modes.of(path, executable=earlier.state.executable)


def is_left_out(path: str, *snapshots: Snapshot) -> bool:
    """Return whether a file was too large to save in one of `snapshots`."""
    return any(path in snapshot.left_out for snapshot in snapshots)


def rights_to_put_back(
    now: Mapping[str, os.stat_result], wanted: Modes, but: Collection[str]
) -> dict[str, int]:
    """Return the wanted permission bits of the files whose bits differ, except `but`."""
    other: dict[str, int] = {}
    for path, status in now.items():
        if stat.S_ISREG(status.st_mode) and path not in but:
            mode = wanted.of(path, executable=bool(status.st_mode & 0o100))
            if mode != status.st_mode & 0o777:
                other[path] = mode
    return other


def _without_rewound(
    commits: list[str], loaded: list[tuple[Snapshot, Writers]]
) -> tuple[list[str], list[tuple[Snapshot, Writers]]]:
    """Leave out the checkpoints whose changes were put back since."""
    left: list[tuple[str, tuple[Snapshot, Writers]]] = []
    for commit, (snapshot, writers) in zip(commits, loaded, strict=True):
        known = [each for each, _ in left]
        if writers.rewinds in known:
            del left[known.index(writers.rewinds) + 1 :]
        left.append((commit, (snapshot, writers)))
    return [commit for commit, _ in left], [each for _, each in left]


def _rights_between(
    old: Snapshot, new: Snapshot, files: Mapping[str, os.stat_result], steps: Sequence[Step]
) -> dict[str, tuple[int, int]]:
    """Return the permission bits before and after of each file whose bits alone changed."""
    if old.modes == new.modes:
        return {}
    contents = {step.path for step in steps}
    rights: dict[str, tuple[int, int]] = {}
    for path, status in files.items():
        executable = bool(status.st_mode & 0o100)
        bits = old.modes.of(path, executable=executable), new.modes.of(path, executable=executable)
        if bits[0] != bits[1] and path not in contents:
            rights[path] = bits
    return rights
