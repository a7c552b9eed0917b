"""Find keys in data, in each form of `key_forms`.

Programs break encodings into lines and groups. So each form is searched in a view of the data that
leaves out whatever may separate its characters.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from code_commit_workspace.keys.invisible import visible, visible_so_far
from code_commit_workspace.keys.key_forms import (
    base32_forms,
    base64_forms,
    base85_forms,
    digit_forms,
    escaped_forms,
    mark_of,
    uuencode_forms,
)
from code_commit_workspace.keys.left_out import leave_out

_LEAST_UNSPACED = 8  # characters of uuencode
_REACH = 16 * 1024  # a key that is spread over more bytes is not found
_LARGE = 4096  # bytes
_SAMPLE = 8  # bytes
_SAMPLES = 256  # to look at at once
_COST_OF_SAMPLE = 900  # bytes that a search for one form passes meanwhile
_END = 4  # characters of a beginning to look up
_FULL_LENGTH = b"M"  # begins a line of uuencode with 60 characters
_FULL_LINE = re.compile(rb"\nM[ -`]{60}[^\r\n]?\r?\n")
_FULL = 62  # bytes of such a line and its end
_LINE_BEGINS = re.compile(rb"\r?\n[^\r\n]?")  # of uuencode: its first character is its length
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
# An offset is found much faster after its characters are mapped to 0, and those before it to
# blanks: then its beginning is fixed text.
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
        encoded = {form: mark_of(key) for key in keys for form in _encoded_forms(key)}
        uuencoded = {form: mark_of(key) for key in keys for form in uuencode_forms(key)}
        digits = {form: mark_of(key) for key in keys for form in digit_forms(key)}
        letters = {key.replace(" ", "").lower(): mark_of(key) for key in keys}
        self._views: tuple[View, ...] = (
            Text(escaped),
            Encoded(encoded),
            LinesOfUuencode(uuencoded),
            Digits(digits),
            Dump(letters | digits),
        )
        self._shortest = min(view.shortest for view in self._views)

    def finds(self, data: bytes) -> bool:
        """Return whether `data` contains a key."""
        return any(
            next(view.spans(searched, at_line_start=True), None) is not None
            for searched in (data, *(shown.data for shown in visible(data)))
            for view in self._views
        )

    def spans(self, data: bytes, *, at_line_start: bool = True) -> list[Span]:
        """Return the keys in `data`, which may overlap, by position; at the same position, the
        longest first.
        """
        if len(data) < self._shortest:
            return []
        found = self._found(data, at_line_start=at_line_start)
        for shown in visible(data):
            for start, end, mark in self._found(shown.data, at_line_start=at_line_start):
                span = Span(shown.origin(start), shown.origin(end - 1) + 1, mark)
                if span.end - span.start <= _REACH:
                    found.add(span)
        return sorted(found, key=lambda span: (span.start, -span.end, span.mark))

    def unfinished(self, data: bytes, *, at_line_start: bool, at_least: int = 1) -> int:
        """Return where in `data` a key begins that may continue in later data; `len(data)` if
        nowhere.

        A beginning with fewer than `at_least` characters does not count.
        """
        place = self._unfinished(data, at_line_start=at_line_start, at_least=at_least)
        first = max(0, len(data) - _REACH)
        for shown in visible_so_far(data[first:]):
            is_start = at_line_start and not first
            begin = self._unfinished(shown.data, at_line_start=is_start, at_least=at_least)
            if begin < len(shown.data):
                place = min(place, first + shown.origin(begin))
        return place

    def _found(self, data: bytes, *, at_line_start: bool) -> set[Span]:
        return {
            span for view in self._views for span in view.spans(data, at_line_start=at_line_start)
        }

    def _unfinished(self, data: bytes, *, at_line_start: bool, at_least: int) -> int:
        return min(
            view.unfinished(data, at_line_start=at_line_start, at_least=at_least)
            for view in self._views
        )


class Samples:
    """Parts of `forms` of at least 16 bytes.

    Data that holds a form holds a part of it at a multiple of `step`.
    """

    def __init__(self, forms: Sequence[bytes]) -> None:
        self.count = len(forms)
        self.step = min(map(len, forms)) - _SAMPLE + 1
        self._parts = {
            form[at : at + _SAMPLE] for form in forms for at in range(len(form) - _SAMPLE + 1)
        }
        self._many = struct.Struct(f"{_SAMPLE}s{self.step - _SAMPLE}x" * _SAMPLES)

    def misses(self, data: bytes) -> bool:
        """Return whether `data` certainly holds no form."""
        at = 0
        while at + self._many.size <= len(data):
            if not self._parts.isdisjoint(self._many.unpack_from(data, at)):
                return False
            at += self._many.size
        return self._parts.isdisjoint(
            [data[at : at + _SAMPLE] for at in range(at, len(data), self.step)]
        )


class View:
    """Data without the characters that may separate those of a form.

    `kept` matches one character that stays.
    """

    kept: re.Pattern[bytes]

    def __init__(self, forms: Mapping[str, str]) -> None:
        self._marks = {form.encode(): mark.encode() for form, mark in forms.items()}
        self._sorted = sorted(self._marks)
        self.shortest, self._longest = min(map(len, self._marks)), max(map(len, self._marks))
        by_length = sorted(self._marks, key=len)
        self._lengths = [len(form) for form in by_length]
        self._needles = [(form, min(form), max(form)) for form in by_length]

    def squeeze(self, data: bytes) -> bytes:
        """Return the characters of `data` that stay."""
        raise NotImplementedError

    def spans(self, data: bytes, *, at_line_start: bool) -> Iterator[Span]:  # noqa: ARG002 - for dumps
        """Yield the keys in `data`."""
        squeezed = self.squeeze(data)
        found = list(self._found(squeezed))
        if found:
            at = (
                range(len(data))
                if squeezed is data
                else [each.start() for each in self.kept.finditer(data)]
            )
            spans = (Span(at[start], at[end - 1] + 1, mark) for start, end, mark in found)
            yield from (span for span in spans if span.end - span.start <= _REACH)

    def unfinished(self, data: bytes, *, at_line_start: bool, at_least: int) -> int:  # noqa: ARG002 - for dumps
        """Return where in `data` a form begins that may continue in later data; `len(data)` if
        nowhere.
        """
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
        # A search for one byte is far quicker than one for a form, and short lines seldom contain
        # both bytes.
        may_be = self._needles[: bisect_right(self._lengths, len(squeezed))]
        if len(squeezed) > _LARGE and (long := self._long_forms) and long.misses(squeezed):
            may_be = may_be[: len(self._needles) - long.count]
        return [
            form
            for form, low, high in may_be
            if low in squeezed and high in squeezed and form in squeezed
        ]

    @cached_property
    def _long_forms(self) -> Samples | None:
        """The longest forms, if samples find them more quickly than one search for each."""
        forms = [form for form, *_ in self._needles]
        costs = {
            first: first + _COST_OF_SAMPLE / (len(form) - _SAMPLE + 1)
            for first, form in enumerate(forms)
            if len(form) >= 2 * _SAMPLE
        }
        first = min(costs, key=costs.__getitem__, default=None)
        return None if first is None or costs[first] > len(forms) else Samples(forms[first:])

    @cached_property
    def _sizes(self) -> Mapping[bytes, Sequence[int]]:
        """The sizes of beginnings of forms, largest first, by the last characters of the beginning."""
        found: dict[bytes, list[int]] = {}
        for size in range(self._longest - 1, _END - 1, -1):
            for form in self._marks:
                if size < len(form):
                    sizes = found.setdefault(form[size - _END : size], [])
                    if size not in sizes[-1:]:
                        sizes.append(size)
        return found

    @cached_property
    def _shortest_beginnings(self) -> AbstractSet[bytes]:
        return {form[:size] for form in self._marks for size in range(1, _END)}

    def _beginning(self, squeezed: bytes) -> int:
        """Return the length of the longest suffix of `squeezed` that is a proper prefix of a form."""
        for size in self._sizes.get(squeezed[-_END:], ()):
            if size <= len(squeezed):
                tail = squeezed[-size:]
                place = bisect_right(self._sorted, tail)
                if place < len(self._sorted) and self._sorted[place].startswith(tail):
                    return size
        for size in range(_END - 1, 0, -1):
            if squeezed[-size:] in self._shortest_beginnings and size <= len(squeezed):
                return size
        return 0

    def _start_of_last(self, data: bytes, size: int) -> int:
        """Return where the last `size` kept characters begin."""
        width = 2 * size + 64
        while True:
            kept = [each.start() for each in self.kept.finditer(data[-width:])]
            # Not `>=`: the first may be part of an escape.
            if len(kept) > size or width >= len(data):
                return max(len(data) - width, 0) + kept[-size]
            width *= 4


class Text(View):
    """Text in an encoding of ASCII, or in UTF-16, where each character has a NUL next to it."""

    kept = re.compile(rb"[^\0]")

    def squeeze(self, data: bytes) -> bytes:
        """Return `data` without NULs."""
        return data.translate(None, b"\0") if b"\0" in data else data


class EncodedInString(View):
    """An encoding in lines inside a string: its line breaks are escaped, as in JSON."""

    kept = re.compile(rb"(?<!\\)(?<!\\\0)[nrt]|[^nrt\\\s\0]")
    _escape = re.compile(rb"\\\0?[nrt]?")

    def squeeze(self, data: bytes) -> bytes:
        """Return `data` without blanks and line breaks; nothing if it contains no escape."""
        return self._escape.sub(b"", data).translate(None, _BLANKS) if b"\\" in data else b""


class Encoded(View):
    """Base64, base32 and base85 in lines, also inside a string, and what is in one line of
    uuencode.
    """

    kept = re.compile(rb"[^\s\0]")

    def __init__(self, forms: Mapping[str, str]) -> None:
        super().__init__(forms)
        self._in_string = EncodedInString(forms)
        rests = {
            form.encode().translate(None, _ESCAPES).decode(): mark for form, mark in forms.items()
        }
        self._rests = View({rest: mark for rest, mark in rests.items() if rest})

    def squeeze(self, data: bytes) -> bytes:
        """Return `data` without blanks and line breaks."""
        return data.translate(None, _BLANKS)

    def spans(self, data: bytes, *, at_line_start: bool) -> Iterator[Span]:
        """Yield the keys in `data`."""
        if b"\\" in data:
            # A form without the letters of escapes is found with or without escapes in the data.
            if not self._rests.present(data.translate(None, _ESCAPES + _BLANKS)):
                return
            yield from self._in_string.spans(data, at_line_start=at_line_start)
        yield from super().spans(data, at_line_start=at_line_start)

    def unfinished(self, data: bytes, *, at_line_start: bool, at_least: int) -> int:
        """Return where in `data` a form begins that may continue in later data; `len(data)` if
        nowhere.
        """
        place = super().unfinished(data, at_line_start=at_line_start, at_least=at_least)
        return min(
            place, self._in_string.unfinished(data, at_line_start=at_line_start, at_least=at_least)
        )


class LinesOfUuencode(View):
    """Uuencode in lines: each begins with its length, one character.

    `Encoded` finds what is in one line.
    """

    def spans(self, data: bytes, *, at_line_start: bool) -> Iterator[Span]:
        """Yield the keys that continue after a full line."""
        if not (
            _FULL_LINE.search(data) or (at_line_start and _FULL_LINE.match(b"\n" + data[:_FULL]))
        ):
            return
        left = leave_out(data, _LINE_BEGINS)
        for start, end, mark in self._found(left.data):
            span = Span(left.origin(start), left.origin(end - 1) + 1, mark)
            if span.end - span.start <= _REACH:
                yield span

    def unfinished(self, data: bytes, *, at_line_start: bool, at_least: int) -> int:
        """Return where a full line begins that may hold a form which continues; `len(data)` if
        nowhere.

        The whole line is needed: only lines after a full one are searched.
        """
        line = data.rfind(b"\n") + 1
        inside = data[line + 1 :]
        before = data[data.rfind(b"\n", 0, line - 1) + 1 : line] if line else b""
        last_is_full = data.startswith(_FULL_LENGTH, line) and bool(line or at_line_start)
        may_continue = _FULL <= len(before) <= _FULL + 3 and any(
            inside in form for form in self._marks
        )
        if not (last_is_full or may_continue):
            return len(data)
        first = max(0, len(data) - 2 * self._longest - 2 * _FULL)
        left = leave_out(data[first:], _LINE_BEGINS)
        size = self._beginning(left.data)
        if size < at_least:
            return len(data)
        begin = first + left.origin(len(left.data) - size)
        return max(0, data.rfind(b"\n", 0, begin))


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
        """Return where in `data` a form begins that may continue in later data; `len(data)` if
        nowhere.
        """
        line = data.rfind(b"\n") + 1
        if len(data) - line > _REACH or not _MAY_BE_ROW.fullmatch(data, line):
            return len(data)
        first = max(0, len(data) - _REACH)
        last = data.rfind(b"\n", first, max(line - 1, 0)) + 1
        row = _ROW.match(data, last) if last or (at_line_start and line and not first) else None
        if not row:  # an offset alone shows no character of a key
            return len(data) if at_least > 1 and _MAY_BE_OFFSET.fullmatch(data, line) else line
        squeezed = row["data"].translate(_LOWER, _BLANKS)
        # Else a form may begin in an earlier row.
        if not any(squeezed in form for form in self._marks):
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
        """Return the data of `rows` in lower case and without blanks, and where the data of each
        row ends.
        """
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


def _encoded_forms(key: str) -> Iterator[str]:
    """Yield the forms that are searched in data without blanks."""
    yield from base64_forms(key)
    yield from base32_forms(key)
    yield from base85_forms(key)
    for form in uuencode_forms(key):
        if len(unspaced := form.replace(" ", "")) >= _LEAST_UNSPACED:
            yield unspaced
