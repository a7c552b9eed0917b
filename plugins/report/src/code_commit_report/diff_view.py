"""Show a unified diff in two columns, with syntax colors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Literal

from markupsafe import Markup, escape

from code_commit_report.lexers import lexer_for
from code_commit_report.text import visible

if TYPE_CHECKING:
    from pygments.lexer import Lexer

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)")
_ROWS = 3000  # per file
_COLOURED = 100_000  # characters of one hunk; above this, a lexer may be slow
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


@dataclass(frozen=True, slots=True)
class Side:
    """One half of a row; `number` is the line number in the file."""

    number: int
    code: Markup


@dataclass(frozen=True, slots=True)
class Row:
    """`same`, `changed`, `removed` or `added` lines side by side; a `hunk` row has its position in `note`."""

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


def file_diffs(text: str) -> list[FileDiff]:
    """Parse git's output; skip everything that is not a diff."""
    return [
        _file(part.split("\n"))
        for part in re.split(r"^(?=diff --git )", text, flags=re.MULTILINE)
        if part[:10] == "diff --git"
    ]


def _file(lines: Sequence[str]) -> FileDiff:
    begin = next((index for index, line in enumerate(lines) if line.startswith("@@ ")), len(lines))
    diff = FileDiff(_path(lines[:begin]))
    for line in lines[:begin]:
        if line.startswith("new file"):
            diff.what = "added"
        elif line.startswith("deleted file"):
            diff.what = "deleted"
        elif line.startswith("Binary files"):
            diff.rows.append(Row("note", note="not text"))
    lexer = lexer_for(diff.path)
    for hunk in _hunks(lines[begin:]):
        diff.removed += sum(line.startswith("-") for line in hunk[1:])
        diff.added += sum(line.startswith("+") for line in hunk[1:])
        if len(diff.rows) < _ROWS:
            diff.rows += _rows(hunk, lexer)
    diff.cut = len(diff.rows) > _ROWS
    del diff.rows[_ROWS:]
    return diff


def _path(head: Sequence[str]) -> str:
    for mark, prefix in (("+++ ", "b/"), ("--- ", "a/")):
        for line in head:
            name = line.removeprefix(mark).rstrip("\t")
            if line.startswith(mark) and name != "/dev/null":
                return name.removeprefix(prefix)
    return head[0].removeprefix("diff --git ").partition(" b/")[2] or head[0]


def _hunks(lines: Sequence[str]) -> Iterator[list[str]]:
    hunk: list[str] = []
    for line in lines:
        if line.startswith("@@ "):
            if hunk:
                yield hunk
            hunk = [line]
        elif line[:1] in {" ", "+", "-", "\\"}:
            hunk.append(line)
    if hunk:
        yield hunk


def _rows(hunk: Sequence[str], lexer: Lexer | None) -> Iterator[Row]:
    place = _HUNK.match(hunk[0])
    old_number, new_number = (int(place[1]), int(place[2])) if place else (1, 1)
    yield Row("hunk", note=f"line {new_number}" + (f": {place[3]}" if place and place[3] else ""))
    old = iter(_coloured([line[1:] for line in hunk[1:] if line[:1] in {" ", "-"}], lexer))
    new = iter(_coloured([line[1:] for line in hunk[1:] if line[:1] in {" ", "+"}], lexer))
    removed: list[Side] = []
    added: list[Side] = []
    for line in [*hunk[1:], " "]:
        mark = line[:1]
        if mark == "-":
            removed.append(Side(old_number, next(old)))
            old_number += 1
        elif mark == "+":
            added.append(Side(new_number, next(new)))
            new_number += 1
        elif mark == "\\":
            continue
        else:
            yield from _paired(removed, added)
            removed, added = [], []
            left, right = next(old, None), next(new, None)
            if left is not None and right is not None:
                yield Row("same", Side(old_number, left), Side(new_number, right))
            old_number, new_number = old_number + 1, new_number + 1


def _paired(removed: Sequence[Side], added: Sequence[Side]) -> Iterator[Row]:
    for old, new in zip_longest(removed, added):
        yield Row("changed" if old and new else "removed" if old else "added", old, new)


def _coloured(lines: Sequence[str], lexer: Lexer | None) -> list[Markup]:
    """Return each line as markup; they are lexed as one text, because tokens may span lines."""
    text = "\n".join(str(visible(line)) for line in lines)
    plain = [escape(line) for line in text.split("\n")]
    if lexer is None or len(text) > _COLOURED:
        return plain
    pieces: list[list[Markup]] = [[]]
    for kind, value in lexer.get_tokens(text):
        for index, piece in enumerate(value.split("\n")):
            if index:
                pieces.append([])
            if piece:
                pieces[-1].append(_span(kind, piece))
    coloured = [Markup().join(parts) for parts in pieces]
    # A lexer may drop or add a line ending; then leave the colors out rather than show a wrong line.
    same = len(coloured) == len(plain) and all(
        one.striptags() == other.striptags() for one, other in zip(coloured, plain, strict=True)
    )
    return coloured if same else plain


def _span(kind: Any, text: str) -> Markup:
    name = str(kind).removeprefix("Token.")
    for start, css in _CLASSES:
        if name.startswith(start):
            return Markup('<span class="{}">{}</span>').format(css, text)
    return escape(text)
