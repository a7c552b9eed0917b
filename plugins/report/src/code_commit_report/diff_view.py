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
    """Lines side by side. A row of the kinds `hunk` and `note` has only `note`."""

    kind: Literal["same", "changed", "removed", "added", "hunk", "note"]
    old: Side | None = None
    new: Side | None = None
    note: str = ""


@dataclass(slots=True)
class FileDiff:
    """The diff of one file."""

    path: str
    kind: Literal["changed", "added", "deleted"] = "changed"
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

    def old_part(self, before: list[_Line]) -> list[_Line]:
        """Return the lines of a file before its change that are in this hunk."""
        return before[self.old_number - 1 :][: len(self.old)]

    def new_part(self, after: list[_Line]) -> list[_Line]:
        """Return the lines of a file after its change that are in this hunk."""
        return after[self.new_number - 1 :][: len(self.new)]

    def fits(self, before: list[str], after: list[str]) -> bool:
        """Return whether the file has the lines of this hunk at its positions."""
        return self.old_part(before) == self.old and self.new_part(after) == self.new


def file_diffs(
    text: str,
    contents: Callable[[str], Iterable[str]] = lambda _: (),
    colors: Colors | None = None,
) -> list[FileDiff]:
    """Parse git's output; skip everything that is not a diff.

    Only the first `FILES` files get rows.

    `contents` returns possible contents of the file at a path after the change. Colors need the one
    that fits, because a hunk can begin inside a string.
    """
    colors = colors or Colors()
    parts = re.split(r"^(?=diff --git )", text, flags=re.MULTILINE)
    diffs: list[FileDiff] = []
    for part in parts:
        if part.startswith("diff --git"):
            most = _ROWS if len(diffs) < FILES else 0
            diffs.append(_file(part, contents, colors, most=most))
    return diffs


def _file(
    text: str,
    contents: Callable[[str], Iterable[str]],
    colors: Colors,
    *,
    most: int,
) -> FileDiff:
    """Return the diff of one file, with at most `most` rows."""
    begin = text.find("\n@@ ")
    if begin < 0:
        begin = len(text)
    head = text[:begin].split("\n")
    diff = FileDiff(
        path=_path(head),
        added=text.count("\n+", begin),
        removed=text.count("\n-", begin),
    )
    for line in head:
        if line.startswith("new file"):
            diff.kind = "added"
        elif line.startswith("deleted file"):
            diff.kind = "deleted"
        elif line.startswith("Binary files"):
            diff.rows.append(Row("note", note="not text"))
    if most:
        hunks = _hunks(text, begin, most)
        sides = _sides(hunks, diff.path, contents, colors)
        for hunk, (old, new) in zip(hunks, sides, strict=True):
            diff.rows += _rows(hunk, old, new)
    diff.cut = len(diff.rows) > most
    del diff.rows[most:]
    return diff


def _path(head: Sequence[str]) -> str:
    for mark, prefix in (("+++ ", "b/"), ("--- ", "a/")):
        names = [line.removeprefix(mark).rstrip("\t") for line in head if line.startswith(mark)]
        for name in names:
            if name != "/dev/null":
                return name.removeprefix(prefix)
    _, _, name = head[0].removeprefix("diff --git ").partition(" b/")
    return name or head[0]


def _hunks(text: str, begin: int, most: int) -> list[Hunk]:
    """Return the hunks of the first `most` rows, and of one more if there are more.

    A diff may have many lines: the rest is not read.
    """
    hunks: list[Hunk] = []
    rows = 0
    removed = 0
    added = 0
    for match in _LINE.finditer(text, begin + 1):
        line = match[0]
        sign = line[:1]
        if sign == "-":
            removed += 1
        elif sign == "+":
            added += 1
        elif sign in {" ", "@"}:
            rows += max(removed, added) + 1
            removed = 0
            added = 0
        if rows + added > most + 1:
            break
        if line.startswith("@@ "):
            hunks.append(_parse_hunk_header(line))
        elif sign in {" ", "+"} or (sign == "-" and removed <= most + 1):
            hunks[-1].lines.append(line)
    return hunks


def _parse_hunk_header(line: str) -> Hunk:
    position = _HUNK.match(line)
    if position is None:
        return Hunk(1, 1, "")
    return Hunk(int(position[1]), int(position[2]), note=position[3])


def _sides(
    hunks: Sequence[Hunk],
    path: str,
    contents: Callable[[str], Iterable[str]],
    colors: Colors,
) -> list[tuple[list[Markup], list[Markup]]]:
    """Return the lines of both sides of each hunk, with colors if the text before it is known."""
    if len(hunks) == 1 and hunks[0].old_number <= 1 and hunks[0].new_number <= 1:
        return [(colors.of(hunks[0].old, path), colors.of(hunks[0].new, path))]
    for text in contents(path):
        after = text.split("\n")
        before = _before(after, hunks)
        if all(hunk.fits(before, after) for hunk in hunks):
            old = colors.of(before, path)
            new = colors.of(after, path)
            return [(hunk.old_part(old), hunk.new_part(new)) for hunk in hunks]
    return [(plain(hunk.old), plain(hunk.new)) for hunk in hunks]


def _before(after: Sequence[str], hunks: Sequence[Hunk]) -> list[str]:
    """Return the lines of a file before its change."""
    before = list(after)
    for hunk in reversed(hunks):
        begin = hunk.new_number - 1
        before[begin : begin + len(hunk.new)] = hunk.old
    return before


def _rows(hunk: Hunk, old_lines: Iterable[Markup], new_lines: Iterable[Markup]) -> Iterator[Row]:
    old = map(Side, count(hunk.old_number), old_lines)
    new = map(Side, count(hunk.new_number), new_lines)
    position = f"line {hunk.new_number}"
    yield Row("hunk", note=f"{position}: {hunk.note}" if hunk.note else position)
    removed: list[Side] = []
    added: list[Side] = []
    for line in hunk.lines:
        if line[0] == "-":
            removed.append(next(old))
        elif line[0] == "+":
            added.append(next(new))
        else:
            yield from _paired(removed, added)
            removed = []
            added = []
            yield Row("same", next(old), next(new))
    yield from _paired(removed, added)


def _paired(removed: Sequence[Side], added: Sequence[Side]) -> Iterator[Row]:
    for old, new in zip_longest(removed, added):
        if old and new:
            yield Row("changed", old, new)
        elif old:
            yield Row("removed", old=old)
        else:
            yield Row("added", new=new)
