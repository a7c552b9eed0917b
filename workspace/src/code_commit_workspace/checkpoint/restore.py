"""Restore the visible tree of a checkpoint."""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as replace_fields
from pathlib import Path

from code_commit_workspace.checkpoint.put_aside import PutAside, is_readable
from code_commit_workspace.checkpoint.saved import Difference, PutBackRecord, Saved
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
from code_commit_workspace.errors import Interrupted, NotReady
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.transaction.apply import replace
from code_commit_workspace.transaction.survey import Write
from code_commit_workspace.words import join_paths

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

    def _rules(
        self, old: Snapshot, new: Snapshot, only: Collection[str] | None
    ) -> list[Difference]:
        found = _chosen(self._saved.differences(old.tree, new.tree), only)
        rules = [
            difference
            for difference in found
            if posixpath.basename(difference.path) == ".gitignore"
        ]
        return [rule for rule in rules if not _is_left_out(rule.path, old, new)]

    def _restore_others(self, wanted: Snapshot, only: Collection[str] | None) -> set[str]:
        now, files = self._snapshots.look()
        differences = _chosen(self._saved.differences(now.tree, wanted.tree), only)
        differences = [found for found in differences if not _is_left_out(found.path, now, wanted)]
        chosen = [found for found in differences if not _older(found, files, wanted)]
        rights = _rights(files, wanted.modes, but={found.path for found in differences})
        if only is not None:
            rights = {path: mode for path, mode in rights.items() if path in only}
        self._write([*self._saved.writes(chosen, wanted), *self._with_rights(rights)], files)
        return {found.path for found in chosen} | rights.keys()

    def _with_rights(self, rights: Mapping[str, int]) -> list[Write]:
        return [
            Write(path, self._tree.read(path, self._tree.size(path)), mode=mode)
            for path, mode in rights.items()
        ]

    def _write(self, writes: list[Write], seen: Mapping[str, os.stat_result] | None = None) -> None:
        if writes:
            replace(self._tree, self._home, writes, seen=seen)

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

    def writes(self, run: str) -> RunWrites:
        """Return what `run` wrote, as of its last checkpoint."""
        now, files = self._snapshots.look()
        return self._history(run, self._checkpoints_of(run), now, files).writes

    def still_changed(self, run: str) -> set[str]:
        """See `Checkpoints.still_changed`."""
        now, files = self._snapshots.look()
        return self._history(run, self._checkpoints_of(run), now, files).still_there(edited=True)

    def undo(self, run: str, below: Sequence[str], *, force: bool) -> PutBack:
        """See `Checkpoints.undo`."""
        now, files = self._snapshots.look()
        history = self._history(run, self._checkpoints_of(run), now, files)
        chosen = _below(history.writes.changed, below, run)
        later = history.changed_since()
        lost = {path for path in chosen & later if history.writes.is_own(path)}
        if lost and not force:
            raise NotReady(
                f"files were changed since the run {run}: {join_paths(sorted(lost), _NAMED)}",
                hint=f"nothing was undone; `code-commit undo {run} --force` discards these later changes too",
            )
        if not force:
            chosen -= later
        edited = () if force else chosen & history.writes.edited
        return self._put_back(history, chosen, edited, reason="undo", force=force)

    def put_back(
        self,
        run: str,
        reason: str,
        *,
        since: str = "",
        but: Collection[str] = (),
        only_unclaimed: bool = False,
    ) -> PutBack:
        """See `Checkpoints.put_back`."""
        now, files = self._snapshots.look()
        history = self._history(run, self._checkpoints_of(run), now, files, since)
        later = history.changed_since()
        edited = history.writes.edited | {path for path in later if history.writes.is_own(path)}
        blocked = self._blocked(history)
        chosen = history.writes.changed - later - blocked - set(but)
        return self._put_back(
            history,
            chosen,
            (edited | blocked) - set(but),
            reason=reason,
            only_unclaimed=only_unclaimed,
        )

    def redo(self, run: str | None) -> tuple[PutBackRecord, tuple[str, ...]]:
        """See `Checkpoints.redo`; return the record as well."""
        now, files = self._snapshots.look()
        record, steps = self._latest_record(run, now)
        expected = {step.path: record.left.get(step.path) for step in steps}
        changed = [step.path for step in steps if expected[step.path] not in {None, step.new}]
        hidden = [path for path in record.left if path not in files and self._is_file(path)]
        if changed or hidden:
            raise NotReady(
                f"files were changed since they were put back: {join_paths(sorted({*changed, *hidden}), _NAMED)}",
                hint="nothing was redone; move your changes away, then run `code-commit redo` again",
            )
        restored = self.restore(record.before, record.left.keys())
        self._saved.drop_record(record.ref)
        return record, restored

    def _latest_record(self, run: str | None, now: Snapshot) -> tuple[PutBackRecord, list[Step]]:
        """Return the latest record, and the steps from its state to `now`.

        Drop those that are redone by hand.
        """
        for ref, of_run, commit in reversed(self._saved.records()):
            if run in {None, of_run}:
                record = self._saved.load_record(ref, of_run, commit)
                (steps,) = self._saved.steps([record.before.tree, now.tree])
                paths = {step.path for step in steps}
                if any(path in paths or state is None for path, state in record.left.items()):
                    return record, steps
                self._saved.drop_record(ref)
        whose = f" of the run {run}" if run else ""
        raise NotReady(f"no undo{whose} can be taken back, so there is nothing to redo")

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
    ) -> _History:
        """Read the history of a run, from its checkpoint `since` if one is given."""
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
        return _History(
            run,
            commits[-1],
            snapshots,
            writes,
            now,
            files,
            {step.path: step.new for step in to_now},
        )

    def _put_back(
        self,
        history: _History,
        paths: Collection[str],
        edited: Collection[str],
        *,
        reason: str,
        force: bool = False,
        only_unclaimed: bool = False,
    ) -> PutBack:
        """Put back what the run changed at `paths`, after the state before that is kept for `redo`."""
        wanted = {
            path: earlier for path, earlier in history.wanted(force=force).items() if path in paths
        }
        aside = PutAside(self._tree, self._home, history.run)
        if aside.open_folders(wanted.keys()):
            history = self._look_again(history)  # what is in them was not to be seen
        wanted = {
            path: earlier for path, earlier in wanted.items() if history.now(path) != earlier.state
        }
        wanted = {
            path: earlier for path, earlier in wanted.items() if history.is_saved(path, earlier)
        }
        rules = {
            path: earlier
            for path, earlier in wanted.items()
            if posixpath.basename(path) == ".gitignore"
        }
        rights = {
            path: mode
            for path, mode in history.rights().items()
            if path in paths and path not in wanted
        }
        seen = history
        record = ""
        try:
            if rules:  # first: under changed rules, ignored files would look new
                record = self._keep_record(history, reason, rules, (), only=None)
                self._replace(rules, history, aside)
                seen = self._look_again(history)
                self._saved.drop_record(record)
            others = self._without_ignored(
                {path: wanted[path] for path in wanted.keys() - rules.keys()}, seen
            )
            wanted = rules | others
            unclaimed = history.writes.unclaimed & wanted.keys()
            record = self._keep_record(
                history, reason, wanted, rights, only=unclaimed if only_unclaimed else None
            )
            self._replace(others, history, aside, self._with_rights(rights), seen.files)
        except (NotReady, Interrupted):
            self._write(self._saved.writes_of({path: history.now(path) for path in rules}, {}))
            aside.take_back()
            if record:
                self._saved.drop_record(record)
            raise
        restored = tuple(sorted(wanted.keys() | rights.keys()))
        return PutBack(
            restored,
            tuple(sorted(edited)),
            tuple(sorted(unclaimed)),
            record,
            left_out=tuple(path for path in history.changed_unsaved() if path not in aside.moved),
            moved=tuple(aside.moved.items()),
        )

    def _replace(
        self,
        wanted: Mapping[str, Earlier],
        history: _History,
        aside: PutAside,
        more: Sequence[Write] = (),
        seen: Mapping[str, os.stat_result] | None = None,
    ) -> None:
        """Put the earlier states in place, after what is in their way was put aside; write `more`."""
        writes = self._writes_of(wanted, history)
        removed = {path for path, earlier in wanted.items() if earlier.state.missing}
        aside.make_room(wanted.keys() - removed, removed, history.files, history.snapshot.left_out)
        self._write([*writes, *more], seen)

    def _keep_record(
        self,
        history: _History,
        reason: str,
        wanted: Mapping[str, Earlier],
        rights: Collection[str],
        *,
        only: Collection[str] | None,
    ) -> str:
        """Keep the state before files are put back, `only` for some of them; return its name."""
        left: dict[str, State | None] = {path: earlier.state for path, earlier in wanted.items()}
        left |= dict.fromkeys(rights)  # only their permission bits change
        if only is not None:
            left = {path: state for path, state in left.items() if path in only}
        return (
            self._saved.keep_record(history.run, reason, history.snapshot, left, history.latest)
            if left
            else ""
        )

    def _blocked(self, history: _History) -> set[str]:
        """Return the paths where somebody made a folder of a file, or a file of a folder, so that
        nothing fits.
        """
        wanted = history.wanted()
        removed = {path for path, earlier in wanted.items() if earlier.state.missing}
        return PutAside(self._tree, self._home, history.run).blocked(
            wanted.keys() - removed, removed, history.files
        )

    def _look_again(self, history: _History) -> _History:
        now, files = self._snapshots.look()
        (steps,) = self._saved.steps([history.snapshots[-1].tree, now.tree])
        states = {step.path: step.new for step in steps}
        return replace_fields(history, snapshot=now, files=files, changed_states=states)

    def _without_ignored(
        self, wanted: Mapping[str, Earlier], history: _History
    ) -> dict[str, Earlier]:
        """Leave out files of somebody that git ignores, or ignored then."""
        return {
            path: earlier
            for path, earlier in wanted.items()
            if not self._is_ignored(path, earlier, history)
        }

    def _is_ignored(self, path: str, earlier: Earlier, history: _History) -> bool:
        status = history.files.get(path)
        if status is None:
            return path not in history.snapshot.left_out and self._has_content(path)
        return (
            earlier.state.missing
            and status.st_ctime_ns < history.snapshots[earlier.checkpoint].taken
        )

    def _is_file(self, path: str) -> bool:
        try:
            status = self._tree.lstat(path)
        except OSError:
            return False
        return status is not None and not stat.S_ISDIR(status.st_mode)

    def _has_content(self, path: str) -> bool:
        """Return whether there is a link or a file to read."""
        try:
            status = self._tree.lstat(path)
            return status is not None and (
                stat.S_ISLNK(status.st_mode)
                or (stat.S_ISREG(status.st_mode) and is_readable(self._tree, path))
            )
        except OSError:
            return False

    def _writes_of(self, wanted: Mapping[str, Earlier], history: _History) -> list[Write]:
        modes = {path: history.mode_of(path, earlier) for path, earlier in wanted.items()}
        return self._saved.writes_of(
            {path: earlier.state for path, earlier in wanted.items()}, modes
        )

    def _changed_since(
        self, now: Snapshot, files: Mapping[str, os.stat_result], than: Snapshot
    ) -> set[str]:
        """Return the paths that differ from an earlier tree, permission bits included."""
        paths = {found.path for found in self._saved.differences(than.tree, now.tree)}
        return paths | _rights(files, than.modes, but=paths).keys()


