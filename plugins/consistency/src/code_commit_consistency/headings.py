"""Find lines that could be section headings of a report. Models write headings in many ways."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
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

    `title` is one of `SECTIONS` if the heading `is_requested`, in any spelling; else the written
    title without decoration.
    """

    start: int
    after: int
    title: str
    style: str
    is_requested: bool


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


def _pattern(name: str) -> re.Pattern[str]:
    words = ["(?:and|&)" if word == "and" else word for word in name.split()]
    return re.compile(_BETWEEN_WORDS.join(words) + r"(?![^\W_])", re.IGNORECASE)


_REQUESTED = {name: _pattern(name) for name in SECTIONS}
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
    for (start, line), (_, below) in pairwise([*lines, (len(report), "")]):
        is_code = fences and fence.contains(line)
        if not is_code and (heading := _heading(start, line, above, below)):
            yield heading
        above = line


def _lines(report: str) -> Iterator[tuple[int, str]]:
    start = 0
    while start < len(report):
        end = report.find("\n", start) + 1 or len(report)
        yield start, report[start:end]
        start = end


def _heading(start: int, line: str, above: str, below: str) -> Heading | None:
    """Return the heading that begins with `line`, if it is one."""
    style, words = _split_style(line.strip(_BLANKS))
    if not words:
        return None
    after = start + len(line)
    underline = "" if style.startswith("#") else _underline(below)
    if underline:
        style = underline
        after += len(below)
    for name, pattern in _REQUESTED.items():
        if match := pattern.match(words):
            behind = words[match.end() :]
            if not behind.strip(_DECORATION):
                return Heading(start, after, title=name, style=style, is_requested=True)
            return _run_in(name, start, line, behind)
    title = words.strip(_DECORATION)
    if not title or line.startswith(("    ", "\t")):  # with this indentation, it may be code
        return None
    if underline:
        is_title = _is_blank(above) and _reads_like_a_title(title, words, style, capitals=False)
    elif style.startswith("#"):
        is_title = True
    else:
        is_alone = _is_blank(above) and _is_blank(below)
        is_title = is_alone and _reads_like_a_title(title, words, style, capitals=True)
    if not is_title:
        return None
    return Heading(start, after, title=title, style=style, is_requested=False)


def _underline(line: str) -> str:
    """Return the style that `line` gives to the line above, or "" if it is no underline."""
    match = _UNDERLINE.match(line.rstrip(_BLANKS))
    if match is None:
        return ""
    return "#" if match[1].startswith("=") else "##"


def _is_blank(line: str) -> bool:
    return not line.strip(_BLANKS)


def _run_in(name: str, start: int, line: str, behind: str) -> Heading | None:
    """Return the heading at the start of a paragraph; `behind` is what follows `name` in `line`."""
    run_in = _RUN_IN.match(behind)
    if not run_in:
        return None
    behind_name = len(line.rstrip(_BLANKS)) - len(behind)
    after = start + behind_name + run_in.end()
    return Heading(start, after, title=name, style="run-in", is_requested=True)


def _split_style(written: str) -> tuple[str, str]:
    """Return the style of a line, one of `STYLES`, and its text without the leading decoration."""
    style = "plain"
    words = written
    if hashes := _HASHES.match(words):
        style = hashes[1]
        words = words[hashes.end() :]
    if bullet := _BULLET.match(words):
        style = "bulleted" if style == "plain" else style
        words = words[bullet.end() :]
    is_bold = False
    if emphasis := _EMPHASIS.match(words):
        is_bold = True
        words = words[emphasis.end() :]
    if number := _NUMBER.match(words):
        style = "numbered" if style == "plain" else style
        words = words[number.end() :]
    if emphasis := _EMPHASIS.match(words):
        is_bold = True
        words = words[emphasis.end() :]
    if is_bold and not hashes:
        style = "bold" if style == "plain" else f"{style} bold"
    return style, words


def _reads_like_a_title(title: str, words: str, style: str, *, capitals: bool) -> bool:
    """Return whether a line is a heading rather than a short paragraph."""
    undecorated = words.rstrip(" \t*_")
    if len(title) > _LONGEST_TITLE or undecorated.endswith((".", ",", ";", "?", "!")):
        return False
    if "bold" in style and not words.rstrip(" \t:.").endswith(("*", "_")):
        return False
    if not capitals:
        return True
    long_words = [word for word in title.split() if len(word) > _SMALL_WORD]
    return title[0].isupper() and not any(word[0].islower() for word in long_words)
