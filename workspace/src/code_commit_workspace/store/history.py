"""What each run did to the files, as its checkpoints tell, and what is left of it now."""

from __future__ import annotations

import itertools
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.store.present import PresentFiles, paths_with_other_bits
from code_commit_workspace.store.saved import Saved
from code_commit_workspace.store.snapshot import Snapshot, Snapshots
from code_commit_workspace.store.visible import Modes
from code_commit_workspace.store.writers import (
    Earlier,
    Interval,
    RunWrites,
    State,
    Step,
    Writers,
)

_NAMED = 20  # runs in one message
_AT_ONCE = 100  # runs whose checkpoints are read at once


class Histories:
    """The histories of runs, each read from the checkpoints of the run and a look at the files."""

    def __init__(self, tree: ProjectTree, snapshots: Snapshots, saved: Saved) -> None:
        self._tree = tree
        self._snapshots = snapshots
        self._saved = saved

    def of_run(self, run: str, since: str = "") -> History:
        """Return the history of `run`, from its checkpoint `since` if one is given.

        Raises:
            NotReady: there is no checkpoint of the run.
        """
        checkpoints = self._checkpoints_of(run)
        now = self._snapshots.look()
        commits = [commit for _label, commit in checkpoints]
        if since:
            commits = commits[commits.index(since) :]
        commits, loaded = without_rewound(commits, self._saved.load_all(commits))
        steps = self._saved.steps([*(snapshot.tree for snapshot, _writers in loaded), now.tree])
        return self._history(run, commits, loaded, steps, now)

    def latest_change(self) -> History | None:
        """Return the history of the run that `Checkpoints.latest_change` names."""
        now = self._snapshots.look()
        runs = self._saved.runs_in_order()
        starts = _Starts(self, self._saved, now)
        for end, begin in _backwards(len(runs)):
            histories = self._histories_of(runs[begin:end], now)
            for number, history in reversed(list(enumerate(histories, begin))):
                if history is None:
                    continue  # it was forgotten
                changed = history.still_there()
                # An undo of an earlier run has undone this one's changes, too.
                if changed - history.changed_since() or starts.left_by(runs[:number], changed):
                    return history
        return None

    def _histories_of(self, runs: Sequence[str], now: Snapshot) -> list[History | None]:
        """Return the history of each of `runs`, None for one without checkpoints."""
        if len(runs) == 1:
            checkpoints = {run: self._saved.of_run(run) for run in runs}
        else:
            checkpoints = self._saved.runs()
        commits = {run: [commit for _label, commit in checkpoints.get(run, ())] for run in runs}
        all_commits = list(itertools.chain.from_iterable(commits.values()))
        loaded = dict(zip(all_commits, self._saved.load_all(all_commits), strict=True))
        lasting = {
            run: without_rewound(commits[run], [loaded[commit] for commit in commits[run]])
            for run in runs
        }
        trees = [
            [*(snapshot.tree for snapshot, _writers in snapshots), now.tree]
            for _commits, snapshots in lasting.values()
        ]
        steps = iter(self._saved.steps(list(itertools.chain.from_iterable(trees))))
        histories: list[History | None] = []
        for run, (commits_of_run, snapshots) in lasting.items():
            if histories:
                next(steps)  # from one run to the next
            steps_of_run = list(itertools.islice(steps, len(snapshots)))
            if commits_of_run:
                histories.append(self._history(run, commits_of_run, snapshots, steps_of_run, now))
            else:
                histories.append(None)
        return histories

    def look_again(self, history: History) -> History:
        """Return the history with what is there now."""
        now = self._snapshots.look()
        (steps,) = self._saved.steps([history.snapshots[-1].tree, now.tree])
        states = {step.path: step.new for step in steps}
        return replace(history, snapshot=now, present=self.present(now), changed_states=states)

    def present(self, now: Snapshot) -> PresentFiles:
        """Return the files of a look."""
        return PresentFiles(self._tree, self._saved, now)

    def _checkpoints_of(self, run: str) -> list[tuple[str, str]]:
        checkpoints = self._saved.of_run(run)
        if not checkpoints:
            latest = ", ".join(list(self._saved.runs())[-_NAMED:]) or "no run"
            raise NotReady(
                f"there is no checkpoint of the run {run}", hint=f"runs with checkpoints: {latest}"
            )
        return checkpoints

    def _history(
        self,
        run: str,
        commits: Sequence[str],
        loaded: Sequence[tuple[Snapshot, Writers]],
        steps: Sequence[Sequence[Step]],
        now: Snapshot,
    ) -> History:
        """Return the history of a run, whose last of `steps` lead from its last one to `now`."""
        snapshots = [snapshot for snapshot, _writers in loaded]
        *steps_between, steps_to_now = steps
        present = self.present(now)
        intervals = []
        for number, steps_of_interval in enumerate(steps_between):
            new, writers = loaded[number + 1]
            rights = _rights_between(snapshots[number], new, present, steps_of_interval)
            intervals.append(Interval(number, writers, steps_of_interval, rights))
        return History(
            run=run,
            latest=commits[-1],
            snapshots=snapshots,
            writes=RunWrites(intervals),
            snapshot=now,
            present=present,
            changed_states={step.path: step.new for step in steps_to_now},
        )


