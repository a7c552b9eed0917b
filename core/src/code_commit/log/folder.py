"""The run folder, `logs/<yyyy-mm-dd-hh-mm-ss>-<workflow>/`, and the names of the files in it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from code_commit.plugin_api.project_files import LOGS, plain_name
from code_commit_workspace import OutputFolder

EVENTS = "events.jsonl"
DOCUMENT = "run.json"


def create_folder(root: Path, workflow: str, at: float) -> OutputFolder:
    """Create the folder of a run that starts at `at`, in seconds since the epoch.

    Raises:
        NotReady: `logs` cannot be written, is a link, or is not a folder.
    """
    return OutputFolder.make(root / LOGS, f"{stamp(at)}-{plain_name(workflow)}")


def stamp(at: float) -> str:
    """Return the local time at the start of a run's name."""
    return time.strftime("%Y-%m-%d-%H-%M-%S", time.localtime(at))


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
