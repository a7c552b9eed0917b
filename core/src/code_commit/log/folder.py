"""The run folder, `logs/<yyyy-mm-dd-hh-mm-ss>-<workflow>/`, and the names of the files in it.

It stays open as a descriptor, so that no link leads out of it.
"""

from __future__ import annotations

import itertools
import os
import stat
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from code_commit.plugin_api.errors import NotReady
from code_commit.plugin_api.project_files import LOGS, plain_name

EVENTS = "events.jsonl"
DOCUMENT = "run.json"

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC


class RunFolder:
    """An open run folder. Only the user may read it (mode 0700): prompts and replies hold the project's code."""

    def __init__(self, path: Path, handle: int) -> None:
        self.path = path
        self.handle = handle
        self._names = threading.Lock()
        self._reserved: set[str] = set()

    @classmethod
    def create(cls, root: Path, workflow: str, at: float) -> Self:
        """Create the folder of a run that starts at `at`, in seconds since the epoch.

        Raises:
            NotReady: `logs` cannot be written, is a link, or is not a folder.
        """
        plain_name(workflow)
        try:
            logs = _open_logs(root)
            try:
                _hide_from_git(logs)
                return cls._create_in(logs, root / LOGS, f"{stamp(at)}-{workflow}")
            finally:
                os.close(logs)
        except OSError as error:
            raise NotReady(
                f"cannot write {root / LOGS}: {error.strerror}", hint="make room for the run log there"
            ) from error

    @classmethod
    def _create_in(cls, logs: int, path: Path, name: str) -> Self:
        for count in itertools.count(1):
            taken = name if count == 1 else f"{name}-{count}"
            try:
                os.mkdir(taken, 0o700, dir_fd=logs)
            except FileExistsError:
                continue
            return cls(path / taken, os.open(taken, _FOLDER_FLAGS, dir_fd=logs))
        raise AssertionError("counting does not end")

    def reserve(self, *names: str) -> int:
        """Reserve `names`; return the lowest count for which no name, numbered by `counted`, is taken.

        Raises:
            ValueError: a name is not a plain name.
        """
        for name in names:
            plain_name(name)
        with self._names:
            for count in itertools.count(1):
                wanted = {counted(name, count) for name in names}
                if not wanted & self._reserved:
                    self._reserved |= wanted
                    return count
        raise AssertionError("counting does not end")

    def write(self, name: str, content: bytes) -> None:
        """Write a file in place, so that a killed run leaves a part of it.

        Raises:
            OSError: it cannot be written, or is a link.
        """
        _write(os.open(name, _NEW_FILE_FLAGS, 0o600, dir_fd=self.handle), content)

    def append(self, name: str, content: bytes) -> None:
        """Append to a file.

        Raises:
            OSError: it cannot be written, does not exist, or is a link.
        """
        _write(os.open(name, _APPEND, dir_fd=self.handle), content)

    def replace(self, name: str, content: bytes) -> None:
        """Replace a file atomically: readers see the old content or the new.

        Raises:
            OSError: it cannot be written.
        """
        new = f".{name}.new"
        self.write(new, content)
        os.replace(new, name, src_dir_fd=self.handle, dst_dir_fd=self.handle)

    def close(self) -> None:
        """Close the folder. A second call does nothing."""
        handle, self.handle = self.handle, -1
        if handle >= 0:
            os.close(handle)


def _open_logs(root: Path) -> int:
    parent = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            os.mkdir(LOGS, dir_fd=parent)
        except FileExistsError:
            mode = os.stat(LOGS, dir_fd=parent, follow_symlinks=False).st_mode
            if not stat.S_ISDIR(mode):
                what = "a link" if stat.S_ISLNK(mode) else "not a folder"
                raise NotReady(f"{root / LOGS} is {what}", hint="move it away: the run log is kept there") from None
        return os.open(LOGS, _FOLDER_FLAGS, dir_fd=parent)
    finally:
        os.close(parent)


def _hide_from_git(logs: int) -> None:
    """Hide the logs from `git status`, unless the user has a `.gitignore` there."""
    try:
        handle = os.open(".gitignore", _NEW_FILE_FLAGS | os.O_EXCL, 0o666, dir_fd=logs)
    except FileExistsError:
        return
    _write(handle, b"*\n")


def _write(handle: int, content: bytes) -> None:
    with open(handle, "wb") as file:
        file.write(content)


def stamp(at: float) -> str:
    """Return the local time at the start of a run's name."""
    return time.strftime("%Y-%m-%d-%H-%M-%S", time.localtime(at))


def counted(name: str, count: int) -> str:
    """Return `name` numbered by its use: `query.txt`, `query-2.txt`, `query-3.txt`."""
    if count == 1:
        return name
    stem, dot, suffix = name.rpartition(".")
    return f"{stem}-{count}.{suffix}" if dot else f"{name}-{count}"


@dataclass(frozen=True, slots=True)
class CallFiles:
    """The files of one model call: the prompt, the response, and the whole reply as JSON.

    `parts` holds the parts of a completion that is more than text, as `parts_to_json` writes them.
    """

    request: str
    response: str
    raw: str
    parts: str


def call_files(number: int | None, label: str) -> CallFiles:
    """Return the names of the files of a call, without the number if `number` is None.

    The prompt of `call_files(1, "initial-query")` is `1-initial-query.txt`, that of
    `call_files(None, "query")` is `query.txt`.
    """
    stem = numbered(number, label)
    return CallFiles(f"{stem}.txt", f"{stem}-response.txt", f"{stem}-response.json", f"{stem}-response-parts.json")


def numbered(number: int | None, name: str) -> str:
    """Return `name` after the number of a call. A build shares the number of the call before it: `1-build.txt`."""
    return name if number is None else f"{number}-{name}"


def failure_text(error: str) -> str:
    """Return the content of the response file of a failed call."""
    return f"ERROR\n{error}\n"
