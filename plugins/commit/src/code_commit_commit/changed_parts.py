"""Show the changed parts of large files, for formats that can change a part of a file."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from code_commit.plugin_api import Change
from code_commit_commit.prompts import file_replacements

MANY_LINES = 400  # of a file that is shown in part
_AROUND = 30  # lines shown before and after a change


def changed_parts(replacements: Iterable[Change], codebase: str) -> str:
    """Return the files replaced and removed so far, as `file_replacements` does.

    Of a file with many lines that stands in `codebase`, only the changed parts are shown, with the
    lines around them.
    """
    shown: list[str] = []
    for change in sorted(replacements, key=lambda change: change.path):
        lines = _lines((change.content or b"").decode("utf-8", "replace"))
        old = _lines_in(codebase, change.path) if len(lines) > MANY_LINES else []
        if old:
            shown += _parts(change.path, old, lines)
        else:
            shown.append(file_replacements([change]))
    return "".join(shown)


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n")


def _lines_in(codebase: str, path: str) -> list[str]:
    """Return the lines of a file in the codebase, or none if it is not there.

    A line in the file that looks like the header of another one ends it: then more is shown.
    """
    header = f"--- {path} ---\n"
    start = 0
    if not codebase.startswith(header):
        start = codebase.find(f"\n{header}") + 1
        if not start:
            return []
    start += len(header)
    end = start
    while (end := codebase.find("\n--- ", end)) >= 0:
        line_end = codebase.find("\n", end + 1)
        if codebase.endswith(" ---", end, line_end):
            return _lines(codebase[start : end + 1])
        end += 1
    return _lines(codebase[start:])


def _parts(path: str, old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    """Yield each changed part of a file, with a line that says which part it is."""
    parts = _with_lines_around(changed_ranges(old, new), len(new))
    if not parts:
        yield f"--- FILE REPLACEMENT {path}: as in the codebase ---\n"
    for start, end in parts:
        where = f"lines {start + 1} to {end} of {len(new)}; the others are as in the codebase"
        if end - start == len(new):
            where = "all lines"
        yield f"--- FILE REPLACEMENT {path}: {where} ---\n"
        yield from (f"{line}\n" for line in new[start:end])


def _with_lines_around(ranges: Iterable[tuple[int, int]], length: int) -> list[tuple[int, int]]:
    """Return the ranges with the lines around them; those that touch are one."""
    wide: list[tuple[int, int]] = []
    for first, last in ranges:
        start = max(0, first - _AROUND)
        end = min(length, last + _AROUND)
        if wide and start <= wide[-1][1]:
            start, _ = wide.pop()
        wide.append((start, end))
    return wide


def changed_ranges(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield start and end of each part of `new` that differs from `old`, in linear time.

    A part without lines is where lines of `old` are missing. Lines that are in both texts exactly
    once, in the same order, divide them; between two of these, all but the first and the last equal
    lines counts as changed.
    """
    anchors = [(-1, -1), *_anchors(old, new), (len(old), len(new))]
    for (before, start), (after, end) in pairwise(anchors):
        left, right = old[before + 1 : after], new[start + 1 : end]
        if left == right:
            continue
        head = _common(left, right)
        tail = _common(left[head:][::-1], right[head:][::-1])
        yield start + 1 + head, end - tail


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return the longest series of lines that are in both texts once, in the same order."""
    once = {line for line, count in Counter(old).items() if count == 1}
    once &= {line for line, count in Counter(new).items() if count == 1}
    places = {line: index for index, line in enumerate(old) if line in once}
    pairs = [(places[line], index) for index, line in enumerate(new) if line in once]
    ends: list[int] = []  # the smallest last line of `old` in a series of each length
    last: list[int] = []  # the pair with that line
    previous: list[int] = []  # for each pair, the one before it in its series
    for index, (place, _) in enumerate(pairs):
        length = bisect_left(ends, place)
        previous.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [place]
        last[length : length + 1] = [index]
    series = []
    index = last[-1] if last else -1
    while index >= 0:
        series.append(pairs[index])
        index = previous[index]
    return series[::-1]


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return with how many equal lines both begin."""
    for index, (line, counterpart) in enumerate(zip(one, other, strict=False)):
        if line != counterpart:
            return index
    return min(len(one), len(other))
