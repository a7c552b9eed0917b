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


@dataclass(frozen=True, slots=True)
class PastRun:
    """One run.

    `document` has the fields of `run.json`; `outcome` and `exit_code` are None until the run
    finishes.
    """

    run: str
    folder: Path
    state: Literal["running", "finished", "killed"]
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
    workflow, outcome, exit_code, summary = (
        document.get(name) for name in ("workflow", "outcome", "exit_code", "summary")
    )
    named = re.fullmatch(r"[\d-]{20}(.+?)(-\d+)?", folder.name)
    return PastRun(
        run=folder.name,
        folder=folder,
        state="finished" if document["state"] == "finished" else "running" if running else "killed",
        workflow=workflow if isinstance(workflow, str) else named[1] if named else "",
        outcome=outcome if isinstance(outcome, str) else None,
        exit_code=exit_code if isinstance(exit_code, int) else None,
        summary=summary if isinstance(summary, str) else "",
        document=document,
    )


def _finished_document(folder: Path) -> dict[str, Any] | None:
    """Return `run.json` of a finished run; of a running one, the file is older than the events."""
    try:
        with open_run_file(folder, "run.json") as file:
            document = json.loads(file.read(_LARGEST))
        json.dumps(document, allow_nan=False)  # refuses NaN and infinite numbers
    except (OSError, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) and document.get("state") == "finished" else None


def _replay_events(folder: Path) -> dict[str, Any]:
    records: list[Record] = []
    with suppress(OSError):
        records.extend(read_records(folder / "events.jsonl"))
    return run_document(records)
