"""The page that a run leaves: what `run.json` says, and the diff as plain text.

The whole page is made when somebody opens it, because it takes as long as the rest of a short run.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from code_commit.plugin_api import describe_changes, duration, run_cost
from code_commit_report.fields import (
    integer_of,
    number_of,
    object_of,
    objects_of,
    text_of,
    texts_of,
)
from code_commit_report.formats import bill, count, local
from code_commit_report.frame import END, Heading, begin, shown
from code_commit_report.text import read_shown

_WHOLE_DIFF = "all-changes.diff"  # the host writes it
_SHOWN_FILES = 500
_LINES = Markup('<span class="plus">+{}</span> <span class="minus">&minus;{}</span>')
_HOW_TO_OPEN = Markup(
    "<p>This is the short page. <code>code-commit runs open {}</code> writes the whole "
    "page, with the timeline, prompts, responses and builds.</p>"
)


def short_page(folder: Path, document: Mapping[str, Any], *, limit: int, index: bool) -> str:
    """Return the page of a run from its `run.json`.

    It shows at most `limit` bytes of the diff. With `index`, it links to the list of all runs.
    """
    heading = heading_of(folder, document)
    body = [
        heading.markup(index=index),
        '<main id="content" tabindex="-1">',
        _HOW_TO_OPEN.format(shown(folder.name)),
        *_changed_files(folder, document, limit),
        *_files(folder),
        "</main>\n",
    ]
    return begin(f"{heading.state}: {folder.name}", short=True) + "\n".join(body) + END


def heading_of(folder: Path, document: Mapping[str, Any]) -> Heading:
    """Return the top of a page from `run.json`."""
    tokens = object_of(document, "tokens")
    usd, complete = run_cost(document)
    rows = [
        ("Workflow", text_of(document, "workflow")),
        ("Started", local(_timestamp(text_of(document, "started")))),
        ("Took", duration(number_of(object_of(document, "seconds"), "total"))),
        ("Model calls", count(integer_of(object_of(document, "calls"), "started"))),
        (
            "Tokens in / out",
            f"{count(integer_of(tokens, 'input'))} / {count(integer_of(tokens, 'output'))}",
        ),
        ("Cost", bill(usd, complete=complete)),
        ("Commit before", text_of(document, "commit")[:12] or "none"),
    ]
    data = object_of(document, "data")
    trailers = object_of(object_of(data, "acceptance"), "trailers")
    rows += [(str(name), str(text)) for name, text in trailers.items()]
    hint = text_of(data, "hint")
    return Heading(
        run=folder.name,
        state=text_of(document, "outcome") or text_of(document, "state"),
        query=text_of(document, "query"),
        summary=text_of(document, "summary"),
        exit_code=integer_of(document, "exit_code"),
        changes=describe_changes(document),
        command=shlex.join(["code-commit", *texts_of(document, "argv")]),
        figures=rows,
        notes=[f"hint: {hint}"] if hint else [],
    )


def _timestamp(started: str) -> float:
    try:
        return datetime.fromisoformat(started).timestamp()
    except (ValueError, OverflowError):
        return 0.0


def _changed_files(folder: Path, document: Mapping[str, Any], limit: int) -> Iterator[str]:
    files = objects_of(document, "files")
    if not files:
        return
    yield '<section aria-labelledby="changes"><h2 id="changes">All changes</h2><ul>'
    for file in files[:_SHOWN_FILES]:
        added, removed = integer_of(file, "added"), integer_of(file, "removed")
        lines = Markup("not text")
        if added is not None and removed is not None:
            lines = _LINES.format(added, removed)
        yield f"<li><code>{shown(text_of(file, 'path'))}</code> {lines}</li>"
    yield "</ul>"
    if len(files) > _SHOWN_FILES:
        yield f'<p class="faint">{len(files) - _SHOWN_FILES} more are in run.json.</p>'
    diff = read_shown(folder, _WHOLE_DIFF, limit)
    if diff is not None and diff.text:
        yield (
            '<div class="scroll" tabindex="0" role="region" aria-label="All changes"><pre>'
            f"{_colored(diff.text)}</pre></div>"
        )
    yield "</section>"


def _colored(diff: str) -> Markup:
    """Return the lines of a diff with those added and removed told apart."""
    lines = []
    for line in diff.split("\n"):
        text = shown(line)
        if line.startswith("+"):
            text = Markup('<span class="plus">{}</span>').format(text)
        elif line.startswith("-"):
            text = Markup('<span class="minus">{}</span>').format(text)
        lines.append(text)
    return Markup("\n").join(lines)


def _files(folder: Path) -> Iterator[str]:
    yield '<section aria-labelledby="files"><h2 id="files">Files of the run</h2><ul>'
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.suffix == ".html":
            continue
        yield f'<li><a href="./{quote(os.fsencode(path.name))}">{shown(path.name)}</a></li>'
    yield "</ul></section>"
