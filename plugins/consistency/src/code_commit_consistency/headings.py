"""Find lines that could be section headings of a report. Models write headings in many ways."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from code_commit_consistency.code_fence import CodeFence

SECTIONS = (
    "User Specification Self Consistency",
    "Implementation Consistency with User Specification",
    "Errors and Mistakes within the User Specification",
    "Errors and Mistakes within the Implementation",
    "Suggestions and Other Important Commentary",
)
"""The sections that the system prompt requests."""

STYLES = (
    *("#" * level for level in range(1, 7)),
    "numbered bold",
    "numbered",
    "bulleted bold",
    "bold",
    "plain",
    "bulleted",
    "run-in",
)
"""The styles of headings: Markdown levels, also as underlines; other styles alone on a line; or,
only for names in `SECTIONS`, at the start of a paragraph. The most reliable style comes first.
"""


class Heading(NamedTuple):
    """A heading from `start` to `after`, where the text of its section begins.

    `title` is one of `SECTIONS` when it is `known`, in any spelling; else the written title without
    decoration.
    """

    start: int
    after: int
    title: str
    style: str
    known: bool


_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
_HASHES = re.compile(r"(#{1,6})(?:[ \t]++|$)")
_BULLET = re.compile(r"[-+*\u2022][ \t]{1,4}")
_EMPHASIS = re.compile(r"[*_]{1,3}")
_NUMBER = re.compile(
    r"(?:(?:section|part)[ \t]{1,4})?\(?(?:\d{1,2}(?:\.\d{1,2})?|[ivx]{1,4}|[a-h])"
    r"(?:[.):]{1,2}|[ \t]{0,4}[-\u2013\u2014])[ \t]{1,4}"
    r"|(?:(?:section|part)[ \t]{1,4})?\d{1,2}(?:\.\d{1,2})?[ \t]{1,4}",
    re.IGNORECASE,
)
_BETWEEN_WORDS = r"[ \t\u00a0\u2010-\u2015-]{1,4}"
_KNOWN = {
    name: re.compile(
        _BETWEEN_WORDS.join("(?:and|&)" if word == "and" else word for word in name.split())
        + r"(?![^\W_])",
        re.IGNORECASE,
    )
    for name in SECTIONS
}
_RUN_IN = re.compile(
    r"[*_]{0,3}[ \t]{0,4}(?:[:\u2013\u2014]|-[ \t])[*_]{0,3}[ \t]*+|[*_]{1,3}\.?[ \t]*+"
)
_BLANKS = " \t\r\n"
_DECORATION = " \t\r\n*_#:.`\u2013\u2014-"
_LONGEST_TITLE = 80
_SMALL_WORD = 4  # letters: "and", "with", "from" are not capitalized in a title


def headings(report: str, *, fences: bool) -> Iterator[Heading]:
    """Yield all possible section headings of `report`; with `fences`, none inside code fences."""
    fence = CodeFence()
    above = ""
    lines = list(_lines(report))
    for index, (start, line) in enumerate(lines):
        below = lines[index + 1][1] if index + 1 < len(lines) else ""
        fenced = fences and fence.contains(line)
        if not fenced and (heading := _heading(start, line, above, below)):
            yield heading
        above = line


def _lines(report: str) -> Iterator[tuple[int, str]]:
    start = 0
    while start < len(report):
        newline = report.find("\n", start)
        end = newline + 1 if newline >= 0 else len(report)
        yield start, report[start:end]
        start = end


def _heading(start: int, line: str, above: str, below: str) -> Heading | None:
    style, words = _split_style(line.strip(_BLANKS))
    if not words:
        return None
    underline = None if style.startswith("#") else _UNDERLINE.match(below.rstrip(_BLANKS))
    if underline:
        style = "#" if underline[1][0] == "=" else "##"
    after = start + len(line) + (len(below) if underline else 0)
    for name, pattern in _KNOWN.items():
        if found := pattern.match(words):
            return _known(name, start, line, words[found.end() :], style, after)
    title = words.strip(_DECORATION)
    if not title or line.startswith(("    ", "\t")):  # with this indentation, it may be code
        return None
    if not style.startswith("#") or underline:
        alone = not above.strip(_BLANKS) and (underline or not below.strip(_BLANKS))
        if not alone or not _reads_like_a_title(
            title, words, bold="bold" in style, capitals=not underline
        ):
            return None
    return Heading(start, after, title, style, known=False)


def _known(name: str, start: int, line: str, rest: str, style: str, after: int) -> Heading | None:
    """Return the heading of a line that begins with `name`; `rest` is the rest of the line."""
    if not rest.strip(_DECORATION):
        return Heading(start, after, name, style, known=True)
    run_in = _RUN_IN.match(rest)
    if not run_in:
        return None
    written = len(line.rstrip(_BLANKS))
    return Heading(start, start + written - len(rest) + run_in.end(), name, "run-in", known=True)


def _split_style(written: str) -> tuple[str, str]:
    """Return the style of a line, one of `STYLES`, and its text without the leading decoration."""
    style, words = "plain", written
    if hashes := _HASHES.match(words):
        style, words = hashes[1], words[hashes.end() :]
    if bullet := _BULLET.match(words):
        style = "bulleted" if style == "plain" else style
        words = words[bullet.end() :]
    bold = _EMPHASIS.match(words)
    if bold:
        words = words[bold.end() :]
    if number := _NUMBER.match(words):
        style = "numbered" if style == "plain" else style
        words = words[number.end() :]
    if inner := _EMPHASIS.match(words):
        bold, words = inner, words[inner.end() :]
    if bold and not hashes:
        style = "bold" if style == "plain" else f"{style} bold"
    return style, words


def _reads_like_a_title(title: str, words: str, *, bold: bool, capitals: bool) -> bool:
    """Return whether a line is a heading rather than a short paragraph."""
    undecorated = words.rstrip(" \t*_")
    if len(title) > _LONGEST_TITLE or undecorated.endswith((".", ",", ";", "?", "!")):
        return False
    if bold and not words.rstrip(" \t:.").endswith(("*", "_")):
        return False
    long_words = (word for word in title.split() if len(word) > _SMALL_WORD)
    return not capitals or (
        title[0].isupper() and not any(word[0].islower() for word in long_words)
    )
