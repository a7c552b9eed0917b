"""Change the project, all or nothing."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.move import disk
from code_commit_workspace.move.disk import Step, no_step
from code_commit_workspace.move.journal import ACTIVE, DONE, STAGING, Journal
from code_commit_workspace.move.line import Line, append_line
from code_commit_workspace.move.plan import Plan
from code_commit_workspace.move.recover import recover_with
from code_commit_workspace.move.stage import stage
from code_commit_workspace.move.survey import Survey, Target, Write, survey
from code_commit_workspace.words import join_paths

_NAMED = 20  # paths in one message
_CHANGED = "something else changed it at the same time"


class ChangedMeanwhile(NotReady):
    """A file was changed while the change set was prepared; nothing was written."""


def replace(
    tree: ProjectTree,
    home: Path,
    writes: Sequence[Write],
    *,
    seen: Mapping[str, os.stat_result] | None = None,
    line: Line | None = None,
    step: Step = no_step,
) -> None:
    """Do all `writes`, or none. First roll back the change of an interrupted run.

    A folder that loses its last file is removed. Links are not followed, but replaced and removed.
    `home` is the state folder. With `seen`, the status of each existing file, refuse to touch a
    file that was changed since it had that status. The log has `line` if the change is done, also
    after a kill.

    Raises:
        NotReady: a write cannot be done; the message names its path and the reason, and the
            project is unchanged.
    """
    with Journal(home) as journal:
        recover_with(tree, journal, step)
        operation = _Operation("inspected")
        try:
            plan = survey(tree, writes, journal.private_folder)
            if seen is not None:
                _require_seen(plan.targets, seen, operation)
            if plan.targets:
                _Replacement(tree, journal, plan, operation, line, step).run()
            elif line:
                append_line(home, line)
        except OSError as error:
            # Only the text of errno: the file names in the error are those of the journal, which
            # users do not know.
            if _is_stale(error):
                raise ChangedMeanwhile(
                    f"{operation}: {_CHANGED}", hint="no file was changed; run again"
                ) from error
            cause = os.strerror(error.errno) if error.errno else str(error)
            raise NotReady(
                f"{operation}: {cause}", hint="no file was changed; fix the cause, then run again"
            ) from error


@dataclass(slots=True)
class _Operation:
    """The current operation, for error messages."""

    verb: str  # a participle, such as "removed"
    path: str = ""

    def __str__(self) -> str:
        return f"{self.path or 'the change'} could not be {self.verb}"


class _Replacement:
    """One change set. `_touched` are the paths that it may have changed, for the rollback."""

    def __init__(
        self,
        tree: ProjectTree,
        journal: Journal,
        survey: Survey,
        operation: _Operation,
        line: Line | None,
        step: Step,
    ) -> None:
        self._tree = tree
        self._journal = journal
        self._survey = survey
        self._operation = operation
        self._line = line
        self._step = step
        self._touched: set[str] = set()

    def run(self) -> None:
        """Put all changes on disk, or restore the old files."""
        journal = self._journal
        try:
            self._begin("staged in the journal", step="begin")
            folder = journal.begin()
            try:
                plan = stage(self._tree, self._survey, folder, self._line, self._step)
                self._step("into force")
                journal.move(STAGING, ACTIVE)
                journal.flush()
                self._log()
                self._change(folder, plan)
            finally:
                os.close(folder)
            self._begin("completed", step="commit")
            journal.move(ACTIVE, DONE)
        except BaseException as error:
            from code_commit_workspace.move.rollback import abandon

            failure = f"{self._operation}: {error}"
            changed_since = abandon(self._tree, journal, failure, self._touched, self._step)
            if changed_since and isinstance(error, OSError) and not _is_stale(error):
                raise NotReady(
                    f"{failure}; all files are as they were, but for those that somebody else "
                    f"changed since: {join_paths(changed_since, _NAMED)}"
                ) from error
            raise
        self._step("prune")
        with suppress(OSError):  # the change is complete; the next start cleans up
            journal.flush()
            journal.drop(DONE)

    def _log(self) -> None:
        if self._line:
            self._begin("logged", step="log")
            append_line(self._journal.home, self._line)

    def _begin(self, verb: str, path: str = "", *, step: str) -> None:
        self._operation.verb = verb
        self._operation.path = path
        self._step(step)

    def _change(self, folder: int, plan: Plan) -> None:
        survey = self._survey
        for target in survey.targets:
            if target.write.content is None:
                self._remove(target)
        removed_folders = [path for path, _mode in survey.gone]
        for path in reversed(removed_folders):
            self._remove_folder(path, needed=path in survey.must_go)
        for path in survey.made:
            self._make_folder(path)
        placed: dict[str, os.stat_result] = {}
        for number, target in enumerate(survey.targets):
            if target.write.content is not None:
                temporary = plan.temporary_name(number)
                placed[target.write.path] = self._put(target, folder, f"new-{number}", temporary)
        self._check(placed)
        self._begin("made durable", step="flush")
        files = [target.write.path for target in survey.targets]
        disk.flush_parents(self._tree, [*files, *survey.made, *removed_folders])

    def _make_folder(self, path: str) -> None:
        self._begin("made", path, step=f"mkdir {path}")
        self._touched.add(path)
        with self._tree.parent(path) as (parent, name):
            os.mkdir(name, 0o777, dir_fd=parent)

    def _remove(self, target: Target) -> None:
        path = target.write.path
        self._begin("removed", path, step=f"unlink {path}")
        with self._tree.parent(path) as (parent, name):
            _require_unchanged(parent, name, target)
            self._touched.add(path)
            os.unlink(name, dir_fd=parent)

    def _remove_folder(self, path: str, *, needed: bool) -> None:
        self._begin("removed", path, step=f"rmdir {path}")
        try:
            with self._tree.parent(path) as (parent, name):
                self._touched.add(path)
                os.rmdir(name, dir_fd=parent)
        except OSError as error:
            # It contains something else or is a mount point. It stays, unless a file needs its
            # place.
            if needed or error.errno not in {errno.ENOTEMPTY, errno.EEXIST, errno.EBUSY}:
                raise

    def _put(self, target: Target, folder: int, staged: str, temporary: str) -> os.stat_result:
        path = target.write.path
        self._begin("written", path, step=f"rename {path}")
        with self._tree.parent(path) as (parent, name):
            _require_unchanged(parent, name, target)
            self._touched.add(path)
            return disk.place(folder, staged, parent, name, temporary)

    def _check(self, placed: Mapping[str, os.stat_result]) -> None:
        """Check that each path leads to the file just written.

        Another program may have moved its folder.
        """
        self._operation.verb = "found in its place again"
        for path, status in placed.items():
            self._operation.path = path
            now = self._tree.lstat(path)
            if now is None or not os.path.samestat(now, status):
                raise OSError(errno.ESTALE, _CHANGED)


def _is_stale(error: OSError) -> bool:
    return error.errno == errno.ESTALE


def _require_seen(
    targets: Sequence[Target],
    seen: Mapping[str, os.stat_result],
    operation: _Operation,
) -> None:
    """Check that each file still has the status that the caller saw.

    Raises:
        OSError: it was changed, created or removed.
    """
    for target in targets:
        if _identity(target.before) != _identity(seen.get(target.write.path)):
            operation.path = target.write.path
            raise OSError(errno.ESTALE, _CHANGED)


def _require_unchanged(parent: int, name: str, target: Target) -> None:
    """Check that nothing else changed the file since the survey.

    Raises:
        OSError: it was changed, created or removed.
    """
    try:
        now: os.stat_result | None = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        now = None
    if _identity(now) != _identity(target.before):
        raise OSError(errno.ESTALE, _CHANGED)


def _identity(status: os.stat_result | None) -> tuple[int, ...] | None:
    if status is None:
        return None
    return status.st_dev, status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns
