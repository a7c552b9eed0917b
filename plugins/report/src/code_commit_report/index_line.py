"""A run in the list of all runs: its row, and how a run adds it to the list by itself.

Each run appends a row to `logs/index.html`, whatever the number of earlier runs. Browsers show what
follows the end of a page in its body; the style puts these rows at the top, the newest first.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from code_commit.plugin_api import describe_changes, duration, run_cost
from code_commit_report.fields import integer_of, number_of, object_of, objects_of, text_of
from code_commit_report.formats import GOOD, bill, tone
from code_commit_report.frame import END, badges, begin, shown
from code_commit_workspace import open_regular, replace_file

INDEX = "index.html"
REPORT = "report.html"
HEAD = Markup(
    '<thead><tr><th scope="col" class="whole">Started</th>'
    '<th scope="col" class="name">Query</th><th scope="col" class="outcome">Outcome</th>'
    '<th scope="col" class="summary">Summary</th><th scope="col" class="word">Workflow</th>'
    '<th scope="col" class="word">Models</th><th scope="col" class="right">Attempts</th>'
    '<th scope="col" class="right">Time</th><th scope="col" class="right">Cost</th></tr></thead>'
)
# Each row that a run appends is a table of its own; only the style can put the names above them.
HEAD_OF_NEWER = Markup('<table class="list runs head" aria-hidden="true">{}</table>\n').format(HEAD)


@dataclass(frozen=True, slots=True)
class Entry:
    """A run in the list. `cost` is in USD, `is_complete` whether no part of it is unknown."""

    run: str
    workflow: str
    query: str
    outcome: str
    changes: str
    summary: str
    started: str
    seconds: float
    attempts: int
    models: str
    cost: float
    is_complete: bool
    has_report: bool

    @property
    def reached(self) -> bool:
        """Return whether it reached its goal."""
        return self.outcome in GOOD

    @property
    def is_undone(self) -> bool:
        """Return whether its changes were moved back, or some of them."""
        return "undone" in self.changes

    @property
    def tone(self) -> str:
        """Return the CSS class of its outcome."""
        return "undone" if self.is_undone else tone(self.outcome)

    @property
    def bill(self) -> str:
        """Return its cost for people."""
        return bill(self.cost, complete=self.is_complete)


def entry_of(folder: Path, document: Mapping[str, Any]) -> Entry:
    """Return the entry of a run from its `run.json`, which may contain anything."""
    models = [str(model.get("model")) for model in objects_of(document, "models")]
    cost, is_complete = run_cost(document)
    return Entry(
        run=folder.name,
        workflow=text_of(document, "workflow") or folder.name[20:],
        query=text_of(document, "query"),
        outcome=text_of(document, "outcome") or text_of(document, "state"),
        changes=describe_changes(document),
        summary=text_of(document, "summary"),
        started=f"{folder.name[:10]} {folder.name[11:19].replace('-', ':')}",
        seconds=number_of(object_of(document, "seconds"), "total") or 0.0,
        attempts=integer_of(document, "attempts") or 0,
        models=", ".join(models),
        cost=cost,
        is_complete=is_complete,
        has_report=(folder / REPORT).is_file(),
    )


def row(entry: Entry) -> Markup:
    """Return the row of a run."""
    started = shown(entry.started)
    if entry.has_report:
        link = f"{quote(entry.run)}/{REPORT}"
        started = Markup('<a href="{}">{}</a>').format(link, started)
    cells = [
        f'<td data-name="Started" class="whole">{started}</td>',
        f'<td data-name="Query" class="name">{shown(entry.query)}</td>',
        f'<td data-name="Outcome" class="outcome">{badges(entry.outcome, entry.changes)}</td>',
        f'<td data-name="Summary" class="summary">{shown(entry.summary)}</td>',
        f'<td data-name="Workflow" class="word">{shown(entry.workflow)}</td>',
        f'<td data-name="Models" class="word">{shown(entry.models)}</td>',
        f'<td data-name="Attempts" class="right">{entry.attempts}</td>',
        f'<td data-name="Time" class="right">{duration(entry.seconds)}</td>',
        f'<td data-name="Cost" class="right">{shown(entry.bill)}</td>',
    ]
    tr = '<tr class="undone">' if entry.is_undone else "<tr>"
    return Markup(tr + "".join(cells) + "</tr>")  # noqa: S704 - its parts are escaped


def title_of(logs: Path) -> str:
    """Return the title of the list, with the name of the project."""
    return f"Runs of code-commit in {logs.absolute().parent.name}"


def append_entry(logs: Path, entry: Entry) -> None:
    """Add a run to the list in `logs`; begin a new list if there is none that a run wrote.

    Raises:
        OSError: it cannot be written.
    """
    beginning = begin(title_of(logs)).encode("utf-8", "backslashreplace")
    table = f'<table class="list runs newer"><tbody>{row(entry)}</tbody></table>\n'.encode()
    with suppress(OSError), open_regular(logs / INDEX, "r+b") as index:
        # What is not ours may be anything, and a file with another name may be anywhere.
        if os.fstat(index.fileno()).st_nlink == 1 and index.read(len(beginning)) == beginning:
            fcntl.flock(index, fcntl.LOCK_EX)
            index.seek(0, os.SEEK_END)
            index.write(table)
            return
    replace_file(logs / INDEX, beginning + _empty_list(logs).encode() + table)


def _empty_list(logs: Path) -> str:
    return (
        f"<header><h1>{shown(title_of(logs))}</h1>\n"
        "<p>The newest run first. <code>code-commit runs open --all</code> "
        "adds earlier runs, the cost over time, and which runs were undone.</p></header>\n"
        f'<main id="content" tabindex="-1"></main>\n{HEAD_OF_NEWER}{END}'
    )
