"""Undo, redo and trials: put back what a run changed, and keep the state before that."""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from code_commit_workspace.checkpoint.history import Histories, History
from code_commit_workspace.checkpoint.put_aside import PutAside, is_readable
from code_commit_workspace.checkpoint.restore import Restorer
from code_commit_workspace.checkpoint.saved import PutBackRecord, Saved
from code_commit_workspace.checkpoint.snapshot import Snapshot, Snapshots
from code_commit_workspace.checkpoint.writers import Earlier, State, Step
from code_commit_workspace.errors import Interrupted, NotReady
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.transaction.survey import Write
from code_commit_workspace.words import join_paths

_NAMED = 20  # paths in one message


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


class Undoer:
    """Puts back what runs changed; `home` is the state folder of the project."""

    def __init__(self, tree: ProjectTree, home: Path, snapshots: Snapshots, saved: Saved) -> None:
        self._tree = tree
        self._home = home
        self._snapshots = snapshots
        self._saved = saved
        self._restorer = Restorer(tree, home, snapshots, saved)
        self._histories = Histories(snapshots, saved)

    def undo(self, run: str, below: Sequence[str], *, force: bool) -> PutBack:
        """See `Checkpoints.undo`."""
        history = self._histories.of_run(run)
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
        history = self._histories.of_run(run, since)
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
        restored = self._restorer.restore(record.before, record.left.keys())
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

    def _put_back(
        self,
        history: History,
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
            history = self._histories.look_again(history)  # what is in them was not to be seen
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
                seen = self._histories.look_again(history)
                self._saved.drop_record(record)
            others = self._without_ignored(
                {path: wanted[path] for path in wanted.keys() - rules.keys()}, seen
            )
            wanted = rules | others
            unclaimed = history.writes.unclaimed & wanted.keys()
            record = self._keep_record(
                history, reason, wanted, rights, only=unclaimed if only_unclaimed else None
            )
            self._replace(others, history, aside, self._restorer.with_rights(rights), seen.files)
        except (NotReady, Interrupted):
            self._restorer.write(
                self._saved.writes_of({path: history.now(path) for path in rules}, {})
            )
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
        history: History,
        aside: PutAside,
        more: Sequence[Write] = (),
        seen: Mapping[str, os.stat_result] | None = None,
    ) -> None:
        """Put the earlier states in place, after what is in their way was put aside; write `more`."""
        writes = self._writes_of(wanted, history)
        removed = {path for path, earlier in wanted.items() if earlier.state.missing}
        aside.make_room(wanted.keys() - removed, removed, history.files, history.snapshot.left_out)
        self._restorer.write([*writes, *more], seen)

    def _keep_record(
        self,
        history: History,
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
        if not left:
            return ""
        return self._saved.keep_record(history.run, reason, history.snapshot, left, history.latest)

    def _blocked(self, history: History) -> set[str]:
        """Return the paths where somebody made a folder of a file, or a file of a folder, so that
        nothing fits.
        """
        wanted = history.wanted()
        removed = {path for path, earlier in wanted.items() if earlier.state.missing}
        return PutAside(self._tree, self._home, history.run).blocked(
            wanted.keys() - removed, removed, history.files
        )

    def _without_ignored(
        self, wanted: Mapping[str, Earlier], history: History
    ) -> dict[str, Earlier]:
        """Leave out files of somebody that git ignores, or ignored then."""
        return {
            path: earlier
            for path, earlier in wanted.items()
            if not self._is_ignored(path, earlier, history)
        }

    def _is_ignored(self, path: str, earlier: Earlier, history: History) -> bool:
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

    def _writes_of(self, wanted: Mapping[str, Earlier], history: History) -> list[Write]:
        modes = {path: history.mode_of(path, earlier) for path, earlier in wanted.items()}
        return self._saved.writes_of(
            {path: earlier.state for path, earlier in wanted.items()}, modes
        )


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
