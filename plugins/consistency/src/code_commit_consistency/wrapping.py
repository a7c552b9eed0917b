"""A report as it is shown to a person: no line longer than need be, and its lists and code left in shape."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

WIDTH = 80

_FENCE = re.compile(r"[ \t]*+(`{3,}+(?![^\n]*`)|~{3,}+)")
_AS_IT_IS = re.compile(
    r"[ \t]*+$"  # a blank line
    r"| {0,3}#{1,6}(?:[ \t]|$)"  # a heading
    r"| {0,3}(?:=+|(?:[-_*][ \t]*+){3,})$"  # an underline or a rule
    r"|[ \t]*+\|"  # a table
)
_CODE = re.compile(r" {4}|\t")
_BULLET = re.compile(r"(?:[-+*\u2022]|\(?\d{1,3}[.)]|\(?[a-z][.)])[ \t]{1,4}")
_MARGIN = re.compile(r"[ \t]*+(?:>[ \t]?)*+[ \t]*+")


def wrapped(report: str, width: int = WIDTH) -> str:
    """Return `report` with its paragraphs wrapped at `width` characters.

    A paragraph whose lines all fit stays as it is, and so do headings, rules, tables and code. A list item or a
    quotation keeps its indentation. A word that is longer than a line is not broken.
    """
    return "\n".join(line for block in _blocks(report) for line in _wrapped_block(block, width))


def _blocks(report: str) -> Iterator[list[str]]:
    """Cut a report into paragraphs and list items of several lines, and lines that stay as they are."""
    block: list[str] = []
    fence = ""
    for line in (line.removesuffix("\r") for line in report.split("\n")):
        fenced = _FENCE.match(line)
        code = not block and _CODE.match(line) and not _BULLET.match(line.lstrip())
        alone = fence or fenced or code or _AS_IT_IS.match(line)
        if fenced and not fence:
            fence = fenced[1]
        elif fenced and fenced[1].startswith(fence):
            fence = ""
        if block and (alone or _begins(line, block[0])):
            yield block
            block = []
        if alone:
            yield [line]
            continue
        block.append(line)
        if line.endswith(("  ", "\\")):  # a line break that is meant
            yield block
            block = []
    if block:
        yield block


def _begins(line: str, first: str) -> bool:
    """Whether `line` is no continuation of the paragraph that begins with `first`."""
    margin = _margin(line)
    return bool(_BULLET.match(line, len(margin))) or margin.count(">") != _margin(first).count(">")


def _margin(line: str) -> str:
    found = _MARGIN.match(line)
    return found[0] if found else ""


def _wrapped_block(block: list[str], width: int) -> list[str]:
    margin = _margin(block[0])
    bullet = _BULLET.match(block[0], len(margin))
    hanging = margin + " " * len(bullet[0] if bullet else "")
    is_code = len(block) == 1 and (_AS_IT_IS.match(block[0]) or _CODE.match(block[0])) and not bullet
    if is_code or len(hanging) > width // 2 or all(len(line) <= width for line in block):
        return block
    words = " ".join([block[0][len(hanging) :], *(line[len(_margin(line)) :] for line in block[1:])])
    return textwrap.wrap(
        words,
        width,
        initial_indent=block[0][: len(hanging)],
        subsequent_indent=hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )
