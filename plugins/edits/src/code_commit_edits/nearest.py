"""Describe where a file is most like a text that is not in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from code_commit.plugin_api import shorten
from code_commit_edits.edits import Edit

_COMMON = 50  # places of a line that says little, such as a closing bracket
_COMPARED = 5000  # lines of the file whose characters are compared
_LONGEST = 200  # characters of such a line, and of one in a message
_MOST_LINES = 12  # of the file in a message
_CLOSE = 0.6  # of 1, which is an equal line


def describe_nearest(edits: Sequence[Edit], lines: Sequence[bytes]) -> Iterator[str]:
    """Yield for each edit the place of `lines` that is most like the text that it searches."""
    stripped = {line.strip() for edit in edits for line in edit.search}
    places = _places(stripped - {b""}, lines) if edits else {}
    compared: list[set[str]] = []
    for edit in edits:
        start = _start(edit.search, places)
        if start is None:
            compared = compared or [_pairs(line) for line in lines[:_COMPARED]]
            start = _close_line(edit.search, compared)
        if start is None:
            yield "No line of the file is like it"
            continue
        end = min(start + len(edit.search), start + _MOST_LINES)
        shown = [shorten(line.decode("utf-8", "replace"), _LONGEST) for line in lines[start:end]]
        yield "\n".join([f"The nearest place is line {start + 1:,}:", *shown])


def _places(wanted: set[bytes], lines: Sequence[bytes]) -> Mapping[bytes, Sequence[int]]:
    """Return where each of the `wanted` lines is, indented in any way; none of common lines."""
    places: dict[bytes, list[int]] = {line: [] for line in wanted}
    for index, line in enumerate(lines):
        found = places.get(line.strip())
        if found is not None and len(found) <= _COMMON:
            found.append(index)
    return {line: found for line, found in places.items() if len(found) <= _COMMON}


def _start(search: Sequence[bytes], places: Mapping[bytes, Sequence[int]]) -> int | None:
    """Return where the text begins if most of its lines are in their place."""
    votes: Counter[int] = Counter()
    for offset, line in enumerate(search):
        votes.update(place - offset for place in places.get(line.strip(), ()))
    if not votes:
        return None
    most = max(votes.values())
    return max(0, min(start for start, count in votes.items() if count == most))


def _close_line(search: Sequence[bytes], compared: Sequence[set[str]]) -> int | None:
    """Return the first line that is most like the longest line of the text."""
    longest = _pairs(max(search, key=len))
    likeness = [2 * len(pairs & longest) / (len(pairs) + len(longest) or 1) for pairs in compared]
    most = max(likeness, default=0)
    return likeness.index(most) if most >= _CLOSE else None


def _pairs(line: bytes) -> set[str]:
    """Return the pairs of neighbours among the characters of a line."""
    return set(map("".join, pairwise(line.decode("utf-8", "replace")[:_LONGEST])))
