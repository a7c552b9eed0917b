"""Read runs back from `run.json`, or from their events."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from code_commit.plugin_api import (
    STOP,
    Record,
    find_run,
    is_running,
    open_run_file,
    read_records,
    run_document,
    run_folders,
)

_LARGEST = 64 * 1024 * 1024  # bytes of a run.json
State = Literal["running", "finished", "killed"]


@dataclass(frozen=True, slots=True)
class PastRun:
    """One run.

    `document` has the fields of `run.json`; `outcome` and `exit_code` are None until the run
    finishes.
    """

    run: str
    folder: Path
    state: State
    workflow: str
    outcome: str | None
    exit_code: int | None
    summary: str
    document: Mapping[str, Any]


def list_runs(root: Path) -> list[PastRun]:
    """Return every run of the project at `root`, the oldest first; skip other files in `logs`."""
    return [read_run(folder) for folder in run_folders(root)]


def named_run(root: Path, name: str) -> PastRun:
    """Return one run: its name, the beginning of one, or `latest`.

    Raises:
        NotReady: there is none, or the beginning fits several.
    """
    return read_run(find_run(root, name))


def read_run(folder: Path) -> PastRun:
    """Read a run from `run.json`, or from its events if it is running or was killed."""
    STOP.check()
    running = is_running(folder)  # first: it may finish meanwhile
    document = _finished_document(folder) or _replay_events(folder)
    state: State = "running" if running else "killed"
    if document["state"] == "finished":
        state = "finished"
    exit_code = document.get("exit_code")
    return PastRun(
        run=folder.name,
        folder=folder,
        state=state,
        workflow=_text(document, "workflow") or _workflow_in(folder.name),
        outcome=_text(document, "outcome"),
        exit_code=exit_code if isinstance(exit_code, int) else None,
        summary=_text(document, "summary") or "",
        document=document,
    )


def _text(document: Mapping[str, Any], name: str) -> str | None:
    """Return a text of the document, or None if it is something else."""
    value = document.get(name)
    return value if isinstance(value, str) else None


def _workflow_in(folder_name: str) -> str:
    """Return the workflow in the name of a run folder, or an empty text."""
    match = re.fullmatch(r"[\d-]{20}(.+?)(-\d+)?", folder_name)
    return match[1] if match else ""


def _finished_document(folder: Path) -> dict[str, Any] | None:
    """Return `run.json` of a finished run; of a running one, the file is older than the events."""
    try:
        with open_run_file(folder, "run.json") as file:
            document = json.loads(file.read(_LARGEST))
        json.dumps(document, allow_nan=False)  # refuses NaN and infinite numbers
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or document.get("state") != "finished":
        return None
    return document


def _replay_events(folder: Path) -> dict[str, Any]:
    records: list[Record] = []
    with suppress(OSError):
        records.extend(read_records(folder / "events.jsonl"))
    return run_document(records)
