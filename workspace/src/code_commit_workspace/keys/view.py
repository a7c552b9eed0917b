"""A view of data: what is left of it without the characters that may separate those of a key."""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import NamedTuple

REACH = 16 * 1024  # a key that is spread over more bytes is not found
_LARGE = 4096  # bytes
_SAMPLE = 8  # bytes
_SAMPLES = 256  # to look at at once
_COST_OF_SAMPLE = 900  # bytes that a search for one form passes meanwhile
_END = 4  # characters of a beginning to look up
BLANKS = b" \t\r\n\v\f\0"  # NUL: text in UTF-16 is ASCII with a NUL next to each character
LOWER = bytes(range(256)).lower()


class Span(NamedTuple):
    """A key from `start` to `end` in the data, and its replacement."""

    start: int
    end: int
    mark: bytes


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
        if not found:
            return
        origins: Sequence[int] = range(len(data))
        if squeezed is not data:
            origins = [match.start() for match in self.kept.finditer(data)]
        for start, end, mark in found:
            span = Span(origins[start], origins[end - 1] + 1, mark)
            if span.end - span.start <= REACH:
                yield span

    def unfinished(self, data: bytes, *, at_line_start: bool, at_least: int) -> int:  # noqa: ARG002 - for dumps
        """Return where in `data` a form begins that may continue in later data; `len(data)` if
        nowhere.
        """
        tail = data[-REACH:]
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