@dataclass(frozen=True, slots=True)
class PutBack:
    """What an operation that puts files back did.

    `paths` are the files that were restored. `edited` are files that a person changed after the run
    wrote them: they stay as they are. `unclaimed` are those of `paths` that changed while a process
    ran and that no response wrote, so a person may have written them. `record` is what `redo`
    reads. `left_out` are files that were changed since the start of the run and that stay as they
    are, because they are too large to save. `moved` has what was in the way of restored files: its
    path, and where it is now.
    """

    paths: tuple[str, ...]
    edited: tuple[str, ...] = ()
    unclaimed: tuple[str, ...] = ()
    record: str = ""
    left_out: tuple[str, ...] = ()
    moved: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class _History:
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
        if _is_left_out(path, self.snapshots[earlier.checkpoint]):
            return False
        return self.writes.is_own(path) or not _is_left_out(path, self.snapshot)

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
        bits = _rights(self.files, last.modes, but=changed)
        return changed | (bits.keys() & _rights(self.files, first.modes, but=changed).keys())

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


def _below(changed: set[str], paths: Sequence[str], run: str) -> set[str]:
    """Return those of the `changed` paths that are at or below one of `paths`; all of them without
    `paths`.

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
    return (
        found if only is None else [difference for difference in found if difference.path in only]
    )


def _is_left_out(path: str, *snapshots: Snapshot) -> bool:
    return any(path in snapshot.left_out for snapshot in snapshots)


def _older(found: Difference, files: Mapping[str, os.stat_result], wanted: Snapshot) -> bool:
    """Return whether a file to remove is older than the checkpoint. git ignored it then, so it
    stays.
    """
    return found.removed and files[found.path].st_ctime_ns < wanted.taken


def _rights(
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


def copy(saved: Saved, commit: str, into: ProjectTree, home: Path) -> None:
    """See `Checkpoints.copy`."""
    wanted = saved.load(commit)
    found = saved.differences(saved.empty_tree(), wanted.tree)
    for start in range(0, len(found), _AT_ONCE):
        replace(into, home, saved.writes(found[start : start + _AT_ONCE], wanted))
