"""Allow one run at a time in a project."""

from __future__ import annotations

import fcntl
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.open_flags import LOCK_FILE, OLD_FILE, ROOT_FOLDER
from code_commit_workspace.files.path_kinds import kind_of
from code_commit_workspace.transaction.home import open_home, unlock

_NAME = "lock"
_HINT = "wait for it to end, or stop it, then run again"


class ProjectLock:
    """A lock that is held during the `with` block, or until the process ends in any way.

    The file stays: if it were deleted, two runs could hold locks on two files of the same name.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        self._handle = -1

    def __enter__(self) -> Self:
        """Take the lock.

        Raises:
            NotReady: another run holds it, or the file cannot be opened.
        """
        path = self._home / _NAME
        folder = open_home(self._home)
        try:
            handle = os.open(_NAME, LOCK_FILE, 0o600, dir_fd=folder)
        except OSError as error:
            raise NotReady(f"the lock {path} cannot be opened: {error.strerror}") from error
        finally:
            os.close(folder)
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            os.close(handle)
            raise NotReady(
                f"the lock {path} is {kind_of(status)}, not a file",
                hint="delete it, then run again",
            )
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = _holder(handle)
            os.close(handle)
            if not isinstance(error, BlockingIOError):
                raise NotReady(f"the lock {path} cannot be taken: {error.strerror}") from error
            raise NotReady(
                f"another run is using this project{holder}",
                hint=_HINT,
            ) from None
        self._handle = handle
        self.name("")
        return self

    def __exit__(self, *_: object) -> None:
        handle = self._handle
        self._handle = -1
        unlock(handle)

    def name(self, run: str) -> None:
        """Record the name of the run that holds the lock, for the message to other processes."""
        text = json.dumps({"pid": os.getpid(), "run": run}).encode()
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, text, 0)


@contextmanager
def only_writer(root: Path) -> Iterator[None]:
    """Hold, during the block, a lock that programs with different private folders share.

    It is on the `.git` of the project: a build may lock the project's folder for its own ends.
    Without a `.git`, it is on the folder. Network file systems that lock no folder have no such
    lock.

    Raises:
        NotReady: another program holds it.
    """
    try:
        handle = os.open(root / ".git", OLD_FILE)
    except OSError:
        handle = os.open(root, ROOT_FOLDER)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise NotReady(f"another program is using the project {root}", hint=_HINT) from None
        except OSError:
            pass  # the lock in the state folder is held nevertheless
        yield
    finally:
        unlock(handle)


def _holder(handle: int) -> str:
    """Return the process and run that hold the lock, or an empty text if its file has no names."""
    try:
        holder = json.loads(os.pread(handle, 4096, 0))
        process = f": process {int(holder['pid'])}"
        run = str(holder["run"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""
    return f"{process}, run {run}" if run else process
