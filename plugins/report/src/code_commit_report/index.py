"""The index of all runs: their costs and outcomes over time."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from code_commit.plugin_api import (
    Record,
    Usage,
    cost_of,
    is_running,
    read_records,
    run_document,
    run_folders,
)
from code_commit_report.fields import Data, integer_of, number_of, object_of, objects_of
from code_commit_report.page import GOOD, render, tone
from code_commit_report.text import read_shown

_DOCUMENT_LIMIT = 4 * 1024 * 1024
CHART_HEIGHT = 100
CHART_WIDTH = 1000


@dataclass(frozen=True, slots=True)
class Entry:
    """A run in the index. `cost` is None if a part of it is unknown."""

    run: str
    workflow: str
    query: str
    outcome: str
    summary: str
    started: str
    seconds: float
    attempts: int
    models: str
    cost: float | None
    has_report: bool

    @property
    def reached(self) -> bool:
        """Return whether it reached its goal."""
        return self.outcome in GOOD


@dataclass(frozen=True, slots=True)
class Column:
    """A run in the chart: its position, and the height of its cost."""

    entry: Entry
    x: float
    width: float
    y: float
    height: float


def index_page(logs: Path) -> str:
    """Return the page for the runs in `logs`."""
    entries = [_entry(folder) for folder in run_folders(logs.parent)]
    costs = [entry.cost for entry in entries if entry.cost is not None]
    return render(
        "index.html.jinja",
        entries=list(reversed(entries)),
        columns=_columns(entries),
        reached=sum(entry.reached for entry in entries),
        total=sum(costs),
        unknown=len(entries) - len(costs),
        highest_cost=max(costs, default=0.0),
        others=sorted({tone(entry.outcome) for entry in entries} - {"good"}),
    )


def _columns(entries: list[Entry]) -> list[Column]:
    highest_cost = max((entry.cost or 0.0 for entry in entries), default=0.0) or 1.0
    step = CHART_WIDTH / max(len(entries), 12)
    # The lower part shows the outcome, so that a run without cost is visible, too.
    room = CHART_HEIGHT * 0.85
    columns = []
    for index, entry in enumerate(entries):
        height = room * (entry.cost or 0.0) / highest_cost
        column = Column(
            entry=entry,
            x=round(index * step, 2),
            width=round(step * 0.8, 2),
            y=round(room - height, 2),
            height=round(height, 2),
        )
        columns.append(column)
    return columns


def _entry(folder: Path) -> Entry:
    document = _document(folder)
    models = objects_of(document, "models")
    return Entry(
        run=folder.name,
        workflow=str(document.get("workflow") or folder.name[20:]),
        query=str(document.get("query") or ""),
        outcome=str(document.get("outcome") or _state(document, folder)),
        summary=str(document.get("summary") or ""),
        started=_started(folder),
        seconds=number_of(object_of(document, "seconds"), "total") or 0.0,
        attempts=integer_of(document, "attempts") or 0,
        models=", ".join(str(model.get("model")) for model in models),
        cost=_cost(document, models),
        has_report=(folder / "report.html").is_file(),
    )


def _state(document: Data, folder: Path) -> str:
    if document.get("state") == "finished":
        return "finished"
    return "running" if is_running(folder) else "killed"


def _started(folder: Path) -> str:
    date = folder.name[:10]
    time = folder.name[11:19].replace("-", ":")
    return f"{date} {time}"


def _cost(document: Data, models: list[Data]) -> float | None:
    """Return USD from the run, or else computed by model; None if a part of it is unknown."""
    calls = object_of(document, "calls")
    if (integer_of(calls, "started") or 0) > (integer_of(calls, "finished") or 0):
        return None
    cost = number_of(document, "cost_usd")
    if cost is not None:
        return cost
    all_failed = calls.get("failed") == calls.get("finished")
    is_free = bool(calls) and all_failed and document.get("outcome") != "interrupted"
    total = 0.0
    for model in models:
        if model.get("provider") == "replay" or not isinstance(model.get("tokens"), dict):
            continue
        usage = _usage(object_of(model, "tokens"))
        if usage.input is None and is_free:
            continue  # a failed call without tokens
        cost = cost_of(str(model.get("model")), usage)
        if cost is None:
            return None
        total += cost
    return total


def _usage(tokens: Data) -> Usage:
    return Usage(
        input=integer_of(tokens, "input"),
        output=integer_of(tokens, "output"),
        cache_read=integer_of(tokens, "cache_read") or 0,
        cache_write=integer_of(tokens, "cache_write") or 0,
    )


def _document(folder: Path) -> Data:
    """Return the summary of a run.

    That of an unfinished or killed run is made from its events, which are newer.
    """
    document = _written_document(folder)
    if document.get("state") == "finished":
        return document
    records: list[Record] = []
    with suppress(OSError):
        records.extend(read_records(folder / "events.jsonl"))
    return run_document(records)


def _written_document(folder: Path) -> Data:
    shown = read_shown(folder, "run.json", _DOCUMENT_LIMIT)
    if shown is None or shown.left_out:
        return {}
    try:
        document = json.loads(shown.head)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
