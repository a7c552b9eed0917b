"""The project's files through directory handles, so that no link is ever followed, whatever happens meanwhile."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import groupby
from pathlib import Path
from typing import Self

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class ProjectTree:
    """The tree below `root`. Paths are relative, with `/` between their parts."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the root's handle back."""
        os.close(self.handle)

    @contextmanager
    def folder(self, path: str) -> Iterator[int]:
        """Give a handle on the folder at `path`; "" is the root.

        Raises:
            FileNotFoundError: it or a folder on the way does not exist.
            NotADirectoryError: it or a part of the way is a file or a link.
            ValueError: `path` is not a plain relative path.
        """
        handle = self.handle
        try:
            for folder in parts_of(path) if path else ():
                below = os.open(folder, _FOLDER, dir_fd=handle)
                if handle != self.handle:
                    os.close(handle)
                handle = below
            yield handle
        finally:
            if handle != self.handle:
                os.close(handle)

    @contextmanager
    def parent(self, path: str) -> Iterator[tuple[int, str]]:
        """Give a handle on the folder that holds `path`, and the last name in it.

        Raises:
            FileNotFoundError: a folder on the way does not exist.
            NotADirectoryError: a part of the way is a file or a link.
            ValueError: `path` is not a plain relative path.
        """
        *folders, name = parts_of(path)
        with self.folder("/".join(folders)) as handle:
            yield handle, name

    def lstat(self, path: str) -> os.stat_result | None:
        """Return what stands at `path`, a link as itself, or None when nothing can stand there.

        Raises:
            NotADirectoryError: a part of the way is a file or a link.
        """
        try:
            with self.parent(path) as (folder, name):
                return os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def read(self, path: str, limit: int | None = None) -> bytes | None:
        """Return the content of the regular file at `path`, or None when there is none.

        With `limit`, no more than its first `limit` bytes.

        Raises:
            OSError: it is not a regular file, cannot be read, or a part of the way is a link.
        """
        try:
            with self.parent(path) as (folder, name):
                handle = os.open(name, _FILE, dir_fd=folder)
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)  # a folder's cannot be made a file
            raise OSError(errno.EINVAL, "not a regular file", path)
        with os.fdopen(handle, "rb") as file:
            return file.read(-1 if limit is None else limit)

    def contents(self, paths: Sequence[str], limit: int) -> Iterator[tuple[str, bytes | None]]:
        """Give the content of each of `paths`, one by one, faster than `read` where they are sorted.

        None for what is no regular file, cannot be read, is larger than `limit` bytes, or lies behind a link.
        """
        for folder, group in groupby(paths, lambda path: path.rpartition("/")[0]):
            with ExitStack() as stack:
                try:
                    handle = stack.enter_context(self.folder(folder))
                except OSError:
                    yield from ((path, None) for path in group)
                    continue
                for path in group:
                    yield path, _content(handle, path.rpartition("/")[2], limit)


def _content(folder: int, name: str, limit: int) -> bytes | None:
    try:
        handle = os.open(name, _FILE, dir_fd=folder)
    except OSError:
        return None
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_size > limit:
            return None
        content = os.read(handle, found.st_size + 1)
        while len(content) <= limit and (more := os.read(handle, limit)):
            content += more
    except OSError:
        return None
    finally:
        os.close(handle)
    return content if len(content) <= limit else None


def parts_of(path: str) -> list[str]:
    """Cut `path` at its slashes.

    Raises:
        ValueError: a part is empty, `.` or `..`, or the path is absolute.
    """
    parts = path.split("/")
    if any(part in {"", ".", ".."} for part in parts):
        raise ValueError(f"not a plain relative path: {path!r}")
    return parts