class _Starts:
    """Compares the files `now` with the starts of runs, each once."""

    def __init__(self, histories: Histories, saved: Saved, now: Snapshot) -> None:
        self._histories = histories
        self._saved = saved
        self._now = now
        self._changed: list[set[str]] = []  # since the start of each run, oldest first

    def left_by(self, earlier_runs: Sequence[str], changed: set[str]) -> set[str]:
        """Return those of the `changed` paths that differ from the start of each earlier run."""
        if not changed:
            return changed
        left = set(changed)
        runs = [run for run in earlier_runs if run in self._commits]
        for number in range(len(runs)):
            if number == len(self._changed):
                self._compare(runs[number : 2 * number + 1])
            left &= self._changed[number]
            if not left:
                break
        return left

    @cached_property
    def _commits(self) -> Mapping[str, str]:
        return {run: checkpoints[0][1] for run, checkpoints in self._saved.runs().items()}

    def _compare(self, runs: Sequence[str]) -> None:
        """Compare with the starts of the next `runs`."""
        present = self._histories.present(self._now)
        snapshots = [
            snapshot
            for snapshot, _writers in self._saved.load_all([self._commits[run] for run in runs])
        ]
        trees: list[str] = []
        for snapshot in snapshots:
            trees += (snapshot.tree, self._now.tree)
        steps = self._saved.steps(trees)
        for snapshot, steps_to_now in zip(snapshots, steps[::2], strict=True):
            paths = {step.path for step in steps_to_now}
            rights = rights_to_put_back(present, snapshot.modes, but=paths)
            self._changed.append(paths | rights.keys())


def _backwards(count: int) -> Iterator[tuple[int, int]]:
    """Yield the end and the beginning of ranges of runs: the latest run, then more at once."""
    end, size = count, 1
    while end:
        begin = max(0, end - size)
        yield end, begin
        end, size = begin, _AT_ONCE


