"""Find keys in data, in each form of `key_forms`.

Programs break encodings into lines and groups. So each form is searched in a view of the data that leaves out whatever
may separate its characters.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from code_commit_workspace.key_forms import base64_forms, digit_forms, escaped_forms, mark_of

_REACH = 16 * 1024  # a key that is spread over more bytes is not found
_HEAD = 4  # characters of a form to look for first
_FEW = 32  # in so few characters, try each one as the beginning of a form
_BLANKS = b" \t\r\n\v\f\0"  # NUL: text in UTF-16 is ASCII with a NUL next to each character
_ESCAPES = b"\\nrt"  # the characters in escapes of line breaks
_LOWER = bytes(range(256)).lower()
_OFFSET = rb"[ \t+>|-]{0,2}(?:0x)?[0-9A-Fa-f]{4,16}:?"  # also in a diff or a quotation
_LINE_WITH_OFFSET = re.compile(rb"\n%s[ \t]" % _OFFSET)
_ROW = re.compile(
    rb"%s(?P<data>"
    rb"[ \t]+(?:[0-9A-Fa-f]{2} ){8} (?:[0-9A-Fa-f]{2} )*(?= *\|)"  # hexdump -C: two halves
    rb"|(?:   [!-~]|  \\[0-7a-z]| [0-7]{3}|    )+(?=[ \t\r]*$)"  # od -c
    rb"|[ \t]+[0-9A-Fa-f]{2,}(?:[ \t][0-9A-Fa-f]{2,})*"  # groups of digits: xxd, od, hexdump
    rb")[^\n]*" % _OFFSET,
    re.MULTILINE,
)
_ROWS = re.compile(rb"\n%s" % _ROW.pattern, re.MULTILINE)
# An offset is found much faster after its characters are mapped to 0, and those before it to blanks: then its beginning
# is fixed text.
_CLASSES = bytes.maketrans(b"123456789ABCDEFabcdefx:+>|-\t", b"0" * 23 + b" " * 5)
_OFFSETS = [re.compile(rb"\n%b00000{0,15} " % before) for before in (b"", b" ", b"  ")]
_MAY_BE_OFFSET = re.compile(rb"[ \t+>|-]{0,2}(?:0x?)?[0-9A-Fa-f]{0,16}:?")
_MAY_BE_ROW = re.compile(rb"%s|%s[ \t][^\n]*" % (_MAY_BE_OFFSET.pattern, _OFFSET))


class Span(NamedTuple):
    """A key from `start` to `end` in the data, and its replacement."""

    start: int
    end: int
    mark: bytes


class KeySearch:
    """Finds the forms of `keys` in data."""

    reach = _REACH

    def __init__(self, keys: Sequence[str]) -> None:
        escaped = dict(form for key in keys for form in escaped_forms(key))
        base64 = {form: mark_of(key) for key in keys for form in base64_forms(key)}
        digits = {form: mark_of(key) for key in keys for form in digit_forms(key)}
        letters = {key.replace(" ", "").lower(): mark_of(key) for key in keys}
        self._views: tuple[View, ...] = (
            Text(escaped),
            Base64(base64),
            Digits(digits),
            Dump(letters | digits),
        )
        self._shortest = min(view.shortest for view in self._views)

    def finds(self, data: bytes) -> bool:
        """Return whether `data` contains a key."""
        return any(next(view.spans(data, at_line_start=True), None) for view in self._views)

    def spans(self, data: bytes, *, at_line_start: bool = True) -> list[Span]:
        """Return the keys in `data`, which may overlap, by position; at the same position, the longest first."""
        if len(data) < self._shortest:
            return []
        found = {span for view in self._views for span in view.spans(data, at_line_start=at_line_start)}
        return sorted(found, key=lambda span: (span.start, -span.end, span.mark))

    def unfinished(self, data: bytes, *, at_line_start: bool, at_least: int = 1) -> int:
        """Return where in `data` a key begins that may continue in later data; `len(data)` if nowhere.

        A beginning with fewer than `at_least` characters does not count.
        """
        return min(view.unfinished(data, at_line_start=at_line_start, at_least=at_least) for view in self._views)


class View:
    """Data without the characters that may separate those of a form.

    `kept` matches one character that stays.
    """

    kept: re.Pattern[bytes]

    def __init__(self, forms: Mapping[str, str]) -> None:
        self._marks = {form.encode(): mark.encode() for form, mark in forms.items()}
        self._sorted = sorted(self._marks)
        self.shortest, self._longest = min(map(len, self._marks)), max(map(len, self._marks))
        self._heads = {form[:_HEAD] for form in self._marks}
        self._needles = [(form, min(form), max(form)) for form in self._marks]

    def squeeze(self, data: bytes) -> bytes:
        """Return the characters of `data` that stay."""
        raise NotImplementedError

    def spans(self, data: bytes, *, at_line_start: bool) -> Iterator[Span]:  # noqa: ARG002 - for dumps
        """Yield the keys in `data`."""
        squeezed = self.squeeze(data)
        found = list(self._found(squeezed))
        if found:
            at = range(len(data)) if squeezed is data else [each.start() for each in self.kept.finditer(data)]
            spans = (Span(at[start], at[end - 1] + 1, mark) for start, end, mark in found)
            yield from (span for span in spans if span.end - span.start <= _REACH)

    def unfinished(self, data: bytes, *, at_line_start: bool, at_least: int) -> int:  # noqa: ARG002 - for dumps
        """Return where in `data` a form begins that may continue in later data; `len(data)` if nowhere."""
        tail = data[-_REACH:]
        size = self._beginning(self.squeeze(tail))
        return len(data) - (len(tail) - self._start_of_last(tail, size) if size >= at_least else 0)

    def _found(self, squeezed: bytes) -> Iterator[Span]:
        """Yield the keys in squeezed data."""
        for form in self.present(squeezed):
            start, mark = squeezed.find(form), self._marks[form]
            while start >= 0:
                yield Span(start, start + len(form), mark)
                # The last match that overlaps with this one covers those between.
                overlapping = squeezed.rfind(form, start + 1, start + 2 * len(form) - 1)
                start = overlapping if overlapping >= 0 else squeezed.find(form, start + len(form))

    def present(self, squeezed: bytes) -> list[bytes]:
        """Return the forms in squeezed data."""
        if len(squeezed) < self.shortest:
            return []
        # A search for one byte is far quicker than one for a form, and short lines seldom contain both bytes.
        return [form for form, low, high in self._needles if low in squeezed and high in squeezed and form in squeezed]

    def _beginning(self, squeezed: bytes) -> int:
        """Return the length of the longest suffix of `squeezed` that is a proper prefix of a form."""
        tail = squeezed[1 - self._longest :]
        starts: Iterable[int] = range(len(tail))
        if len(tail) > _FEW:
            starts = sorted(start for head in self._heads for start in _positions(head, tail))
            starts = (*starts, *range(len(tail) - _HEAD + 1, len(tail)))
        for start in starts:
            place = bisect_right(self._sorted, tail[start:])
            if place < len(self._sorted) and self._sorted[place].startswith(tail[start:]):
                return len(tail) - start
        return 0

    def _start_of_last(self, data: bytes, size: int) -> int:
        """Return where the last `size` kept characters begin."""
        width = 2 * size + 64
        while True:
            kept = [each.start() for each in self.kept.finditer(data[-width:])]
            if len(kept) > size or width >= len(data):  # not `>=`: the first may be part of an escape
                return max(len(data) - width, 0) + kept[-size]
            width *= 4


class Text(View):
    """Text in an encoding of ASCII, or in UTF-16, where each character has a NUL next to it."""

    kept = re.compile(rb"[^\0]")

    def squeeze(self, data: bytes) -> bytes:
        """Return `data` without NULs."""
        return data.translate(None, b"\0") if b"\0" in data else data


class EscapedBase64(View):
    """Base64 in lines inside a string: its line breaks are escaped, as in JSON."""

    kept = re.compile(rb"(?<!\\)(?<!\\\0)[nrt]|[^nrt\\\s\0]")
    _escape = re.compile(rb"\\\0?[nrt]?")

    def squeeze(self, data: bytes) -> bytes:
        """Return `data` without blanks and line breaks; nothing if it contains no escape."""
        return self._escape.sub(b"", data).translate(None, _BLANKS) if b"\\" in data else b""


class Base64(View):
    """Base64 in lines, also inside a string."""

    kept = re.compile(rb"[^\s\0]")

    def __init__(self, forms: Mapping[str, str]) -> None:
        super().__init__(forms)
        self._escaped = EscapedBase64(forms)
        self._rests = View({form.encode().translate(None, _ESCAPES).decode(): mark for form, mark in forms.items()})

    def squeeze(self, data: bytes) -> bytes:
        """Return `data` without blanks and line breaks."""
        return data.translate(None, _BLANKS)

    def spans(self, data: bytes, *, at_line_start: bool) -> Iterator[Span]:
        """Yield the keys in `data`."""
        if b"\\" in data:
            # A form without the letters of escapes is found with or without escapes in the data.
            if not self._rests.present(data.translate(None, _ESCAPES + _BLANKS)):
                return
            yield from self._escaped.spans(data, at_line_start=at_line_start)
        yield from super().spans(data, at_line_start=at_line_start)

    def unfinished(self, data: bytes, *, at_line_start: bool, at_least: int) -> int:
        """Return where in `data` a form begins that may continue in later data; `len(data)` if nowhere."""
        place = super().unfinished(data, at_line_start=at_line_start, at_least=at_least)
        return min(place, self._escaped.unfinished(data, at_line_start=at_line_start, at_least=at_least))


class Digits(View):
    """Hex and octal digits, with anything between them."""

    kept = re.compile(rb"[0-9A-Fa-f]")
    _others = bytes(set(range(256)) - set(b"0123456789ABCDEFabcdef"))

    def squeeze(self, data: bytes) -> bytes:
        """Return the hex digits of `data` in lower case."""
        return data.translate(_LOWER, self._others)


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
            for start, end, mark in self._found(squeezed):
                first, last = rows[bisect_right(ends, start)], rows[bisect_left(ends, end)]
                if last.end() - first.start() <= _REACH:
                    yield Span(first.end("data") - len(first["data"].lstrip()), last.end(), mark)

    def unfinished(self, data: bytes, *, at_line_start: bool, at_least: int) -> int:
        """Return where in `data` a form begins that may continue in later data; `len(data)` if nowhere."""
        line = data.rfind(b"\n") + 1
        if len(data) - line > _REACH or not _MAY_BE_ROW.fullmatch(data, line):
            return len(data)
        first = max(0, len(data) - _REACH)
        last = data.rfind(b"\n", first, max(line - 1, 0)) + 1
        row = _ROW.match(data, last) if last or (at_line_start and line and not first) else None
        if not row:  # an offset alone shows no character of a key
            return len(data) if at_least > 1 and _MAY_BE_OFFSET.fullmatch(data, line) else line
        squeezed = row["data"].translate(_LOWER, _BLANKS)
        if not any(squeezed in form for form in self._marks):  # else a form may begin in an earlier row
            return last if self._beginning(squeezed) else line
        *_, rows = _blocks(data[first:line], at_line_start=at_line_start and not first)
        squeezed, ends = self._squeezed(rows)
        size = self._beginning(squeezed)
        return first + rows[bisect_right(ends, len(squeezed) - size)].start() if size else line

    def _may_hold(self, data: bytes, *, at_line_start: bool) -> bool:
        """Return whether the rows of `data` contain a form, even with other lines between them."""
        classes = data.translate(_CLASSES)
        rows = []
        if b"0000 " in classes and any(offset.search(classes) for offset in _OFFSETS):
            rows = _ROWS.findall(data)
        if at_line_start and (row := _ROW.match(data)):
            rows.insert(0, row["data"])
        return bool(rows and self.present(b"".join(rows).translate(_LOWER, _BLANKS)))

    @staticmethod
    def _squeezed(rows: Sequence[re.Match[bytes]]) -> tuple[bytes, list[int]]:
        """Return the data of `rows` in lower case and without blanks, and where the data of each row ends."""
        squeezed = [row["data"].translate(_LOWER, _BLANKS) for row in rows]
        return b"".join(squeezed), list(accumulate(map(len, squeezed)))


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


def _positions(head: bytes, data: bytes) -> Iterator[int]:
    start = data.find(head)
    while start >= 0:
        yield start
        start = data.find(head, start + 1)
