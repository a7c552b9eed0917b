"""Undo, redo and trials: put back what a run changed, and keep the state before that."""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from code_commit_workspace.errors import Interrupted, NotReady
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.move.survey import Write
from code_commit_workspace.store.history import Histories, History
from code_commit_workspace.store.put_aside import PutAside, is_readable
from code_commit_workspace.store.restore import Restorer
from code_commit_workspace.store.saved import PutBackRecord, Saved
from code_commit_workspace.store.snapshot import Snapshot, Snapshots
from code_commit_workspace.store.writers import Earlier, State, Step
from code_commit_workspace.words import join_paths

_NAMED = 20  # paths in one message


@dataclass(frozen=True, slots=True)
class PutBack:
    """What an operation that puts files back did.

    `paths` are the files that were restored, which `run` had changed. `edited` are files that a
    person changed after the run wrote them: they stay as they are. `unclaimed` are those of `paths`
    that changed while a process ran and that no response wrote, so a person may have written them.
    `record` is what `redo` reads. `left_out` are files that were changed since the start of the run
    and that stay as they are, because they are too large to save. `moved` has the old and the new
    path of what was in the way of restored files.
    """

    paths: tuple[str, ...]
    run: str = ""
    edited: tuple[str, ...] = ()
    unclaimed: tuple[str, ...] = ()
    record: str = ""
    left_out: tuple[str, ...] = ()
    moved: tuple[tuple[str, str], ...] = ()


