"""Clear what a process must not leave behind in a project."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from code_commit_workspace.files.open_flags import ANY_KIND
from code_commit_workspace.files.path_kinds import kind_of
from code_commit_workspace.process.hard_links import SET_UID, unusual_files

_SHOWN = 200  # characters of a path of several thousand


def reopen(folder: Path, status: os.stat_result) -> bool:
    """Give `folder` back the mode of `status`, taken before, if its owner lost a right to use it.

    Return whether it did.
    """
    try:
        now = folder.stat()
        is_closed = status.st_mode & ~now.st_mode & stat.S_IRWXU
        if not is_closed or not os.path.samestat(status, now):
            return False
        folder.chmod(stat.S_IMODE(status.st_mode))
    except OSError:
        return False  # it is gone, or another account owns it
    return True


def remove_special(path: Path) -> str:
    """Remove the pipe, device or socket at `path`, where git would wait; return a remark."""
    try:
        kind = kind_of(path.lstat())
        path.unlink()
    except OSError as error:
        return f"cannot be removed: {error.strerror}"
    return f"was {kind}"


def clear_new_bits(top: str, *, skip: Iterable[str], since: int) -> Iterator[tuple[str, str]]:
    """Clear the set-uid and set-gid bits that files below `top` got after `since`.

    `since` is in nanoseconds. Leave out the folders `skip`. Yield these files with a remark, and
    folders that are too deep to be searched. A closed folder of this account is opened meanwhile.

    In the sandbox, the filter of system calls refuses the set-uid bit. It cannot refuse the other
    one: folders need it, and a filter does not know what a path leads to.
    """
    unsearched: list[tuple[str, OSError]] = []
    files = unusual_files(top, skip=skip, onerror=lambda *error: unsearched.append(error))
    for path, status in files:
        if status.st_mode & SET_UID and status.st_ctime_ns >= since:
            _set_mode(path, stat.S_IMODE(status.st_mode) & ~SET_UID)
            yield path, "was set-uid" if status.st_mode & stat.S_ISUID else "was set-gid"
    for folder, error in unsearched:
        if error.errno == errno.ENAMETOOLONG:
            yield f"{folder[:_SHOWN]}…", f"cannot be searched: {error.strerror}"
        elif (mode := _open_up(folder)) is not None:
            try:
                yield from clear_new_bits(folder, skip=skip, since=since)
            finally:
                _set_mode(folder, mode)


def _open_up(folder: str) -> int | None:
    """Let this account search `folder`; return its mode, or None if that is not possible.

    What this account cannot open, no process of it can fill.
    """
    try:
        status = os.lstat(folder)
    except OSError:
        return None
    mode = stat.S_IMODE(status.st_mode)
    is_closed = stat.S_ISDIR(status.st_mode) and stat.S_IRWXU & ~mode
    if is_closed and _set_mode(folder, mode | stat.S_IRWXU):
        return mode
    return None


def _set_mode(path: str, mode: int) -> bool:
    try:
        handle = os.open(path, ANY_KIND)
        try:
            # By its handle: the name could be a link by now.
            Path(f"/proc/self/fd/{handle}").chmod(mode)
        finally:
            os.close(handle)
    except OSError:
        return False  # it is gone, or another account owns it
    return True
