"""Read runs back, from `run.json` or from their events."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from code_commit.log.document import RunDocument
from code_commit.log.folder import DOCUMENT, EVENTS
from code_commit.plugin_api.errors import NotReady
from code_commit.plugin_api.host import RunSummary
from code_commit.plugin_api.run_files import (
    RUN_NAME,
    from_json,
    is_folder,
    is_running,
    open_regular,
    read_records,
    run_folders,
)

_LARGEST = 64 * 1024 * 1024  # bytes of a run.json


def list_runs(root: Path) -> list[RunSummary]:
    """Return every run of the project at `root`, the oldest first; skip other files in `logs`."""
    return [read_run(folder) for folder in run_folders(root)]


def read_run(folder: Path) -> RunSummary:
    """Read a run from `run.json`, or from its events if it is running or was killed.

    Raises:
        NotReady: the folder does not exist.
    """
    if not is_folder(folder):
        raise NotReady(f"there is no run folder {folder}", hint="the folders in logs are the runs")
    document = _finished_document(folder)
    if document is None:
        running = is_running(folder)
        document = _replay_events(folder)
        if document["state"] != "finished":
            document["state"] = "running" if running else "killed"
    return _summary(folder, document)


def _summary(folder: Path, document: Mapping[str, Any]) -> RunSummary:
    names = RUN_NAME.fullmatch(folder.name)
    match document:
        case {"workflow": str(workflow)}:
            pass
        case _:
            workflow = names[2] if names else ""
    outcome, exit_code, summary = (document.get(name) for name in ("outcome", "exit_code", "summary"))
    state = document.get("state")
    return RunSummary(
        run=folder.name,
        folder=folder,
        state=state if state in {"running", "finished"} else "killed",
        workflow=workflow,
        outcome=outcome if isinstance(outcome, str) else None,
        exit_code=exit_code if isinstance(exit_code, int) else None,
        summary=summary if isinstance(summary, str) else "",
        document=document,
    )


def _finished_document(folder: Path) -> dict[str, Any] | None:
    """Return `run.json` of a finished run; of a running one, the file is older than the events."""
    try:
        with open_regular(folder / DOCUMENT) as file:
            document = from_json(file.read(_LARGEST))
    except (OSError, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) and document.get("state") == "finished" else None


def _replay_events(folder: Path) -> dict[str, Any]:
    document = RunDocument()
    with suppress(OSError):
        for record in read_records(folder / EVENTS):
            with suppress(ArithmeticError, AttributeError, LookupError, TypeError, ValueError):  # of another version
                document.receive(record)
    return document.fields
