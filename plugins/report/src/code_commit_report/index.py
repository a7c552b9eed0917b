"""The list of all runs: their costs and outcomes over time, made when somebody opens it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from code_commit.plugin_api import read_summary, run_folders
from code_commit_report.formats import bill, money
from code_commit_report.frame import END, begin, figures
from code_commit_report.index_line import HEAD, HEAD_OF_NEWER, Entry, entry_of, row, title_of
from code_commit_report.page import render

CHART_HEIGHT = 100
CHART_WIDTH = 1000


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
    entries = [entry_of(folder, read_summary(folder)) for folder in run_folders(logs.parent)]
    reached = sum(entry.reached for entry in entries)
    total = sum(entry.cost for entry in entries)
    highest = max((entry.cost for entry in entries), default=0.0)
    share = f" ({100 * reached / len(entries):.0f} %)" if entries else ""
    complete = all(entry.is_complete for entry in entries)
    boxes = [
        ("Runs", str(len(entries))),
        ("Reached their goal", f"{reached}{share}"),
        ("Undone", str(sum(entry.is_undone for entry in entries))),
        ("Total cost", bill(total, complete=complete)),
        ("Highest cost", money(highest)),
    ]
    body = render(
        "index.html.jinja",
        title=title_of(logs),
        figures=figures(boxes),
        head=HEAD,
        head_of_newer=HEAD_OF_NEWER,
        rows=[row(entry) for entry in reversed(entries)],
        columns=_columns(entries),
        first=entries[0] if entries else None,
        last=entries[-1] if entries else None,
        reached=reached,
        total=total,
        highest=highest,
        others=sorted({entry.tone for entry in entries} - {"good"}),
    )
    return begin(title_of(logs)) + body + END


def _columns(entries: list[Entry]) -> list[Column]:
    highest_cost = max((entry.cost for entry in entries), default=0.0) or 1.0
    step = CHART_WIDTH / max(len(entries), 12)
    # The lower part shows the outcome, so that a run without cost is visible, too.
    room = CHART_HEIGHT * 0.85
    columns = []
    for index, entry in enumerate(entries):
        height = room * entry.cost / highest_cost
        column = Column(
            entry=entry,
            x=round(index * step, 2),
            width=round(step * 0.8, 2),
            y=round(room - height, 2),
            height=round(height, 2),
        )
        columns.append(column)
    return columns
