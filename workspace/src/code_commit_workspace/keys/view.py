"""A view of data: the data without the characters that may separate those of a key."""

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
_SAMPLES = 256  # read at once
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

    `significant` matches one character that stays.
    """

    significant: re.Pattern[bytes]

    def __init__(self, forms: Mapping[str, str]) -> None:
        self._marks = {form.encode(): mark.encode() for form, mark in forms.items()}
        self._sorted = sorted(self._marks)
        by_length = sorted(self._marks, key=len)
        self._lengths = [len(form) for form in by_length]
        self.shortest = self._lengths[0]
        self._longest = self._lengths[-1]
        self._needles = [(form, min(form), max(form)) for form in by_length]

    def squeeze(self, data: bytes) -> bytes:
        """Return the characters of `data` that stay."""
        raise NotImplementedError

    def spans(self, data: bytes, *, at_line_start: bool) -> Iterator[Span]:  # noqa: ARG002 - for dumps
        """Yield the keys in `data`."""
        squeezed = self.squeeze(data)
        spans = list(self._search(squeezed))
        if not spans:
            return
        origins: Sequence[int] = range(len(data))
        if squeezed is not data:
            origins = [match.start() for match in self.significant.finditer(data)]
        for start, end, mark in spans:
            span = Span(origins[start], origins[end - 1] + 1, mark)
            if span.end - span.start <= REACH:
                yield span

    def unfinished(
        self,
        data: bytes,
        *,
        at_line_start: bool,  # noqa: ARG002 - for dumps
        at_least: int,
    ) -> int:
        """Return where in `data` a form begins that later data may complete, or `len(data)`."""
        tail = data[-REACH:]
        size = self._beginning(self.squeeze(tail))
        if size < at_least:
            return len(data)
        return len(data) - len(tail) + self._start_of_last(tail, size)

    def _search(self, squeezed: bytes) -> Iterator[Span]:
        """Yield the keys in squeezed data."""
        for form in self.present(squeezed):
            mark = self._marks[form]
            start = squeezed.find(form)
            while start >= 0:
                end = start + len(form)
                yield Span(start, end, mark)
                # The last match that overlaps with this one covers those between.
                start = squeezed.rfind(form, start + 1, end + len(form) - 1)
                if start < 0:
                    start = squeezed.find(form, end)

    def present(self, squeezed: bytes) -> list[bytes]:
        """Return the forms in squeezed data."""
        candidates = self._needles[: bisect_right(self._lengths, len(squeezed))]
        if len(squeezed) > _LARGE and (samples := self._long_forms) and samples.misses(squeezed):
            candidates = candidates[: len(self._needles) - samples.count]
        # A search for one byte is far quicker than one for a form, and short lines seldom contain
        # both bytes.
        return [
            form
            for form, low, high in candidates
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
        if first is None or costs[first] > len(forms):
            return None
        return Samples(forms[first:])

    @cached_property
    def _sizes(self) -> Mapping[bytes, Sequence[int]]:
        """The sizes of beginnings of forms, largest first, by the end of the beginning."""
        sizes_by_end: dict[bytes, list[int]] = {}
        for size in range(self._longest - 1, _END - 1, -1):
            for form in self._marks:
                if size < len(form):
                    end = form[size - _END : size]
                    sizes = sizes_by_end.setdefault(end, [])
                    if size not in sizes[-1:]:
                        sizes.append(size)
        return sizes_by_end

    @cached_property
    def _shortest_beginnings(self) -> AbstractSet[bytes]:
        return {form[:size] for form in self._marks for size in range(1, _END)}

    def _beginning(self, squeezed: bytes) -> int:
        """Return the length of the longest end of `squeezed` with which a longer form begins."""
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
        """Return where the last `size` significant characters begin."""
        width = 2 * size + 64
        while True:
            starts = [match.start() for match in self.significant.finditer(data[-width:])]
            # Not `>=`: the first may be part of an escape.
            if len(starts) > size or width >= len(data):
                return max(len(data) - width, 0) + starts[-size]
            width *= 4


class Samples:
    """All parts of eight bytes of `forms`, which have at least 16 bytes each.

    Data that holds a form holds a part of it at a multiple of `step`.
    """

    def __init__(self, forms: Sequence[bytes]) -> None:
        self.count = len(forms)
        self.step = min(map(len, forms)) - _SAMPLE + 1
        self._parts: set[bytes] = set()
        for form in forms:
            starts = range(len(form) - _SAMPLE + 1)
            self._parts.update(form[start : start + _SAMPLE] for start in starts)
        sample_and_gap = f"{_SAMPLE}s{self.step - _SAMPLE}x"
        self._block = struct.Struct(sample_and_gap * _SAMPLES)

    def misses(self, data: bytes) -> bool:
        """Return whether `data` certainly holds no form."""
        start = 0
        while start + self._block.size <= len(data):
            samples = self._block.unpack_from(data, start)
            if not self._parts.isdisjoint(samples):
                return False
            start += self._block.size
        last_starts = range(start, len(data), self.step)
        last_samples = [data[start : start + _SAMPLE] for start in last_starts]
        return self._parts.isdisjoint(last_samples)
