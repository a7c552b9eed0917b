"""Wrap a report for people, keeping lists and code in shape."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from code_commit_consistency.code_fence import CodeFence

WIDTH = 80

_UNCHANGED = re.compile(
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

    Paragraphs whose lines all fit stay unchanged, and so do headings, rules, tables and code. List
    items and quotations keep their indentation. Words longer than a line are not broken.
    """
    shown: list[str] = []
    for lines, wraps in _blocks(report):
        if wraps and any(len(line) > width for line in lines):
            shown += _rewrapped(lines, width)
        else:
            shown += lines
    return "\n".join(shown)


def _blocks(report: str) -> Iterator[tuple[list[str], bool]]:
    """Yield the lines of each paragraph and list item with True, each other line with False."""
    block: list[str] = []
    fence = CodeFence()
    for line in (line.removesuffix("\r") for line in report.split("\n")):
        is_indented = not block and _CODE.match(line) and not _BULLET.match(line.lstrip(" \t"))
        is_unchanged = fence.contains(line) or is_indented or _UNCHANGED.match(line)
        if block and (is_unchanged or _starts_block(line, block[0])):
            yield block, True
            block = []
        if is_unchanged:
            yield [line], False
            continue
        block.append(line)
        if line.endswith(("  ", "\\")):  # an intended line break
            yield block, True
            block = []
    if block:
        yield block, True


def _starts_block(line: str, first: str) -> bool:
    """Return whether `line` starts a new block. Else it continues the one with line `first`."""
    margin = _margin(line)
    if _BULLET.match(line, len(margin)):
        return True
    return margin.count(">") != _margin(first).count(">")


def _margin(line: str) -> str:
    match = _MARGIN.match(line)
    return match[0] if match else ""


def _rewrapped(lines: list[str], width: int) -> list[str]:
    first, *continued = lines
    margin = _margin(first)
    hanging = margin
    if bullet := _BULLET.match(first, len(margin)):
        hanging += " " * len(bullet[0])
    indent = first[: len(hanging)]
    texts = [first[len(hanging) :], *(line[len(_margin(line)) :] for line in continued)]
    words = " ".join(texts)
    if len(hanging) > width // 2 or not words.strip():
        return lines
    return textwrap.wrap(
        words,
        width,
        initial_indent=indent,
        subsequent_indent=hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )
