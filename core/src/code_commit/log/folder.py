"""The run folder, `logs/<yyyy-mm-dd-hh-mm-ss>-<workflow>/`, and the names of the files in it.

It is kept open by its descriptor, so that no link can lead out of it.
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
from code_commit.plugin_api.run_files import LOGS, plain_name

EVENTS = "events.jsonl"
DOCUMENT = "run.json"

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
_MORE = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC


class RunFolder:
    """An open run folder. Prompts and replies hold the project's code: nobody but the user may read it (mode 0700)."""

    def __init__(self, path: Path, handle: int) -> None:
        self.path = path
        self.handle = handle
        self._names = threading.Lock()
        self._reserved: set[str] = set()

    @classmethod
    def create(cls, root: Path, workflow: str, at: float) -> Self:
        """Make the folder of a run that starts at `at`, seconds since the epoch.

        Raises:
            NotReady: `logs` cannot be written, is a link, or is not a folder.
        """
        plain_name(workflow)
        try:
            logs = _open_logs(root)
            try:
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
            return cls(path / taken, os.open(taken, _FOLDER, dir_fd=logs))
        raise AssertionError("counting does not end")

    def reserve(self, *names: str) -> int:
        """Reserve `names`; return n, the least number for which none of them, numbered by `counted`, is taken.

        Raises:
            ValueError: one of them is not a plain name.
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
        """Write a file in place: what a killed run leaves of it is worth keeping.

        Raises:
            OSError: it cannot be written, or a link stands in its place.
        """
        self._put(os.open(name, _NEW_FILE, 0o600, dir_fd=self.handle), content)

    def append(self, name: str, content: bytes) -> None:
        """Add to the end of a file.

        Raises:
            OSError: it cannot be written, is not there, or a link stands in its place.
        """
        self._put(os.open(name, _MORE, dir_fd=self.handle), content)

    @staticmethod
    def _put(handle: int, content: bytes) -> None:
        with open(handle, "wb", buffering=0) as file:
            rest = memoryview(content)
            while rest:
                rest = rest[file.write(rest) :]

    def replace(self, name: str, content: bytes) -> None:
        """Write a file so that readers see either the old content or the new, never a part.

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
    try:
        parent = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise NotReady(f"cannot open {root}: {error.strerror}", hint="start in the project's folder") from error
    try:
        try:
            os.mkdir(LOGS, dir_fd=parent)
        except FileExistsError:
            mode = os.stat(LOGS, dir_fd=parent, follow_symlinks=False).st_mode
            if not stat.S_ISDIR(mode):
                what = "a link" if stat.S_ISLNK(mode) else "not a folder"
                raise NotReady(f"{root / LOGS} is {what}", hint="move it away: the run log is kept there") from None
        logs = os.open(LOGS, _FOLDER, dir_fd=parent)
    finally:
        os.close(parent)
    try:
        _hide_from_git(logs)
    except OSError:
        os.close(logs)
        raise
    return logs


def _hide_from_git(logs: int) -> None:
    """Hide the logs from `git status`. A `.gitignore` that exists belongs to the user and stays."""
    try:
        handle = os.open(".gitignore", _NEW_FILE | os.O_EXCL, 0o666, dir_fd=logs)
    except FileExistsError:
        return
    with open(handle, "wb") as file:  # noqa: PTH123 - a handle
        file.write(b"*\n")


def stamp(at: float) -> str:
    """Return the local time that a run's name begins with."""
    return time.strftime("%Y-%m-%d-%H-%M-%S", time.localtime(at))


def counted(name: str, count: int) -> str:
    """Return `name` for its `count`th use: `query.txt`, `query-2.txt`, `query-3.txt`."""
    if count == 1:
        return name
    stem, dot, suffix = name.rpartition(".")
    return f"{stem}-{count}.{suffix}" if dot else f"{name}-{count}"


@dataclass(frozen=True, slots=True)
class CallFiles:
    """The files of one model call: the prompt, the text of the reply, the whole reply as JSON.

    `parts` is for a reply that is more than text: its parts, as `parts_to_json` writes them.
    """

    request: str
    response: str
    raw: str
    parts: str


def call_files(number: int | None, label: str) -> CallFiles:
    """Name the files of a call; `number` None leaves the number out.

    `call_files(1, "initial-query")` begins with `1-initial-query.txt` (seed 002), `call_files(None, "query")` with
    `query.txt` (seed 001).
    """
    stem = numbered(number, label)
    return CallFiles(f"{stem}.txt", f"{stem}-response.txt", f"{stem}-response.json", f"{stem}-response-parts.json")


def numbered(number: int | None, name: str) -> str:
    """Put a call's number in front of `name`. A build shares the number of the call before it: `1-build.txt`."""
    return name if number is None else f"{number}-{name}"


def failure_text(error: str) -> str:
    """Return the content of the response file of a failed call."""
    return f"ERROR\n{error}\n"
