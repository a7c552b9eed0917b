"""A line in a log of the state folder that tells of a change of files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from code_commit_workspace.files.open_flags import APPENDED_FILE
from code_commit_workspace.move.home import open_folder, open_home

LOGS = "runs"  # the folder of the logs, in the state folder


class Line(NamedTuple):
    """A line of the log `file`, whose lines before it have `size` bytes.

    `keeps` is whether a rollback keeps it if files stay because somebody changed them since.
    """

    file: str
    size: int
    text: bytes
    keeps: bool = True


def append_line(home: Path, line: Line) -> None:
    """Append `line`, safe against a loss of power. What a kill left of another one is removed.

    Raises:
        OSError: it cannot be written; the log has the lines before it.
    """
    with _opened(home, line.file, os.O_CREAT) as handle:
        _shorten(handle, line.size)
        try:
            text = memoryview(line.text)
            while text:
                text = text[os.write(handle, text) :]
            os.fsync(handle)
        except OSError:
            _shorten(handle, line.size)
            raise


def remove_line(home: Path, file: str, size: int) -> None:
    """Remove what the log `file` has beyond its first `size` bytes.

    Raises:
        OSError: that is not possible.
    """
    with suppress(FileNotFoundError), _opened(home, file) as handle:
        _shorten(handle, size)
        os.fsync(handle)


def _shorten(handle: int, size: int) -> None:
    if os.fstat(handle).st_size > size:
        os.ftruncate(handle, size)


@contextmanager
def _opened(home: Path, file: str, create: int = 0) -> Iterator[int]:
    above = open_home(home)
    try:
        folder = open_folder(above, LOGS)
    finally:
        os.close(above)
    try:
        handle = os.open(file, APPENDED_FILE | create, 0o600, dir_fd=folder)
        try:
            if create:
                os.fsync(folder)
            yield handle
        finally:
            os.close(handle)
    finally:
        os.close(folder)
