"""Roll back the active journal. Each step can be repeated, so a kill in the middle does no harm."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

from code_commit_workspace.errors import CodeCommitError, NotReady
from code_commit_workspace.files.open_flags import OLD_FILE
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.move import contents, disk
from code_commit_workspace.move.disk import Step
from code_commit_workspace.move.journal import ACTIVE, DONE, STAGING, Journal
from code_commit_workspace.move.line import remove_line
from code_commit_workspace.move.parse_plan import read_plan
from code_commit_workspace.move.plan import FileStep, Plan
from code_commit_workspace.words import join_paths

_NAMED = 20  # paths in one message


class RolledBack(NamedTuple):
    """How many files a change had, and which of them stay, because somebody changed them since."""

    files: int
    changed_since: Sequence[str]


def roll_back(
    tree: ProjectTree,
    journal: Journal,
    step: Step,
    only: Collection[str] | None = None,
) -> RolledBack:
    """Roll back the changes of the active journal, then close it.

    `only` are the touched paths, if they are known. The log keeps the line of a response if files
    stay as somebody changed them: an undo of it can then bring back what was there before.

    Raises:
        NotReady: the journal is damaged, and nothing was touched; or the paths in the message
            cannot be restored, and all others are. The journal stays active.
        OSError: a disk operation failed.
    """
    folder = _open(journal)
    try:
        plan = _checked_plan(journal, folder)
        rollback = _Rollback(tree, folder, plan, step)
        rollback.run(only)
        if rollback.failures:
            raise NotReady(
                "an earlier change was interrupted, and these paths cannot be restored: "
                f"{join_paths(rollback.failures, _NAMED)}",
                hint="create missing folders, or fix the cause, then run again; all other files "
                "are restored",
            )
        step("flush")
        files = [entry.path for entry in plan.files]
        folders = [path for path, _mode in plan.gone]
        disk.flush_parents(tree, files + folders)
        if plan.log and not (plan.keeps_line and rollback.changed_since):
            step("remove the line")
            remove_line(journal.home, plan.log, plan.log_size)
    finally:
        os.close(folder)
    step("close the journal")
    if journal.has(DONE):
        journal.drop(DONE)
    journal.move(ACTIVE, DONE)
    journal.flush()
    step("drop the journal")
    with suppress(OSError):  # all is restored; the next start cleans up
        journal.drop(DONE)
    return RolledBack(len(plan.files), rollback.changed_since)


def abandon(
    tree: ProjectTree,
    journal: Journal,
    failure: str,
    touched: Collection[str],
    step: Step,
) -> Sequence[str]:
    """Restore the project after a `failure`, unless the journal is already closed.

    A closed journal means that the change is complete.

    Return the files that stay, because somebody changed them since.

    Raises:
        NotReady: some files could not be restored. The journal stays active.
    """
    changed_since: Sequence[str] = ()
    if journal.has(ACTIVE):
        try:
            changed_since = roll_back(tree, journal, step, only=touched).changed_since
        except (CodeCommitError, OSError) as error:
            cause = error.message if isinstance(error, CodeCommitError) else str(error)
            raise NotReady(
                f"{failure}; and some files could not be restored: {cause}",
                hint="the journal is kept: fix the cause, then run again to restore the rest",
            ) from error
    with suppress(OSError):
        journal.drop(STAGING)
    return changed_since


def _open(journal: Journal) -> int:
    try:
        return journal.open(ACTIVE)
    except OSError as error:
        raise _damaged(journal, str(error)) from error


def _checked_plan(journal: Journal, folder: int) -> Plan:
    """Read the plan and check that every old file exists, before the first step."""
    try:
        plan = read_plan(folder, journal.private_folder)
        for number, entry in enumerate(plan.files):
            if entry.old != "absent":
                _check_old(folder, f"old-{number}", entry)
    except (OSError, ValueError) as error:
        raise _damaged(journal, str(error)) from error
    return plan


def _check_old(folder: int, name: str, entry: FileStep) -> None:
    mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
        raise ValueError(f"the old content of {entry.path} is not a file")
    if entry.old == "copied" and contents.digest(folder, name) != entry.old_digest:
        raise ValueError(f"the old content of {entry.path} is damaged")


def _damaged(journal: Journal, why: str) -> NotReady:
    return NotReady(
        f"the journal of an interrupted run cannot be used: {why}",
        hint=f"check the project with `git status` and `git diff`, fix unfinished changes, "
        f"then delete {journal.path / ACTIVE}",
    )


class _ChangedSinceError(Exception):
    """What is at a path has neither the old nor the new state of the plan.

    Somebody else changed it, so it stays.
    """


class _Rollback:
    def __init__(self, tree: ProjectTree, folder: int, plan: Plan, step: Step) -> None:
        self._tree = tree
        self._folder = folder
        self._plan = plan
        self._step = step
        self.failures: list[str] = []  # paths, each with the reason
        self.changed_since: list[str] = []
        self._made = frozenset(plan.made)
        self._old_paths = {entry.path for entry in plan.files if entry.old != "absent"}

    def run(self, only: Collection[str] | None) -> None:
        """Roll back everything possible.

        New files are removed first, which makes room for old ones. `only` are the touched paths;
        None means all.
        """
        files = [
            (number, entry)
            for number, entry in enumerate(self._plan.files)
            if only is None or entry.path in only
        ]
        for number, entry in files:
            with self._noting_failure(entry.path):
                self._clear(number, entry)
        for path in reversed(self._plan.made):
            if only is None or path in only:
                with self._noting_failure(path):
                    self._unmake(path)
        for path, mode in self._plan.gone:
            if only is None or path in only:
                with self._noting_failure(path):
                    self._make(path, mode)
        for number, entry in files:
            if entry.old != "absent":
                with self._noting_failure(entry.path):
                    self._put_back(number, entry)

    @contextmanager
    def _noting_failure(self, path: str) -> Iterator[None]:
        """Note the path if the block fails, or finds that somebody else changed it."""
        try:
            yield
        except _ChangedSinceError:
            if path not in self.changed_since:
                self.changed_since.append(path)
        except OSError as error:
            self.failures.append(f"{path} ({error.strerror or error})")

    def _clear(self, number: int, entry: FileStep) -> None:
        """Remove a file that this plan created."""
        if not self._folder_exists(entry.path, strict=entry.old == "absent"):
            return
        with self._tree.parent(entry.path) as (parent, name):
            self._step(f"clear {entry.path}")
            disk.remove(parent, self._plan.temporary_name(number))
            if entry.old == "absent" and _is_new(parent, name, entry.new):
                os.unlink(name, dir_fd=parent)

    def _folder_exists(self, path: str, *, strict: bool) -> bool:
        """Return whether the folder of `path` exists. It may be missing if the plan explains that.

        Raises:
            OSError: with `strict`, it is missing or not a folder, and the plan does not
                explain it. Another program may have moved it, with our files in it.
        """
        parts = path.split("/")
        for end in range(1, len(parts)):
            folder = "/".join(parts[:end])
            status = self._tree.lstat(folder)
            if status is None or not stat.S_ISDIR(status.st_mode):
                if strict:
                    self._require_explained(folder, missing=status is None)
                return False
        return True

    def _require_explained(self, folder: str, *, missing: bool) -> None:
        """Raise if the plan does not explain that a folder is missing or not a folder."""
        if missing and folder not in self._made:
            raise FileNotFoundError(errno.ENOENT, f"the folder {folder} is gone")
        if not missing and folder not in self._old_paths:
            raise NotADirectoryError(errno.ENOTDIR, f"{folder} is no longer a folder")

    def _unmake(self, path: str) -> None:
        if not self._folder_exists(path, strict=True):
            return
        self._step(f"unmake {path}")
        try:
            with self._tree.parent(path) as (parent, name):
                os.rmdir(name, dir_fd=parent)
        except OSError as error:
            # It was not created yet, is an old file again, or contains files of another program.
            if error.errno not in {errno.ENOENT, errno.ENOTDIR, errno.ENOTEMPTY, errno.EEXIST}:
                raise

    def _make(self, path: str, mode: int) -> None:
        with self._tree.parent(path) as (parent, name):
            self._step(f"make {path}")
            with suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=parent)
        with self._tree.folder(path) as handle:
            if stat.S_IMODE(os.fstat(handle).st_mode) & 0o777 != mode:
                os.fchmod(handle, mode)

    def _put_back(self, number: int, entry: FileStep) -> None:
        """Put the old file back in its place."""
        old = f"old-{number}"
        back = f"back-{number}"
        self._folder_exists(entry.path, strict=True)
        with self._tree.parent(entry.path) as (parent, name):
            if self._is_old(parent, name, old, entry):
                return
            self._step(f"put back {entry.path}")
            disk.remove(self._folder, back)
            if entry.old == "linked":
                os.link(
                    old,
                    back,
                    src_dir_fd=self._folder,
                    dst_dir_fd=self._folder,
                    follow_symlinks=False,
                )
            else:
                self._copy(old, back, entry)
            self._step(f"rename back {entry.path}")
            disk.place(self._folder, back, parent, name, self._plan.temporary_name(number))

    def _copy(self, old: str, back: str, entry: FileStep) -> None:
        contents.copy(self._folder, old, self._folder, back, private=True)
        if entry.old_digest.startswith("file "):
            handle = os.open(back, OLD_FILE, dir_fd=self._folder)
            try:
                os.fchmod(handle, entry.old_mode)
                os.utime(handle, ns=(entry.old_time, entry.old_time))
            finally:
                os.close(handle)

    def _is_old(self, parent: int, name: str, old: str, entry: FileStep) -> bool:
        """Return whether the old file is in its place.

        Raises:
            _ChangedSinceError: the file there is neither the old nor the new one.
        """
        try:
            now = os.stat(name, dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:
            return False
        before = os.stat(old, dir_fd=self._folder, follow_symlinks=False)
        if os.path.samestat(now, before):
            return True
        digest = contents.digest(parent, name)
        if digest == contents.digest(self._folder, old):
            mode = entry.old_mode if entry.old == "copied" else before.st_mode & 0o777
            return stat.S_ISLNK(now.st_mode) or now.st_mode & 0o777 == mode
        if digest is None or digest != entry.new:
            raise _ChangedSinceError
        return False


def _is_new(parent: int, name: str, new: str | None) -> bool:
    """Return whether the file at `name` is the one that this plan put there.

    Raises:
        _ChangedSinceError: another file is there.
    """
    try:
        digest = contents.digest(parent, name)
    except FileNotFoundError:
        return False
    if digest is not None and digest == new:
        return True
    if stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
        return False  # a file was going to replace this folder, but had not done so yet
    raise _ChangedSinceError
