"""Access the project's files through handles of folders: no link is followed, even in a race."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import groupby
from pathlib import Path
from typing import BinaryIO, Literal, Self

from code_commit_workspace.files.open_flags import FOLDER, OLD_FILE, ROOT_FOLDER
from code_commit_workspace.stop import STOP

# In bytes.
_SMALL = 1 << 16
_PIECE = 1 << 20
_LARGEST = 1 << 28
_NOT_NAMES = frozenset({"", ".", ".."})
_HERE = re.compile(r"(?:\./+)+")  # begins a path, and leads nowhere


class ProjectTree:
    """The tree below `root`.

    Paths are relative and separated by `/`; `./a` and `a` are one path.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.handle = os.open(root, ROOT_FOLDER)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the root's handle."""
        os.close(self.handle)

    @contextmanager
    def folder(self, path: str) -> Iterator[int]:
        """Open the folder at `path` and yield its handle; "" is the root.

        Raises:
            FileNotFoundError: the folder or one above it does not exist.
            NotADirectoryError: the folder or a part of the path is a file or a link.
            ValueError: `path` is not a plain relative path.
        """
        names: Sequence[str] = ()
        if path:
            names = parts_of(normalise_path(path))
        with self._open(names) as handle:
            yield handle

    @contextmanager
    def _open(self, names: Sequence[str]) -> Iterator[int]:
        """Open the folders with `names`, each in the one before, and yield the handle of the last.

        Without names, yield the root's handle.
        """
        handle = self.handle
        try:
            for name in names:
                below = os.open(name, FOLDER, dir_fd=handle)
                if handle != self.handle:
                    os.close(handle)
                handle = below
            yield handle
        finally:
            if handle != self.handle:
                os.close(handle)

    def entries(self, folder: str) -> list[tuple[str, bool]]:
        """Return the path of each entry of `folder`, and whether it is a folder.

        Raises:
            OSError, ValueError: as for `folder`.
        """
        with self.folder(folder) as handle, os.scandir(handle) as entries:
            return [
                (f"{folder}/{entry.name}", entry.is_dir(follow_symlinks=False)) for entry in entries
            ]

    @contextmanager
    def parent(self, path: str) -> Iterator[tuple[int, str]]:
        """Yield a handle on the folder that holds `path`, and the last name of `path`.

        Raises:
            FileNotFoundError: a folder of the path does not exist.
            NotADirectoryError: a part of the path is a file or a link.
            ValueError: `path` is not a plain relative path.
        """
        *folders, name = parts_of(normalise_path(path))
        with self._open(folders) as handle:
            yield handle, name

    def lstat(self, path: str) -> os.stat_result | None:
        """Return the status of `path` without following links, or None when it does not exist.

        Raises:
            NotADirectoryError: a part of the path is a file or a link.
        """
        try:
            with self.parent(path) as (folder, name):
                return os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def size(self, path: str) -> int:
        """Return the bytes of the regular file at `path`; 0 if there is none, or behind a link."""
        try:
            status = self.lstat(path)
        except OSError:
            return 0
        if status is None or not stat.S_ISREG(status.st_mode):
            return 0
        return status.st_size

    def read(self, path: str, limit: int | None = None, *, start: int = 0) -> bytes | None:
        """Return the content of the regular file at `path`, or None when it does not exist.

        Begin at the byte `start`. With `limit`, return at most so many bytes.

        Raises:
            OSError: it is not a regular file, cannot be read, or a part of the path is a link.
                Without `limit`, also if it has more than 256 MiB, as a sparse file may.
        """
        try:
            with self.parent(path) as (folder, name), open_regular(name, folder=folder) as file:
                if limit is None:
                    limit = _whole_size(file, path)
                file.seek(start)
                return file.read(limit)
        except FileNotFoundError:
            return None

    def contents(self, paths: Sequence[str], limit: int) -> Iterator[tuple[str, bytes | None]]:
        """Yield the content of each of `paths`; faster than `read` for sorted paths.

        The content is None for a path that is not a regular file, unreadable, larger than `limit`
        bytes, behind a link, or not a plain relative path.
        """
        for folder, group in groupby(paths, _folder_of):
            with ExitStack() as stack:
                try:
                    handle = stack.enter_context(self.folder(folder))
                except (OSError, ValueError):
                    yield from ((path, None) for path in group)
                    continue
                start = len(folder) + 1 if folder else 0
                for path in group:
                    STOP.check()
                    yield path, _content(handle, normalise_path(path)[start:], limit)


def open_regular(
    path: str | Path,
    mode: Literal["rb", "r+b"] = "rb",
    *,
    folder: int | None = None,
    follow: bool = False,
) -> BinaryIO:
    """Open a regular file that is not trusted, without waiting if it is a pipe.

    With `follow`, `path` may be a link. `folder` is the handle of the folder that `path` is
    relative to.

    Raises:
        OSError: it cannot be opened, or is not a regular file.
    """

    def opener(name: str, flags: int) -> int:
        flags |= os.O_NONBLOCK
        if not follow:
            flags |= os.O_NOFOLLOW
        handle = os.open(name, flags, dir_fd=folder)
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise OSError(errno.EINVAL, "not a regular file", name)
        return handle

    return open(path, mode, opener=opener)


def normalise_path(path: str) -> str:
    """Return `path` without a leading `./`. A `Change` and a tree call this for every path."""
    if path.startswith("./"):
        return _HERE.sub("", path, count=1)
    return path


def _folder_of(path: str) -> str:
    return normalise_path(path).rpartition("/")[0]


def parts_of(path: str) -> list[str]:
    """Split `path` at its slashes.

    Raises:
        ValueError: a part is empty, `.` or `..`, or the path is absolute.
    """
    parts = path.split("/")
    if not _NOT_NAMES.isdisjoint(parts):
        raise ValueError(f"not a plain relative path: {path!r}")
    return parts


def _whole_size(file: BinaryIO, path: str) -> int:
    """Return how many bytes to read: the size of `file` now, even if it grows meanwhile.

    Raises:
        OSError: it is too large to be held in memory.
    """
    size = os.fstat(file.fileno()).st_size
    if size > _LARGEST:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), path)
    return max(size, _SMALL)  # some file systems know no sizes


def _content(folder: int, name: str, limit: int) -> bytes | None:
    try:
        handle = os.open(name, OLD_FILE, dir_fd=folder)
    except (OSError, ValueError):
        return None
    try:
        content = os.pread(handle, _SMALL, 0)  # fails for a folder or a pipe
        if 0 < len(content) < _SMALL:
            return content if len(content) <= limit else None
        status = os.fstat(handle)  # a device yields nothing, or as much as requested
        if not stat.S_ISREG(status.st_mode) or status.st_size > limit:
            return None
        while len(content) <= limit and (more := os.pread(handle, _PIECE, len(content))):
            content += more
    except OSError:
        return None
    finally:
        os.close(handle)
    return content if len(content) <= limit else None
