"""What every page begins and ends with: the policy, the style, the heading.

A run writes its short page and its line of the index with this module alone: a template engine
would take longer than everything else here.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from markupsafe import Markup, escape

from code_commit_report.formats import tone
from code_commit_report.text import visible

_TEMPLATES = Path(__file__).with_name("templates")
_NO_MARKUP = Markup()
END = """\
<footer>
<p>Written by code-commit-report. Times are local; costs include only known prices.</p>
</footer>
</body>
</html>
"""


def shown(value: object) -> Markup:
    """Return `value` as markup: escaped, with its invisible characters shown."""
    return escape(visible(str(value)))


def begin(title: str, head: Markup = _NO_MARKUP, *, short: bool = False) -> str:
    """Return the beginning of a page; `head` is more for its head. Everything else is blocked.

    With `short`, it has the style of a short page alone: every run keeps one.
    """
    style = style_sheet(short=short)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return f"""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
{head}
<title>{shown(title)}</title>
<style>{style}</style>
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
"""


@cache
def style_sheet(*, short: bool) -> str:
    """Return the style of a page."""
    names = ("style.css",) if short else ("style.css", "whole.css")
    return "".join((_TEMPLATES / name).read_text("utf-8") for name in names)


@dataclass(frozen=True, slots=True)
class Heading:
    """What the top of a page says of its run. `state` is its outcome, or `running` or `killed`."""

    run: str
    state: str
    query: str
    summary: str
    exit_code: int | None
    changes: str
    command: str
    figures: Sequence[tuple[str, str]]
    notes: Sequence[str] = field(default=())

    def markup(self, *, index: bool) -> Markup:
        """Return the header of the page; with `index`, it links to the list of all runs."""
        lines = []
        if index:
            lines.append(Markup('<p><a href="../index.html">All runs</a></p>'))
        title = Markup("<h1>{} {}</h1>")
        lines.append(title.format(badges(self.state, self.changes), shown(self.run)))
        faint = Markup('<p class="faint">{}</p>')
        lines += [faint.format(shown(note)) for note in self.notes]
        if self.query:
            lines.append(Markup('<p class="query">{}</p>').format(shown(self.query)))
        code = _NO_MARKUP
        if self.exit_code is not None:
            code = Markup(' <span class="faint">(exit code {})</span>').format(self.exit_code)
        lines.append(Markup("<p>{}{}</p>").format(shown(self.summary), code))
        lines.append(figures(self.figures))
        lines.append(faint.format(Markup("<code>{}</code>").format(shown(self.command))))
        return Markup("<header>\n{}\n</header>").format(Markup("\n").join(lines))


def badges(state: str, changes: str) -> Markup:
    """Return the badge of an outcome, and another one if the changes were undone or committed."""
    badge = f'<span class="badge {tone(state)}">{shown(state)}</span>'
    for part in changes.split(", "):
        if "undone" in part or "committed" in part:
            kind = "undone" if "undone" in part else "kept"
            badge += f' <span class="badge {kind}">{shown(part)}</span>'
    return Markup(badge)  # noqa: S704 - `shown` escapes its parts


def figures(rows: Iterable[tuple[str, str]]) -> Markup:
    """Return names and values as a row of boxes."""
    boxes = [f"<div><dt>{shown(name)}</dt><dd>{shown(value)}</dd></div>" for name, value in rows]
    text = "\n".join(boxes)
    return Markup(f'<dl class="figures">\n{text}\n</dl>')  # noqa: S704 - `shown` escapes its parts
