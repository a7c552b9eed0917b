"""Show a unified diff in two columns, with syntax colors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, zip_longest
from typing import Literal, TypeVar

from markupsafe import Markup

from code_commit_report.coloring import Colors, plain

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)")
_LINE = re.compile(r"^.*", re.MULTILINE)
_ROWS = 3000  # per file
FILES = 500  # of one diff that the page shows
_Line = TypeVar("_Line", bound=str)


@dataclass(frozen=True, slots=True)
class Side:
    """One half of a row; `number` is the line number in the file."""

    number: int
    code: Markup


@dataclass(frozen=True, slots=True)
class Row:
    """`same`, `changed`, `removed` or `added` lines side by side; a `hunk` row has its position in
    `note`.
    """

    kind: Literal["same", "changed", "removed", "added", "hunk", "note"]
    old: Side | None = None
    new: Side | None = None
    note: str = ""


@dataclass(slots=True)
class FileDiff:
    """The diff of one file."""

    path: str
    what: Literal["changed", "added", "deleted"] = "changed"
    rows: list[Row] = field(default_factory=list)
    added: int = 0
    removed: int = 0
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Hunk:
    """A part of a diff: its lines as in the diff, and the number of the first line of each side."""

    old_number: int
    new_number: int
    note: str
    lines: list[str] = field(default_factory=list)

    @property
    def old(self) -> list[str]:
        """Return the lines before the change."""
        return [line[1:] for line in self.lines if line[0] in " -"]

    @property
    def new(self) -> list[str]:
        """Return the lines after the change."""
        return [line[1:] for line in self.lines if line[0] in " +"]


def file_diffs(
    text: str, contents: Callable[[str], Iterable[str]] = lambda _: (), colors: Colors | None = None
) -> list[FileDiff]:
    """Parse git's output; skip everything that is not a diff.

    Only the first `FILES` files get rows.

    `contents` returns possible contents of the file at a path after the change. Colors need the one
    that fits, because a hunk can begin inside a string.
    """
    colors = colors or Colors()
    parts = [
        part
        for part in re.split(r"^(?=diff --git )", text, flags=re.MULTILINE)
        if part[:10] == "diff --git"
    ]
    return [
        _file(part, contents, colors, most=_ROWS if number < FILES else 0)
        for number, part in enumerate(parts)
    ]


def _file(
    text: str, contents: Callable[[str], Iterable[str]], colors: Colors, *, most: int
) -> FileDiff:
    found = text.find("\n@@ ")
    begin = len(text) if found < 0 else found
    head = text[:begin].split("\n")
    diff = FileDiff(_path(head), added=text.count("\n+", begin), removed=text.count("\n-", begin))
    for line in head:
        if line.startswith("new file"):
            diff.what = "added"
        elif line.startswith("deleted file"):
            diff.what = "deleted"
        elif line.startswith("Binary files"):
            diff.rows.append(Row("note", note="not text"))
    hunks = _hunks(text, begin, most) if most else []
    for hunk, (old, new) in zip(hunks, _sides(hunks, diff.path, contents, colors), strict=True):
        diff.rows += _rows(hunk, old, new)
    diff.cut = len(diff.rows) > most
    del diff.rows[most:]
    return diff


def _path(head: Sequence[str]) -> str:
    for mark, prefix in (("+++ ", "b/"), ("--- ", "a/")):
        for line in head:
            name = line.removeprefix(mark).rstrip("\t")
            if line.startswith(mark) and name != "/dev/null":
                return name.removeprefix(prefix)
    return head[0].removeprefix("diff --git ").partition(" b/")[2] or head[0]


def _hunks(text: str, begin: int, most: int) -> list[Hunk]:
    """Return the hunks of the first `most` rows, and of one more if there are more: a diff may have
    many lines.
    """
    hunks: list[Hunk] = []
    rows = removed = added = 0
    for line in (match[0] for match in _LINE.finditer(text, begin + 1)):
        if line[:1] == "-":
            removed += 1
        elif line[:1] == "+":
            added += 1
        elif line[:1] in {" ", "@"}:
            rows, removed, added = rows + max(removed, added) + 1, 0, 0
        if rows + added > most + 1:
            break
        if line.startswith("@@ "):
            place = _HUNK.match(line)
            old, new, note = (int(place[1]), int(place[2]), place[3]) if place else (1, 1, "")
            hunks.append(Hunk(old, new, note))
        elif line[:1] in {" ", "+"} or (line[:1] == "-" and removed <= most + 1):
            hunks[-1].lines.append(line)
    return hunks


def _sides(
    hunks: Sequence[Hunk], path: str, contents: Callable[[str], Iterable[str]], colors: Colors
) -> list[tuple[list[Markup], list[Markup]]]:
    """Return the lines of both sides of each hunk, with colors if the text before it is known."""
    if len(hunks) == 1 and hunks[0].old_number <= 1 >= hunks[0].new_number:
        return [(colors.of(hunks[0].old, path), colors.of(hunks[0].new, path))]
    for text in contents(path):
        after = text.split("\n")
        before = list(after)
        for hunk in reversed(hunks):
            before[hunk.new_number - 1 : hunk.new_number - 1 + len(hunk.new)] = hunk.old
        if all(
            _part(before, hunk.old_number, hunk.old) == hunk.old
            and _part(after, hunk.new_number, hunk.new) == hunk.new
            for hunk in hunks
        ):
            old, new = colors.of(before, path), colors.of(after, path)
            return [
                (_part(old, hunk.old_number, hunk.old), _part(new, hunk.new_number, hunk.new))
                for hunk in hunks
            ]
    return [(plain(hunk.old), plain(hunk.new)) for hunk in hunks]


def _part(lines: list[_Line], number: int, like: Sequence[str]) -> list[_Line]:
    """Return the lines from `number` on, as many as `like` has."""
    return lines[number - 1 :][: len(like)]


def _rows(hunk: Hunk, old_lines: Iterable[Markup], new_lines: Iterable[Markup]) -> Iterator[Row]:
    old = map(Side, count(hunk.old_number), old_lines)
    new = map(Side, count(hunk.new_number), new_lines)
    yield Row("hunk", note=f"line {hunk.new_number}" + (f": {hunk.note}" if hunk.note else ""))
    removed: list[Side] = []
    added: list[Side] = []
    for line in hunk.lines:
        if line[0] == "-":
            removed.append(next(old))
        elif line[0] == "+":
            added.append(next(new))
        else:
            yield from _paired(removed, added)
            removed, added = [], []
            yield Row("same", next(old), next(new))
    yield from _paired(removed, added)


def _paired(removed: Sequence[Side], added: Sequence[Side]) -> Iterator[Row]:
    for old, new in zip_longest(removed, added):
        yield Row("changed" if old and new else "removed" if old else "added", old, new)
