"""The run folder, `logs/<yyyy-mm-dd-hh-mm-ss>-<workflow>/`, and the names of the files in it."""

from __future__ import annotations

import itertools
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from code_commit.plugin_api.project_files import LOGS, plain_name
from code_commit_workspace import OutputFolder

EVENTS = "events.jsonl"
DOCUMENT = "run.json"


class RunFolder(OutputFolder):
    """An open run folder. Only the user may read it: prompts and replies hold the project's code."""

    def __init__(self, path: Path, handle: int) -> None:
        super().__init__(path, handle)
        self._names = threading.Lock()
        self._reserved: set[str] = set()

    @classmethod
    def create(cls, root: Path, workflow: str, at: float) -> Self:
        """Create the folder of a run that starts at `at`, in seconds since the epoch.

        Raises:
            NotReady: `logs` cannot be written, is a link, or is not a folder.
        """
        return cls.make(root / LOGS, f"{stamp(at)}-{plain_name(workflow)}")

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
