"""Read runs back from `run.json`, or from their events."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from code_commit.plugin_api import find_run, read_summary, run_folders

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
    document = read_summary(folder)
    exit_code = document.get("exit_code")
    return PastRun(
        run=folder.name,
        folder=folder,
        state=document["state"],
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
