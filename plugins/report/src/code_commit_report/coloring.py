"""Color code, line by line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup, escape

from code_commit_report.lexers import lexer_for
from code_commit_report.text import visible

_LARGEST = 100_000  # characters of one text; above this, a lexer may be slow
_BUDGET = 300_000  # characters of one page: about a second
_CLASSES = (
    ("Comment", "tc"),
    ("Keyword", "tk"),
    ("Literal.String", "ts"),
    ("Literal.Number", "tn"),
    ("Name.Function", "tf"),
    ("Name.Class", "tf"),
    ("Name.Decorator", "tf"),
    ("Name.Tag", "tk"),
    ("Name.Builtin", "tk"),
)


class Colors:
    """Colors the code of one page, up to a limit. Further code stays plain."""

    def __init__(self) -> None:
        self._left = _BUDGET
        self._colored: dict[tuple[str, str], list[Markup]] = {}

    def of(self, lines: Sequence[str], path: str) -> list[Markup]:
        """Return each line as markup.

        The lines are lexed as one text, because tokens may span lines.
        """
        text = "\n".join(shown_lines(lines))
        key = (path.rpartition("/")[2], text)
        if key not in self._colored:
            if len(text) > min(_LARGEST, self._left):
                return plain(lines)
            self._left -= len(text)
            self._colored[key] = _colored(text, path)
        return self._colored[key]


def plain(lines: Sequence[str]) -> list[Markup]:
    """Return each line as markup without colors."""
    return [escape(line) for line in shown_lines(lines)]


def shown_lines(lines: Sequence[str]) -> list[str]:
    """Return the lines with invisible characters escaped."""
    return [str(visible(line)) for line in lines]


def _colored(text: str, path: str) -> list[Markup]:
    uncolored = [escape(line) for line in text.split("\n")]
    lexer = lexer_for(path)
    if lexer is None:
        return uncolored
    pieces: list[list[Markup]] = [[]]
    for kind, value in lexer.get_tokens(text):
        first, *following = value.split("\n")
        if first:
            pieces[-1].append(_span(kind, first))
        pieces += [[_span(kind, piece)] if piece else [] for piece in following]
    colored = [Markup().join(spans) for spans in pieces]
    # A lexer may drop or add a line ending: show no colors rather than a wrong line.
    if [line.striptags() for line in colored] != [line.striptags() for line in uncolored]:
        return uncolored
    return colored


def _span(kind: Any, text: str) -> Markup:
    name = str(kind).removeprefix("Token.")
    for start, css in _CLASSES:
        if name.startswith(start):
            return Markup('<span class="{}">{}</span>').format(css, text)
    return escape(text)
