"""Folders in a project for output, such as the logs of runs: create one, and list them.

git does not show them.
"""

from __future__ import annotations

import os
import re
import stat
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.open_flags import EMPTIED_FILE, FOLDER, NEW_FILE

_ROOM = 64 * 1024  # bytes
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
# Of a folder. A shell needs no quotes for it: hints and completion show it.
_NAME = re.compile(r"(\d{4}(?:-\d\d){5})-([\w.+@=,-]+?)(?:-(\d+))?")
_LONGEST_NAME = 200  # bytes


class OutputFolder:
    """An open folder that only the user may read (mode 0700).

    It stays open as a descriptor, so that no link leads out of it. A file without a name keeps some
    room for the last writes, after `free_room`, if the disk is full by then. File systems without
    such files keep none.
    """

    def __init__(self, path: Path, handle: int) -> None:
        self.path = path
        self.handle = handle
        self._names = threading.Lock()
        self._reserved: set[str] = set()
        self._room = -1
        try:
            self._room = os.open(
                ".", os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600, dir_fd=handle
            )
            os.posix_fallocate(self._room, 0, _ROOM)
        except (OSError, AttributeError):  # other systems than Linux have neither
            self.free_room()

    @classmethod
    def make(cls, above: Path, name: str, *, at: float) -> Self:
        """Make a folder in `above`, which is made if it is missing.

        Its name is the local time `at` and `name`: `2026-01-31-12-00-00-NAME`, with `-2` and so on
        if that is taken.

        Raises:
            NotReady: `above` cannot be written, is a link, or is not a folder.
            ValueError: `name` is not a plain name.
        """
        name = f"{time.strftime('%Y-%m-%d-%H-%M-%S', time.localtime(at))}-{plain_name(name)}"
        try:
            handle = _open_or_make(above)
            try:
                _hide_from_git(handle)
                return cls._make_in(handle, above, name)
            finally:
                os.close(handle)
        except OSError as error:
            raise NotReady(
                f"cannot write {above}: {error.strerror}",
                hint="make it writable, or free some space there",
            ) from error

    @classmethod
    def _make_in(cls, handle: int, above: Path, name: str) -> Self:
        free_name = name
        count = 1
        while True:
            try:
                os.mkdir(free_name, 0o700, dir_fd=handle)
            except FileExistsError:
                count += 1
                free_name = f"{name}-{count}"
            else:
                return cls(above / free_name, os.open(free_name, FOLDER, dir_fd=handle))

    def reserve(self, *names: str) -> int:
        """Reserve `names`, and return the lowest count for which `counted` gives unused names.

        Raises:
            ValueError: one is not a plain name.
        """
        names = tuple(map(plain_name, names))
        with self._names:
            count = 1
            while not self._reserved.isdisjoint(counted(name, count) for name in names):
                count += 1
            self._reserved.update(counted(name, count) for name in names)
            return count

    def write(self, name: str, content: bytes) -> None:
        """Write a file in place; a killed run may leave part of it.

        Raises:
            OSError: it cannot be written, or is a link.
            ValueError: `name` is not a plain name.
        """
        _write(os.open(plain_name(name), EMPTIED_FILE, 0o600, dir_fd=self.handle), content)

    def append(self, name: str, content: bytes, *, create: bool = False) -> None:
        """Append to a file; with `create`, create it first if it does not exist.

        Raises:
            OSError: it cannot be written, does not exist, or is a link.
            ValueError: `name` is not a plain name.
        """
        flags = _APPEND
        if create:
            flags |= os.O_CREAT
        _write(os.open(plain_name(name), flags, 0o600, dir_fd=self.handle), content)

    def replace(self, name: str, content: bytes) -> None:
        """Replace a file atomically: readers see the old content or the new.

        Raises:
            OSError: it cannot be written, and is as before.
            ValueError: `name` is not a plain name.
        """
        new = f".{plain_name(name)}.new"
        try:
            _write(os.open(new, EMPTIED_FILE, 0o600, dir_fd=self.handle), content)
            os.replace(new, name, src_dir_fd=self.handle, dst_dir_fd=self.handle)
        except OSError:
            with suppress(OSError):
                os.unlink(new, dir_fd=self.handle)
            raise

    def free_room(self) -> None:
        """Free the room that is kept. A second call does nothing."""
        room, self._room = self._room, -1
        if room >= 0:
            os.close(room)

    def close(self) -> None:
        """Close the folder. A second call does nothing."""
        self.free_room()
        handle, self.handle = self.handle, -1
        if handle >= 0:
            os.close(handle)


def output_folders(above: Path) -> list[Path]:
    """Return the folders that `OutputFolder.make` made in `above`, the oldest first.

    Raises:
        NotReady: `above` cannot be read.
    """
    if not _is_plain_folder(above):
        return []
    try:
        folders = [
            path
            for path in above.iterdir()
            if _NAME.fullmatch(path.name) and _is_plain_folder(path)
        ]
    except OSError as error:
        raise NotReady(
            f"{above} cannot be read: {error.strerror}", hint="make it readable for your account"
        ) from error
    return sorted(folders, key=_age)


def plain_name(name: str) -> str:
    """Return `name` if it is valid for a file or folder of output.

    Raises:
        ValueError: it is empty, too long or hidden, or contains a slash or an unprintable
            character.
    """
    if (
        not name
        or name.startswith(".")
        or "/" in name
        or not name.isprintable()
        or len(name.encode()) > _LONGEST_NAME
    ):
        raise ValueError(f"invalid name for a file or folder of output: {name!r}")
    return name


def counted(name: str, count: int | str) -> str:
    """Return `name` with a number, as in `query-2.txt`, or with a word, as in `query-try-1.txt`.

    The first name has no number.
    """
    if count == 1:
        return name
    stem, dot, suffix = name.rpartition(".")
    if not dot:
        return f"{name}-{count}"
    return f"{stem}-{count}.{suffix}"


def _age(folder: Path) -> tuple[str, int, str]:
    """Return a sort key: the time, then the number of the folder among those of the same second."""
    match = _NAME.fullmatch(folder.name)
    if match is None:
        return folder.name, 1, ""
    return match[1], int(match[3] or 1), folder.name


def _open_or_make(path: Path) -> int:
    parent = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            os.mkdir(path.name, 0o700, dir_fd=parent)  # names of runs are private, too
        except FileExistsError:
            mode = os.stat(path.name, dir_fd=parent, follow_symlinks=False).st_mode
            if not stat.S_ISDIR(mode):
                kind = "a link" if stat.S_ISLNK(mode) else "not a folder"
                raise NotReady(
                    f"{path} is {kind}", hint="move it away: code-commit writes the run log there"
                ) from None
        return os.open(path.name, FOLDER, dir_fd=parent)
    finally:
        os.close(parent)


def _hide_from_git(handle: int) -> None:
    """Hide the files from `git status`, unless the user has a `.gitignore` there."""
    try:
        file = os.open(".gitignore", NEW_FILE, 0o666, dir_fd=handle)
    except FileExistsError:
        return
    _write(file, b"*\n")


def _write(handle: int, content: bytes) -> None:
    with open(handle, "wb") as file:
        file.write(content)


def _is_plain_folder(path: Path) -> bool:
    """Return whether `path` itself is a folder, not a link to one."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False
