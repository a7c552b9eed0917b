"""Roll back the active journal. Each step can be repeated, so a kill in the middle does no harm."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress

from code_commit_workspace.errors import CodeCommitError, NotReady
from code_commit_workspace.files.open_flags import OLD_FILE
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.move import contents, disk
from code_commit_workspace.move.disk import Step
from code_commit_workspace.move.journal import ACTIVE, DONE, STAGING, Journal
from code_commit_workspace.move.parse_plan import read_plan
from code_commit_workspace.move.plan import FileStep, Plan

_NAMED = 20  # paths in one message


def roll_back(
    tree: ProjectTree,
    journal: Journal,
    step: Step,
    only: Collection[str] | None = None,
) -> int:
    """Roll back the changes of the active journal, then close it. Return the number of files in it.

    `only` are the touched paths, if they are known.

    Raises:
        NotReady: the journal is damaged, and nothing was touched; or something blocks the paths in
            the message, and all others are restored. The journal stays active.
        OSError: a disk operation failed.
    """
    folder = _open(journal)
    try:
        plan = _checked_plan(journal, folder)
        blocked = _Rollback(tree, folder, plan, step).run(only)
        if blocked:
            paths = "; ".join(blocked[:_NAMED])
            if len(blocked) > _NAMED:
                paths += f" and {len(blocked) - _NAMED} more"
            raise NotReady(
                f"an earlier change was interrupted, and these paths cannot be restored: {paths}",
                hint="move away what is there now, create missing folders, then run again; "
                "all other files are restored",
            )
        step("flush")
        files = [entry.path for entry in plan.files]
        folders = [path for path, _mode in plan.gone]
        disk.flush_parents(tree, files + folders)
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
    return len(plan.files)


def abandon(
    tree: ProjectTree,
    journal: Journal,
    failure: str,
    touched: Collection[str],
    step: Step,
) -> None:
    """Restore the project after a `failure`, unless the journal is already closed.

    A closed journal means that the change is complete.

    Raises:
        NotReady: some files could not be restored. The journal stays active.
    """
    if journal.has(ACTIVE):
        try:
            roll_back(tree, journal, step, only=touched)
        except (CodeCommitError, OSError) as error:
            cause = error.message if isinstance(error, CodeCommitError) else str(error)
            raise NotReady(
                f"{failure}; and some files could not be restored: {cause}",
                hint="the journal is kept: fix the cause, then run again to restore the rest",
            ) from error
    with suppress(OSError):
        journal.drop(STAGING)


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


class _InTheWayError(Exception):
    """A file has neither the old nor the new state of the plan.

    Another program wrote it, so it stays.
    """


class _Rollback:
    def __init__(self, tree: ProjectTree, folder: int, plan: Plan, step: Step) -> None:
        self._tree = tree
        self._folder = folder
        self._plan = plan
        self._step = step
        self._blocked: list[str] = []
        self._made = frozenset(plan.made)
        self._old_paths = {entry.path for entry in plan.files if entry.old != "absent"}

    def run(self, only: Collection[str] | None) -> list[str]:
        """Roll back everything possible, and return the blocked paths, each with the reason.

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
        return self._blocked

    @contextmanager
    def _noting_failure(self, path: str) -> Iterator[None]:
        """Add the path to the blocked ones if the block fails."""
        try:
            yield
        except _InTheWayError as error:
            self._blocked.append(f"{path} ({error})")
        except OSError as error:
            self._blocked.append(f"{path} ({error.strerror or error})")

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
            _InTheWayError: with `strict`, it is missing or not a folder, and the plan does not
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
        if missing:
            if folder not in self._made:
                raise _InTheWayError(f"the folder {folder} is gone")
        elif folder not in self._old_paths:
            raise _InTheWayError(f"the folder {folder} is no longer a folder")

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
            _InTheWayError: the file there is neither the old nor the new one.
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
            raise _InTheWayError("it was changed since")
        return False


def _is_new(parent: int, name: str, new: str | None) -> bool:
    """Return whether the file at `name` is the one that this plan put there.

    Raises:
        _InTheWayError: another file is there.
    """
    try:
        digest = contents.digest(parent, name)
    except FileNotFoundError:
        return False
    if digest is not None and digest == new:
        return True
    if stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
        return False  # a file was going to replace this folder, but had not done so yet
    raise _InTheWayError("it was changed since")
