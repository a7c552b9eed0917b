"""A view that shows keys in dumps, as hexdump, od and xxd write them."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from code_commit_workspace.keys.view import BLANKS, LOWER, REACH, Span, View

_OFFSET = rb"[ \t+>|-]{0,2}(?:0x)?[0-9A-Fa-f]{4,16}:?"  # also in a diff or a quotation
_LINE_WITH_OFFSET = re.compile(rb"\n%s[ \t]" % _OFFSET)
_ROW = re.compile(
    rb"%s(?P<data>"
    rb"[ \t]+(?:[0-9A-Fa-f]{2} ){8} (?:[0-9A-Fa-f]{2} )*(?= *\|)"  # hexdump -C: two halves
    rb"|(?:   [!-~]|  \\[0-7a-z]| [0-7]{3}|    )++(?=[ \t\r]*$)"  # od -c
    rb"|[ \t]+[0-9A-Fa-f]{2,}(?:[ \t][0-9A-Fa-f]{2,})*"  # groups of digits: xxd, od, hexdump
    rb")[^\n]*" % _OFFSET,
    re.MULTILINE,
)
_ROWS = re.compile(rb"\n%s" % _ROW.pattern, re.MULTILINE)
# An offset is found much faster after its characters are mapped to 0, and those before it to
# blanks: then its beginning is fixed text.
_CLASSES = bytes.maketrans(b"123456789ABCDEFabcdefx:+>|-\t", b"0" * 23 + b" " * 5)
_OFFSETS = [re.compile(rb"\n%b00000{0,15} " % before) for before in (b"", b" ", b"  ")]
_MAY_BE_OFFSET = re.compile(rb"[ \t+>|-]{0,2}(?:0x?)?[0-9A-Fa-f]{0,16}:?")
_MAY_BE_ROW = re.compile(rb"%s|%s[ \t][^\n]*" % (_MAY_BE_OFFSET.pattern, _OFFSET))


class Dump(View):
    """Rows of a dump: an offset, digits or characters, and often the text.

    In a row that shows part of a key, everything but the offset is replaced.
    """

    def spans(self, data: bytes, *, at_line_start: bool) -> Iterator[Span]:
        """Yield the keys in `data`."""
        if not self._may_hold(data, at_line_start=at_line_start):
            return
        for rows in _blocks(data, at_line_start=at_line_start):
            squeezed, ends = self._squeezed(rows)
            for start, end, mark in self._search(squeezed):
                first = rows[bisect_right(ends, start)]
                last = rows[bisect_left(ends, end)]
                if last.end() - first.start() <= REACH:
                    begin = first.end("data") - len(first["data"].lstrip())
                    yield Span(begin, last.end(), mark)

    def unfinished(self, data: bytes, *, at_line_start: bool, at_least: int) -> int:
        """Return where in `data` a form begins that later data may complete, or `len(data)`."""
        line = data.rfind(b"\n") + 1
        if len(data) - line > REACH or not _MAY_BE_ROW.fullmatch(data, line):
            return len(data)
        first = max(0, len(data) - REACH)
        line_before = data.rfind(b"\n", first, max(line - 1, 0)) + 1
        row = None
        if line_before or (at_line_start and line and not first):
            row = _ROW.match(data, line_before)
        if row is None:
            # An offset alone shows no character of a key.
            is_offset = at_least > 1 and _MAY_BE_OFFSET.fullmatch(data, line)
            return len(data) if is_offset else line
        squeezed = row["data"].translate(LOWER, BLANKS)
        if not any(squeezed in form for form in self._marks):
            # No form contains the whole row, so none of an earlier row goes on after it.
            return line_before if self._beginning(squeezed) else line
        *_, rows = _blocks(data[first:line], at_line_start=at_line_start and not first)
        squeezed, ends = self._squeezed(rows)
        size = self._beginning(squeezed)
        if not size:
            return line
        row_of_beginning = rows[bisect_right(ends, len(squeezed) - size)]
        return first + row_of_beginning.start()

    def _may_hold(self, data: bytes, *, at_line_start: bool) -> bool:
        """Return whether the rows of `data` contain a form, even with other lines between them."""
        classes = data.translate(_CLASSES)
        rows = []
        if b"0000 " in classes and any(offset.search(classes) for offset in _OFFSETS):
            rows = _ROWS.findall(data)
        if at_line_start and (row := _ROW.match(data)):
            rows.insert(0, row["data"])
        if not rows:
            return False
        squeezed = b"".join(rows).translate(LOWER, BLANKS)
        return bool(self.present(squeezed))

    @staticmethod
    def _squeezed(rows: Sequence[re.Match[bytes]]) -> tuple[bytes, list[int]]:
        """Return the data of `rows` in lower case and without blanks, and where each row ends."""
        parts = [row["data"].translate(LOWER, BLANKS) for row in rows]
        return b"".join(parts), list(accumulate(map(len, parts)))


def _blocks(data: bytes, *, at_line_start: bool) -> Iterator[list[re.Match[bytes]]]:
    """Yield the rows of dumps in blocks: the rows of a block follow each other directly."""
    block: list[re.Match[bytes]] = []
    for row in _rows(data, at_line_start=at_line_start):
        if block and row.start() != block[-1].end() + 1:
            yield block
            block = []
        block.append(row)
    if block:
        yield block


def _rows(data: bytes, *, at_line_start: bool) -> Iterator[re.Match[bytes]]:
    if at_line_start and (row := _ROW.match(data)):
        yield row
    for offset in _LINE_WITH_OFFSET.finditer(data):
        if row := _ROW.match(data, offset.start() + 1):
            yield row
