"""Undo a run and take that back: which run, and what people learn."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Sequence
from typing import NamedTuple

from code_commit_workspace.errors import Conflict, NotReady
from code_commit_workspace.files.path_kinds import lexists
from code_commit_workspace.git import GitError
from code_commit_workspace.move.moving import Moved
from code_commit_workspace.store.log import WRITERS, Entry, RunLog, links_of, now
from code_commit_workspace.store.objects import State
from code_commit_workspace.store.repository import LITERAL_PATHS
from code_commit_workspace.store.run_changes import (
    RunChanges,
    differ,
    moved_by,
    redoable,
    unfinished,
)
from code_commit_workspace.store.store import Store
from code_commit_workspace.words import join_paths

_NAMED = 20  # paths in one message
_OLD_STORE = "checkpoint.git"  # of 0.2.0, in the state folder
_AT_ONCE = 500  # paths of one git command
_COMMITTED = ("show", "--no-patch", "--no-show-signature", "--format=%ct", "HEAD")
_STATUS = ("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignored")


class Undone(NamedTuple):
    """What an undo or a redo of `run` did.

    `merged` are those of `paths` in which a person's changes stay, `replaced` those in which they
    gave way. `left` are paths that changed while a process of the run ran, and stay. What was at
    the paths `already` was as wanted.
    """

    run: str
    paths: tuple[str, ...]
    merged: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    already: tuple[str, ...] = ()


def undo(
    store: Store, run: str | None, below: Sequence[str] = (), *, force: bool = False
) -> Undone:
    """Move the files back that `run` wrote, or only those at or below some paths.

    None is the latest run, if its changes are there and not committed. What people changed since
    stays. With `force`, it gives way where it overlaps; `redo` takes that back.

    Raises:
        NotReady: there is nothing to undo, or changes of people overlap; no file was changed.
    """
    log = _latest(store) if run is None else store.logs.of(run)
    if log is None and lexists(store.home / _OLD_STORE):
        raise NotReady(
            f"{run} is too old to undo: an earlier version of this program made it",
            hint="restore its files from git",
        )
    if log is None or not any(entry.by in WRITERS and entry.paths for entry in log.entries):
        raise NotReady(f"nothing to undo: {run} changed no files")
    changes = RunChanges(store, log)
    links = links_of(log.entries)
    if not links:
        raise NotReady(f"nothing to undo: the changes of {log.run} are already undone")
    only = _below(links.keys(), below, log.run)
    firsts = {path: of_path[0].change.before for path, of_path in links.items()}
    try:
        moved = changes.back("undo", only=only, force=force)
    except Conflict as conflict:
        raise NotReady(
            f"you or a build changed files since the run {log.run} wrote them, at the same places: "
            f"{join_paths(conflict.paths, _NAMED)}",
            hint=f"nothing was undone; `code-commit undo {log.run} --force` replaces these "
            "changes, too, and `code-commit redo` brings them back",
        ) from conflict
    merged = [
        path
        for path, (_, after) in moved.differences.items()
        if differ(store.state_of(after), firsts[path]) and path not in moved.replaced
    ]
    return Undone(
        log.run,
        tuple(sorted(moved.differences)),
        merged=tuple(sorted(merged)),
        replaced=tuple(sorted(moved.replaced)),
        left=changes.left(),
        already=_already(moved),
    )


def redo(store: Store, run: str | None) -> Undone:
    """Bring back what was moved back last, or last for `run`.

    Raises:
        NotReady: nothing was, or the files were changed since at the same places.
    """
    log, number = _latest_undo(store, run)
    try:
        moved = RunChanges(store, log).redo(number)
    except Conflict as conflict:
        raise NotReady(
            "files were changed since they were moved back, at the same places: "
            f"{join_paths(conflict.paths, _NAMED)}",
            hint="nothing was redone; move your changes away, then run `code-commit redo` again",
        ) from conflict
    wanted = moved_by(log.entries, number)
    merged = [
        path
        for path, (_, after) in moved.differences.items()
        if differ(store.state_of(after), wanted[path].before)
    ]
    return Undone(
        log.run,
        tuple(sorted(moved.differences)),
        merged=tuple(sorted(merged)),
        already=_already(moved),
    )


def _already(moved: Moved) -> tuple[str, ...]:
    return tuple(sorted(moved.versions.keys() - moved.differences.keys()))


def finish_interrupted(store: Store) -> str | None:
    """End the command and the trial in which the latest run was killed, if it was.

    Return a sentence about that. What changed since the command began counts as the command's.
    What the trial wrote is moved back, unless a person changed it since at the same places.

    Raises:
        NotReady: the log is damaged, or cannot be written.
    """
    log = next(store.logs.latest_first(), None)
    if log is None or not log.entries:
        return None
    changes = RunChanges(store, log)
    sentences: list[str] = []
    of_command: set[str] = set()
    for number in unfinished(log.entries, "running", "command"):
        of_command.update(changes.end_command(number, log.entries[number].time))
    if of_command:
        paths = join_paths(sorted(of_command), _NAMED)
        sentences.append(f"what changed since its last command began counts as the run's: {paths}")
    if trials := unfinished(log.entries, "trying", "tried"):
        moved = _move_trial_back(changes, trials[0])
        for number in trials:
            log.add(Entry("tried", now(), since=number))
        if moved.differences:
            paths = join_paths(sorted(moved.differences), _NAMED)
            sentences.append(f"{paths} moved back; `code-commit redo` brings that back")
        if moved.obstacles:
            sentences.append(f"not moved back: {join_paths(moved.obstacles, _NAMED)}")
    if not sentences:
        return None
    return f"the run {log.run} was killed: {'; '.join(sentences)}"


def _move_trial_back(changes: RunChanges, since: int) -> Moved:
    """Move back what a trial wrote, but for files that a person changed at the same places."""
    try:
        # Not as a trial: a person may have worked since the kill, so a redo brings all of it back.
        return changes.back("restore", since=since, force=False)
    except NotReady as error:  # the store is damaged
        return Moved({}, obstacles=(error.message,))


def _latest(store: Store) -> RunLog:
    """Return the log of the run that a plain `undo` takes back.

    Raises:
        NotReady: the latest run changed nothing, or its changes are committed or gone.
    """
    for log in store.logs.latest_first():
        changes = RunChanges(store, log).net_of(links_of(log.entries))
        if not changes:
            if any(entry.by == "undo" for entry in log.entries):
                continue
            raise NotReady(
                f"nothing to undo: the latest run, {log.run}, changed nothing that is there",
                hint="`code-commit undo RUN` takes back an earlier one",
            )
        befores = {path: change.before for path, change in changes.items()}
        if not any(differ(_present(store, path), before) for path, before in befores.items()):
            return log  # somebody restored the files: that counts as undone
        if _are_committed(store, log, changes):
            raise NotReady(
                f"the changes of the latest run, {log.run}, are in the last commit",
                hint="`git revert` reverts that commit; "
                f"`code-commit undo {log.run}` takes them back in the files",
            )
        return log
    raise NotReady("nothing to undo: no run has left changes here")


def _are_committed(store: Store, log: RunLog, changes: Collection[str]) -> bool:
    """Return whether git has what is at the paths `changes`, in a commit made after the run."""
    paths = sorted(changes)
    written = max(entry.time for entry in log.entries if entry.by in WRITERS)
    try:
        committed = int(store.git.run(_COMMITTED))
        for start in range(0, len(paths), _AT_ONCE):
            status = [*_STATUS, "--", *paths[start : start + _AT_ONCE]]
            if store.git.run(status, env=LITERAL_PATHS):
                return False
    except GitError:  # no repository, or no commit
        return False
    return committed >= written // 10**9


def _present(store: Store, path: str) -> State | None:
    version, _ = store.read(path)
    return store.state_of(version)


def _latest_undo(store: Store, run: str | None) -> tuple[RunLog, int]:
    """Return the log and the number of the entry that a redo takes back.

    Raises:
        NotReady: there is none.
    """
    latest: tuple[int, RunLog, int] | None = None
    for log in store.logs.written_last_first():
        if run not in {None, log.run}:
            continue
        if latest and log.written < latest[0]:
            break
        entries = log.entries
        redone = {entries[entry.since].time for entry in entries if entry.by == "redo"}
        for number, entry in enumerate(entries):
            is_newer = latest is None or entry.time > latest[0]
            if is_newer and entry.time not in redone and redoable(entry):
                latest = entry.time, log, number
    if latest is None:
        whose = f" of the run {run}" if run else ""
        raise NotReady(f"no undo{whose} can be taken back, so there is nothing to redo")
    return latest[1:]


def _below(changed: Collection[str], paths: Sequence[str], run: str) -> Collection[str]:
    """Return the `changed` paths at or below one of `paths`. Without `paths`, return all.

    Raises:
        NotReady: the run changed nothing at one of `paths`.
    """
    if not paths:
        return changed
    chosen: set[str] = set()
    for path in paths:
        top = posixpath.normpath(path)
        matches = {one for one in changed if top in {".", one} or one.startswith(f"{top}/")}
        if not matches:
            hint = f"nothing was undone; it changed {join_paths(sorted(changed), _NAMED)}"
            raise NotReady(f"the run {run} changed nothing at {path}", hint=hint)
        chosen |= matches
    return chosen