@dataclass(frozen=True, slots=True)
class History:
    """What a run did to each file until its last checkpoint, and what is there now."""

    run: str
    latest: str  # the last checkpoint
    snapshots: Sequence[Snapshot]
    writes: RunWrites
    snapshot: Snapshot
    present: PresentFiles
    changed_states: Mapping[str, State]  # of the files that differ from the last checkpoint

    def now(self, path: str) -> State:
        """Return the present state of a path that the run changed."""
        return self.changed_states.get(path) or self.writes.last(path)

    def to_put_back(self, *, edited: bool = False) -> dict[str, Earlier]:
        """Return what to put back at each path.

        With `edited`, also where a person wrote after the run.
        """
        states = dict(self.writes.back)
        if edited:
            for path in self.writes.edited:
                if earlier := self.writes.before_run(path):
                    states[path] = earlier
        return states

    def is_saved(self, path: str, earlier: Earlier) -> bool:
        """Return whether a checkpoint has the earlier state of a path and the present one is kept.

        Where a process made a response's file too large to save, the file is put aside.
        """
        if is_left_out(path, self.snapshots[earlier.checkpoint]):
            return False
        return self.writes.is_own(path) or not is_left_out(path, self.snapshot)

    def changed_unsaved(self) -> tuple[str, ...]:
        """Return the files that the run changed and that were too large at its start or its end."""
        first = self.snapshots[0].left_out
        last = self.snapshots[-1].left_out
        return tuple(path for path in sorted({*first, *last}) if first.get(path) != last.get(path))

    def changed_since(self) -> set[str]:
        """Return the paths that were changed since the last checkpoint.

        Those that have a state now that is in a checkpoint do not count.
        """
        changed = {
            path
            for path, state in self.changed_states.items()
            if not self.writes.has_seen(path, state)
        }
        unlike_last = rights_to_put_back(self.present, self.snapshots[-1].modes, but=changed)
        unlike_first = rights_to_put_back(self.present, self.snapshots[0].modes, but=changed)
        return changed | (unlike_last.keys() & unlike_first.keys())

    def still_there(self, *, edited: bool = False) -> set[str]:
        """Return the paths that the run changed and nobody changed back.

        With `edited`, also those that people edited after it.
        """
        contents = {
            path
            for path, earlier in self.to_put_back(edited=edited).items()
            if self.now(path) != earlier.state
        }
        return contents | self.rights().keys()

    def rights(self) -> dict[str, int]:
        """Return the permission bits to put back, of the files that have others now."""
        statuses = self.present.statuses(self.writes.rights.keys())
        return {
            path: mode
            for path, mode in self.writes.rights.items()
            if path in statuses and statuses[path].st_mode & 0o777 != mode
        }

    def mode_of(self, path: str, earlier: Earlier) -> int:
        """Return the permission bits that belong to an earlier state."""
        if mode := self.writes.rights.get(path):
            return mode
        modes = self.snapshots[earlier.checkpoint].modes
        return modes.of(path, executable=earlier.state.executable)


def is_left_out(path: str, *snapshots: Snapshot) -> bool:
    """Return whether a file was too large to save in one of `snapshots`."""
    return any(path in snapshot.left_out for snapshot in snapshots)


def rights_to_put_back(present: PresentFiles, modes: Modes, but: Collection[str]) -> dict[str, int]:
    """Return the bits in `modes` of the files that have other bits now, except those at `but`."""
    rights: dict[str, int] = {}
    paths = [path for path in present.with_other_bits(modes) if path not in but]
    for path, status in present.statuses(paths).items():
        if stat.S_ISREG(status.st_mode):
            mode = modes.of(path, executable=bool(status.st_mode & 0o100))
            if mode != status.st_mode & 0o777:
                rights[path] = mode
    return rights


def without_rewound(
    commits: list[str], loaded: list[tuple[Snapshot, Writers]]
) -> tuple[list[str], list[tuple[Snapshot, Writers]]]:
    """Leave out the checkpoints whose changes were put back since."""
    valid_commits: list[str] = []
    valid: list[tuple[Snapshot, Writers]] = []
    for commit, (snapshot, writers) in zip(commits, loaded, strict=True):
        if writers.rewinds in valid_commits:
            end = valid_commits.index(writers.rewinds) + 1
            del valid_commits[end:]
            del valid[end:]
        valid_commits.append(commit)
        valid.append((snapshot, writers))
    return valid_commits, valid


def _rights_between(
    old: Snapshot,
    new: Snapshot,
    present: PresentFiles,
    steps: Sequence[Step],
) -> dict[str, tuple[int, int]]:
    """Return the permission bits before and after of each file whose bits alone changed."""
    changed_contents = {step.path for step in steps}
    paths = set(paths_with_other_bits(old.modes, new.modes, present)) - changed_contents
    rights: dict[str, tuple[int, int]] = {}
    for path, status in present.statuses(paths).items():
        executable = bool(status.st_mode & 0o100)
        old_mode = old.modes.of(path, executable=executable)
        new_mode = new.modes.of(path, executable=executable)
        if old_mode != new_mode:
            rights[path] = (old_mode, new_mode)
    return rights
