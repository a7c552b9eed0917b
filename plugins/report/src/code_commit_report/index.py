"""The index of all runs: their costs and outcomes over time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from code_commit.plugin_api import (
    Record,
    Usage,
    cost_of,
    is_running,
    read_records,
    run_document,
    run_folders,
)
from code_commit_report.page import GOOD, render, tone
from code_commit_report.text import read_shown

_DOCUMENT_LIMIT = 4 * 1024 * 1024
_HIGHEST = 1e12  # seconds or USD; higher values are invalid: a log may contain anything
CHART_HEIGHT, CHART_WIDTH = 100, 1000


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
    known = [entry.cost for entry in entries if entry.cost is not None]
    return render(
        "index.html.jinja",
        entries=list(reversed(entries)),
        columns=_columns(entries),
        reached=sum(entry.reached for entry in entries),
        total=sum(known),
        unknown=len(entries) - len(known),
        highest_cost=max(known, default=0.0),
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
        columns.append(
            Column(
                entry,
                round(index * step, 2),
                round(step * 0.8, 2),
                round(room - height, 2),
                round(height, 2),
            )
        )
    return columns


def _entry(folder: Path) -> Entry:
    document = _document(folder)
    seconds, attempts = document.get("seconds"), document.get("attempts")
    rows = [row for row in _rows(document.get("models")) if isinstance(row, dict)]
    finished = document.get("state") == "finished"
    state = "finished" if finished else "running" if is_running(folder) else "killed"
    return Entry(
        run=folder.name,
        workflow=str(document.get("workflow") or folder.name[20:]),
        query=str(document.get("query") or ""),
        outcome=str(document.get("outcome") or state),
        summary=str(document.get("summary") or ""),
        started=_started(folder),
        seconds=_finite(seconds.get("total") if isinstance(seconds, dict) else 0.0) or 0.0,
        attempts=attempts if isinstance(attempts, int) else 0,
        models=", ".join(str(row.get("model")) for row in rows),
        cost=_cost(document, rows),
        has_report=(folder / "report.html").is_file(),
    )


def _started(folder: Path) -> str:
    return folder.name[:10] + " " + folder.name[11:19].replace("-", ":")


def _cost(document: Mapping[str, Any], rows: list[dict[str, Any]]) -> float | None:
    """Return USD from the run, else computed by model; a failed call without tokens counts as zero."""
    calls = document.get("calls")
    if isinstance(calls, dict) and (_whole(calls.get("started")) or 0) > (
        _whole(calls.get("finished")) or 0
    ):
        return None
    cost = _finite(document.get("cost_usd"))
    if cost is not None:
        return cost
    total = 0.0
    for row in rows:
        tokens = row.get("tokens")
        if row.get("provider") == "replay" or not isinstance(tokens, dict):
            continue
        usage = Usage(
            _whole(tokens.get("input")),
            _whole(tokens.get("output")),
            cache_read=_whole(tokens.get("cache_read")) or 0,
            cache_write=_whole(tokens.get("cache_write")) or 0,
        )
        all_failed = isinstance(calls, dict) and calls.get("failed") == calls.get("finished")
        if usage.input is None and all_failed and document.get("outcome") != "interrupted":
            continue
        cost = cost_of(str(row.get("model")), usage)
        if cost is None:
            return None
        total += cost
    return total


def _document(folder: Path) -> dict[str, Any]:
    """Return the summary of a run; for an unfinished or killed run, from its events, which are
    newer.
    """
    shown = read_shown(folder, "run.json", _DOCUMENT_LIMIT)
    try:
        document = json.loads(shown.head) if shown and not shown.left_out else {}
    except (ValueError, RecursionError):
        document = {}
    if isinstance(document, dict) and document.get("state") == "finished":
        return document
    records: list[Record] = []
    with suppress(OSError):
        records.extend(read_records(folder / "events.jsonl"))
    return run_document(records)


def _rows(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _finite(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and abs(value) < _HIGHEST else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
