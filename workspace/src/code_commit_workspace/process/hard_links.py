"""Replace files of the project that have another name outside of it.

uv and pnpm fill a project with hard links to the user's cache. A process that writes to such a file
changes the cache, and with it every other project. So copies replace these files.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.open_flags import FOLDER, ROOT_FOLDER
from code_commit_workspace.stop import STOP

SET_UID = stat.S_ISUID | stat.S_ISGID


def files_below(top: str, *, skip: Iterable[str] = ()) -> Iterator[tuple[str, os.stat_result]]:
    """Yield every file below `top` with its status.

    Do not follow links; leave out the folders `skip`.
    """
    left_out = frozenset(skip)
    ahead = [top]
    while ahead:
        STOP.check()
        try:
            with os.scandir(ahead.pop()) as entries:
                for entry in entries:
                    if not entry.is_dir(follow_symlinks=False):
                        with suppress(OSError):  # it is gone
                            yield entry.path, entry.stat(follow_symlinks=False)
                    elif entry.path not in left_out:
                        ahead.append(entry.path)
        except OSError:
            continue


def unusual_files(
    top: str,
    *,
    skip: Iterable[str],
    onerror: Callable[[str, OSError], object] | None = None,
) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the regular files below `top` that have several names, or set-uid or set-gid bits.

    They come with their status. Do not follow links; leave out the folders `skip`. Each folder that
    cannot be searched is passed to `onerror`. All other files cost as little as possible: there may
    be hundreds of thousands. From a handle on its folder, the system finds a file faster than by
    its path.
    """
    left_out = frozenset(skip)
    ahead = [top]
    while ahead:
        STOP.check()
        folder = ahead.pop()
        try:
            with (
                _opened(folder, ROOT_FOLDER if folder == top else FOLDER) as handle,
                os.scandir(handle) as entries,
            ):
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        path = f"{folder}/{entry.name}"
                        if path not in left_out:
                            ahead.append(path)
                        continue
                    try:
                        status = entry.stat(follow_symlinks=False)
                    except OSError:
                        continue  # it is gone
                    is_unusual = status.st_nlink > 1 or status.st_mode & SET_UID
                    if is_unusual and stat.S_ISREG(status.st_mode):
                        yield f"{folder}/{entry.name}", status
        except OSError as error:
            if onerror is not None:
                onerror(folder, error)


@contextmanager
def _opened(folder: str, flags: int) -> Iterator[int]:
    handle = os.open(folder, flags)
    try:
        yield handle
    finally:
        os.close(handle)


def linked_elsewhere(root: str, *, skip: Iterable[str]) -> list[list[str]]:
    """Return the files below `root` that have more names elsewhere.

    Each is the list of its names below `root`.
    """
    names_of: dict[tuple[int, int, int], list[str]] = {}
    for path, status in unusual_files(root, skip=skip):
        if status.st_nlink > 1:
            file = (status.st_nlink, status.st_dev, status.st_ino)
            names_of.setdefault(file, []).append(path)
    return [names for (links, *_), names in names_of.items() if len(names) < links]


def replace_by_copies(files: Iterable[list[str]]) -> None:
    """Replace each result of `linked_elsewhere` with a copy under the same names.

    Raises:
        NotReady: one cannot be replaced.
    """
    for names in files:
        first = names[0]
        try:
            if os.lstat(first).st_nlink <= len(names):
                continue  # replaced meanwhile
            copy = _beside(first)
            shutil.copy2(first, copy, follow_symlinks=False)
            status = os.lstat(first)
            with suppress(PermissionError):
                os.chown(copy, status.st_uid, status.st_gid, follow_symlinks=False)
            copy.chmod(stat.S_IMODE(status.st_mode))
            for name in names[1:]:
                link = _beside(name)
                os.link(copy, link)
                link.replace(name)
            copy.replace(first)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise NotReady(
                f"{first} is hard-linked to a file outside the project, and cannot be copied: "
                f"{error.strerror}",
                hint="remove it, or pass --sandbox off",
            ) from error


def _beside(path: str) -> Path:
    return Path(path).with_name(f".{uuid4().hex}")