class Undoer:
    """Puts back what runs changed; `home` is the state folder of the project."""

    def __init__(self, tree: ProjectTree, home: Path, snapshots: Snapshots, saved: Saved) -> None:
        self._tree = tree
        self._home = home
        self._snapshots = snapshots
        self._saved = saved
        self._restorer = Restorer(tree, home, snapshots, saved)
        self._histories = Histories(tree, snapshots, saved)

    def undo(self, run: str | None, below: Sequence[str], *, force: bool) -> PutBack:
        """See `Checkpoints.undo`."""
        history = self._histories.of_run(run) if run else self._histories.latest_change()
        if history is None:
            raise NotReady("nothing to undo: no run has left changes here")
        run = history.run
        chosen = _below(history.writes.changed, below, run)
        if force:
            return self._put_back(history, chosen, (), reason="undo", force=True)
        changed_since = history.changed_since()
        lost = {path for path in chosen & changed_since if history.writes.is_own(path)}
        if lost:
            raise NotReady(
                f"files were changed since the run {run}: {join_paths(sorted(lost), _NAMED)}",
                hint=f"nothing was undone; "
                f"`code-commit undo {run} --force` discards these later changes too",
            )
        chosen -= changed_since
        edited = chosen & history.writes.edited
        return self._put_back(history, chosen, edited, reason="undo")

    def put_back(
        self,
        run: str,
        reason: str,
        *,
        since: str = "",
        but: Collection[str] = (),
        only_unclaimed: bool = False,
        altered: Collection[str] = (),
    ) -> PutBack:
        """See `Checkpoints.put_back`."""
        history = self._histories.of_run(run, since)
        changed_since = history.changed_since()
        blocked = self._blocked(history)
        chosen = history.writes.changed - changed_since - blocked - set(but)
        edited = history.writes.edited | blocked
        edited |= {path for path in changed_since if history.writes.is_own(path)}
        edited -= set(but)
        return self._put_back(
            history,
            chosen,
            edited,
            reason=reason,
            only_unclaimed=only_unclaimed,
            altered=altered,
        )

    def redo(self, run: str | None) -> tuple[PutBackRecord, tuple[str, ...]]:
        """See `Checkpoints.redo`; return the record as well."""
        now = self._snapshots.look()
        record, steps = self._latest_record(run, now)
        changed = {
            step.path for step in steps if record.left.get(step.path) not in {None, step.new}
        }
        # Also files that were made since and that git ignores.
        visible = self._saved.states(now.tree, record.left)
        changed |= {path for path in record.left if path not in visible and self._is_file(path)}
        if changed:
            raise NotReady(
                f"files were changed since they were put back: "
                f"{join_paths(sorted(changed), _NAMED)}",
                hint="nothing was redone; "
                "move your changes away, then run `code-commit redo` again",
            )
        restored = self._restorer.restore(record.before, record.left.keys())
        self._saved.drop_record(record.ref)
        return record, restored

    def _latest_record(self, run: str | None, now: Snapshot) -> tuple[PutBackRecord, list[Step]]:
        """Return the latest record, and the steps from its state to `now`.

        Drop records of what somebody brought back by hand.
        """
        for ref, run_of_record, commit in reversed(self._saved.records()):
            if run not in {None, run_of_record}:
                continue
            record = self._saved.load_record(ref, run_of_record, commit)
            (steps,) = self._saved.steps([record.before.tree, now.tree])
            paths = {step.path for step in steps}
            if any(path in paths or state is None for path, state in record.left.items()):
                return record, steps
            self._saved.drop_record(ref)
        whose = f" of the run {run}" if run else ""
        raise NotReady(f"no undo{whose} can be taken back, so there is nothing to redo")

    def _put_back(
        self,
        history: History,
        paths: Collection[str],
        edited: Collection[str],
        *,
        reason: str,
        force: bool = False,
        only_unclaimed: bool = False,
        altered: Collection[str] = (),
    ) -> PutBack:
        """Put back what the run changed at `paths`; save the state before that for `redo`."""
        aside = PutAside(self._tree, self._home, history.run)
        chosen = {
            path: earlier
            for path, earlier in history.to_put_back(edited=force).items()
            if path in paths
        }
        if aside.open_folders(chosen.keys()):
            history = self._histories.look_again(history)  # closed folders looked empty
        chosen = {
            path: earlier
            for path, earlier in chosen.items()
            if history.now(path) != earlier.state and history.is_saved(path, earlier)
        }
        rights = {
            path: mode
            for path, mode in history.rights().items()
            if path in paths and path not in chosen
        }
        rules = {
            path: earlier
            for path, earlier in chosen.items()
            if posixpath.basename(path) == ".gitignore"
        }
        record = ""
        under_new_rules = history
        try:
            if rules:  # first: under changed rules, ignored files would look new
                record = self._keep_record(history, reason, _states(rules))
                self._replace(rules, history, aside)
                under_new_rules = self._histories.look_again(history)
                self._saved.drop_record(record)
            files = {
                path: earlier
                for path, earlier in chosen.items()
                if path not in rules and not self._is_ignored(path, earlier, under_new_rules)
            }
            unclaimed = (history.writes.unclaimed | set(altered)) & (rules.keys() | files.keys())
            left = _states(rules | files)
            left |= dict.fromkeys(rights)  # only their permission bits change
            if only_unclaimed:
                left = {path: state for path, state in left.items() if path in unclaimed}
            record = self._keep_record(history, reason, left)
            seen = self._restorer.seen({path: under_new_rules.now(path) for path in files})
            seen = {**seen, **under_new_rules.present.statuses(rights.keys())}
            modes = self._restorer.with_rights(rights)
            self._replace(files, history, aside, more=modes, seen=seen)
        except (NotReady, Interrupted):
            rules_before = {path: history.now(path) for path in rules}
            self._restorer.write(self._saved.writes_of(rules_before, {}))
            aside.take_back()
            if record:
                self._saved.drop_record(record)
            raise
        restored = rules.keys() | files.keys() | rights.keys()
        left_out = tuple(path for path in history.changed_unsaved() if path not in aside.moved)
        return PutBack(
            tuple(sorted(restored)),
            run=history.run,
            edited=tuple(sorted(edited)),
            unclaimed=tuple(sorted(unclaimed)),
            record=record,
            left_out=left_out,
            moved=tuple(aside.moved.items()),
        )

    def _replace(
        self,
        earlier_states: Mapping[str, Earlier],
        history: History,
        aside: PutAside,
        more: Sequence[Write] = (),
        seen: Mapping[str, os.stat_result] | None = None,
    ) -> None:
        """Put aside what is in the way, put the earlier states in place, and write `more`."""
        writes = self._writes_of(earlier_states, history)
        removed = _missing(earlier_states)
        aside.make_room(
            written=earlier_states.keys() - removed,
            removed=removed,
            visible=lambda: history.present.paths,
            too_large=history.snapshot.left_out,
        )
        self._restorer.write([*writes, *more], seen)

    def _keep_record(self, history: History, reason: str, left: Mapping[str, State | None]) -> str:
        """Save the state before the states `left` are put back; return the name of the record."""
        if not left:
            return ""
        return self._saved.keep_record(history.run, reason, history.snapshot, left, history.latest)

    def _blocked(self, history: History) -> set[str]:
        """Return the paths that are blocked.

        There, somebody made a folder of a file, or a file of a folder.
        """
        earlier_states = history.to_put_back()
        removed = _missing(earlier_states)
        aside = PutAside(self._tree, self._home, history.run)
        return aside.blocked(
            earlier_states.keys() - removed, removed, lambda: history.present.paths
        )

    def _is_ignored(self, path: str, earlier: Earlier, history: History) -> bool:
        """Return whether somebody's file is at `path` that git ignores, or ignored then."""
        if history.now(path).missing:
            return path not in history.snapshot.left_out and self._has_content(path)
        if not earlier.state.missing:
            return False
        status = self._tree.lstat(path)
        taken = history.snapshots[earlier.checkpoint].taken
        return status is not None and status.st_ctime_ns < taken

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
            if status is None:
                return False
            if stat.S_ISREG(status.st_mode):
                return is_readable(self._tree, path)
            return stat.S_ISLNK(status.st_mode)
        except OSError:
            return False

    def _writes_of(self, earlier_states: Mapping[str, Earlier], history: History) -> list[Write]:
        states = {path: earlier.state for path, earlier in earlier_states.items()}
        modes = {path: history.mode_of(path, earlier) for path, earlier in earlier_states.items()}
        return self._saved.writes_of(states, modes)


def _states(earlier_states: Mapping[str, Earlier]) -> dict[str, State | None]:
    return {path: earlier.state for path, earlier in earlier_states.items()}


def _missing(earlier_states: Mapping[str, Earlier]) -> set[str]:
    """Return the paths at which nothing was."""
    return {path for path, earlier in earlier_states.items() if earlier.state.missing}


def _below(changed: set[str], paths: Sequence[str], run: str) -> set[str]:
    """Return the `changed` paths at or below one of `paths`. Without `paths`, return all.

    Raises:
        NotReady: the run changed nothing at one of `paths`.
    """
    if not paths:
        return changed
    chosen: set[str] = set()
    for path in paths:
        matches = _at_or_below(changed, posixpath.normpath(path))
        if not matches:
            hint = f"nothing was undone; it changed {join_paths(sorted(changed), _NAMED)}"
            raise NotReady(f"the run {run} changed nothing at {path}", hint=hint)
        chosen |= matches
    return chosen


def _at_or_below(paths: set[str], top: str) -> set[str]:
    """Return the paths that are `top` or below it."""
    if top == ".":
        return paths
    prefix = f"{top}/"
    return {path for path in paths if path == top or path.startswith(prefix)}
