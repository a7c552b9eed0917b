"""Allow one run at a time in a project."""

from __future__ import annotations

import fcntl
import json
import os
import stat
from pathlib import Path
from typing import Self

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.open_flags import LOCK_FILE
from code_commit_workspace.files.path_kinds import kind_of
from code_commit_workspace.move.home import open_home, unlock

_NAME = "lock"


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
                hint="wait for it to end, or stop it, then run again",
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


def _holder(handle: int) -> str:
    """Return the process that holds the lock, and its run; an empty text if nothing tells them.

    Any process that can open the file may hold the lock, so the system is asked before the file.
    """
    pid, run = _recorded(handle)
    holders = _locking(handle)
    if holders and pid not in holders:
        return f": process {holders[0]}"
    if pid is None:
        return ""
    return f": process {pid}, run {run}" if run else f": process {pid}"


def _recorded(handle: int) -> tuple[int | None, str]:
    try:
        holder = json.loads(os.pread(handle, 4096, 0))
        return int(holder["pid"]), str(holder["run"])
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None, ""


def _locking(handle: int) -> list[int]:
    """Return the processes that hold a lock on a file; none if the system does not tell."""
    status = os.fstat(handle)
    device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}"
    file = f"{device}:{status.st_ino}"
    try:
        rows = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    except OSError:
        return []
    # Such as `1: FLOCK ADVISORY WRITE 7034 fe:01:2491 0 EOF`; the process is 0 if it is hidden.
    return [int(row[4]) for row in rows if row[5:6] == [file] and int(row[4]) > 0]
