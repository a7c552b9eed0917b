"""Change the project, all or nothing."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from code_commit_workspace.errors import NotReady
from code_commit_workspace.project_tree import ProjectTree
from code_commit_workspace.records import Change
from code_commit_workspace.transaction import disk
from code_commit_workspace.transaction.disk import Step, no_step
from code_commit_workspace.transaction.journal import ACTIVE, DONE, STAGING, Journal
from code_commit_workspace.transaction.plan import Plan
from code_commit_workspace.transaction.recover import recover_with
from code_commit_workspace.transaction.stage import stage
from code_commit_workspace.transaction.survey import Survey, Target, Write, survey


def apply(tree: ProjectTree, home: Path, changes: Sequence[Change], *, step: Step = no_step) -> None:
    """Make all `changes`, or none. Roll back first what an earlier run left half done.

    A file keeps its permission bits. A folder that loses its last file is removed. A file that already has the wanted
    content is not touched. Links are neither followed nor replaced. `home` is the state folder.

    Raises:
        NotReady: a change cannot be made; the message names it and the reason, and the project is unchanged. Or
            something blocks the rollback of an earlier change.
    """
    replace(tree, home, [Write(change.path, change.content) for change in changes], over_links=False, step=step)


def replace(
    tree: ProjectTree, home: Path, writes: Sequence[Write], *, over_links: bool = True, step: Step = no_step
) -> None:
    """Do what `apply` does, for writes that may set permission bits and make, replace and remove links.

    Raises:
        NotReady: as `apply`.
    """
    with Journal(home) as journal:
        recover_with(tree, journal, step)
        doing = _Doing("looked at")
        try:
            found = survey(tree, writes, journal.private_folder, over_links=over_links)
            if found.targets:
                _carry_out(tree, journal, found, doing, step)
        except OSError as error:
            raise doing.failed(error) from error


@dataclass(slots=True)
class _Doing:
    """The current operation, for error messages and for the rollback."""

    what: str
    path: str = ""
    touched: set[str] = field(default_factory=set)

    def begin(self, what: str, path: str = "") -> None:
        self.what, self.path = what, path

    def failed(self, error: OSError) -> NotReady:
        # Use the text of errno alone: the names in the error are the journal's, and mean nothing to a user.
        cause = os.strerror(error.errno) if error.errno else str(error)
        return NotReady(
            f"{self.path or 'the change'} could not be {self.what}: {cause}",
            hint="no file was changed; remove the cause and start again",
        )


def _carry_out(tree: ProjectTree, journal: Journal, found: Survey, doing: _Doing, step: Step) -> None:
    try:
        step("begin")
        doing.begin("staged in the journal")
        folder = journal.begin()
        try:
            plan = stage(tree, found, folder, step)
            step("into force")
            journal.move(STAGING, ACTIVE)
            journal.flush()
            _change(tree, folder, plan, found, doing, step)
        finally:
            os.close(folder)
        doing.begin("committed")
        step("commit")
        journal.move(ACTIVE, DONE)
    except BaseException as error:
        from code_commit_workspace.transaction.rollback import abandon

        abandon(tree, journal, f"{doing.path or 'the change'} could not be {doing.what}: {error}", doing.touched, step)
        raise
    step("prune")
    with suppress(OSError):  # the change is complete; the next start cleans up
        journal.flush()
        journal.drop(DONE)


def _change(tree: ProjectTree, folder: int, plan: Plan, found: Survey, doing: _Doing, step: Step) -> None:
    for target in found.targets:
        if target.write.content is None:
            _remove(tree, target, doing, step)
    for path, _mode in reversed(found.gone):
        _remove_folder(tree, path, doing, step, needed=path in found.must_go)
    for path in found.made:
        doing.begin("made", path)
        step(f"mkdir {path}")
        doing.touched.add(path)
        with tree.parent(path) as (parent, name):
            os.mkdir(name, 0o777, dir_fd=parent)
    placed: dict[str, os.stat_result] = {}
    for number, target in enumerate(found.targets):
        if target.write.content is not None:
            placed[target.write.path] = _put(tree, folder, target, number, plan, doing, step)
    _check_placed(tree, found, placed, doing)
    doing.begin("made durable")
    step("flush")
    changed = [target.write.path for target in found.targets]
    disk.flush_parents(tree, [*changed, *found.made, *(path for path, _mode in found.gone)])


def _remove(tree: ProjectTree, target: Target, doing: _Doing, step: Step) -> None:
    path = target.write.path
    doing.begin("removed", path)
    step(f"unlink {path}")
    with tree.parent(path) as (parent, name):
        _unchanged(parent, name, target)
        doing.touched.add(path)
        os.unlink(name, dir_fd=parent)


def _remove_folder(tree: ProjectTree, path: str, doing: _Doing, step: Step, *, needed: bool) -> None:
    doing.begin("removed", path)
    step(f"rmdir {path}")
    try:
        with tree.parent(path) as (parent, name):
            doing.touched.add(path)
            os.rmdir(name, dir_fd=parent)
    except OSError as error:
        # It holds something else or is a mount point: it stays, unless a file needs its place.
        if needed or error.errno not in {errno.ENOTEMPTY, errno.EEXIST, errno.EBUSY}:
            raise


def _put(
    tree: ProjectTree, folder: int, target: Target, number: int, plan: Plan, doing: _Doing, step: Step
) -> os.stat_result:
    path = target.write.path
    doing.begin("written", path)
    step(f"rename {path}")
    with tree.parent(path) as (parent, name):
        _unchanged(parent, name, target)
        doing.touched.add(path)
        return disk.place(folder, f"new-{number}", parent, name, plan.beside(number))


def _unchanged(parent: int, name: str, target: Target) -> None:
    """Raise if somebody else changed the file since the survey."""
    try:
        now: os.stat_result | None = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        now = None
    if _identity(now) != _identity(target.before):
        raise OSError(errno.ESTALE, "it was changed by somebody else meanwhile")


def _identity(status: os.stat_result | None) -> tuple[int, ...] | None:
    if status is None:
        return None
    return status.st_dev, status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns


def _check_placed(tree: ProjectTree, found: Survey, placed: dict[str, os.stat_result], doing: _Doing) -> None:
    """Check that each path leads to the file just written: somebody may have moved its folder away meanwhile."""
    for target in found.targets:
        path = target.write.path
        doing.begin("found in its place again", path)
        if path in placed:
            now = tree.lstat(path)
            if now is None or (now.st_dev, now.st_ino) != (placed[path].st_dev, placed[path].st_ino):
                raise OSError(errno.ESTALE, "it was changed by somebody else meanwhile")
