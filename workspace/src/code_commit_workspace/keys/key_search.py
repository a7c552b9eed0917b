"""Find keys in data, in each form of `key_forms`.

Programs break encodings into lines and groups. So each form is searched for in a view of the data
that leaves out whatever may separate its characters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from code_commit_workspace.keys.dumps import Dump
from code_commit_workspace.keys.encodings import Digits, Encoded, Text
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
from code_commit_workspace.keys.uuencode_lines import LinesOfUuencode
from code_commit_workspace.keys.view import REACH, Span, View

_LEAST_UNSPACED = 8  # characters of uuencode


class KeySearch:
    """Finds the forms of `keys` in data."""

    reach = REACH

    def __init__(self, keys: Sequence[str]) -> None:
        escaped: dict[str, str] = {}
        encoded: dict[str, str] = {}
        uuencoded: dict[str, str] = {}
        digits: dict[str, str] = {}
        letters: dict[str, str] = {}
        for key in keys:
            mark = mark_of(key)
            escaped.update(escaped_forms(key))
            encoded.update(dict.fromkeys(_encoded_forms(key), mark))
            uuencoded.update(dict.fromkeys(uuencode_forms(key), mark))
            digits.update(dict.fromkeys(digit_forms(key), mark))
            letters[key.replace(" ", "").lower()] = mark
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
        if self._finds(data):
            return True
        return any(self._finds(shown.data) for shown in visible(data))

    def _finds(self, data: bytes) -> bool:
        for view in self._views:
            if next(view.spans(data, at_line_start=True), None) is not None:
                return True
        return False

    def spans(self, data: bytes, *, at_line_start: bool = True) -> list[Span]:
        """Return the keys in `data` by position; they may overlap.

        At the same position, the longest comes first.
        """
        if len(data) < self._shortest:
            return []
        spans = self._spans(data, at_line_start=at_line_start)
        for shown in visible(data):
            for start, end, mark in self._spans(shown.data, at_line_start=at_line_start):
                span = Span(shown.origin(start), shown.origin(end - 1) + 1, mark)
                if span.end - span.start <= REACH:
                    spans.add(span)
        return sorted(spans, key=_order)

    def unfinished(self, data: bytes, *, at_line_start: bool, at_least: int = 1) -> int:
        """Return where in `data` a key begins that later data may complete, or `len(data)`.

        A beginning with fewer than `at_least` characters does not count.
        """
        place = self._unfinished(data, at_line_start=at_line_start, at_least=at_least)
        first = max(0, len(data) - REACH)
        for shown in visible_so_far(data[first:]):
            is_start = at_line_start and not first
            begin = self._unfinished(shown.data, at_line_start=is_start, at_least=at_least)
            if begin < len(shown.data):
                place = min(place, first + shown.origin(begin))
        return place

    def _spans(self, data: bytes, *, at_line_start: bool) -> set[Span]:
        spans: set[Span] = set()
        for view in self._views:
            spans.update(view.spans(data, at_line_start=at_line_start))
        return spans

    def _unfinished(self, data: bytes, *, at_line_start: bool, at_least: int) -> int:
        return min(
            view.unfinished(data, at_line_start=at_line_start, at_least=at_least)
            for view in self._views
        )


class JoinedSearch:
    """Finds the keys of several searches."""

    reach = REACH

    def __init__(self, searches: Sequence[KeySearch]) -> None:
        self._searches = searches

    def finds(self, data: bytes) -> bool:
        """Return whether `data` contains a key."""
        return any(search.finds(data) for search in self._searches)

    def spans(self, data: bytes, *, at_line_start: bool = True) -> list[Span]:
        """Return the keys in `data`, in the order of `KeySearch.spans`."""
        spans = {
            span
            for search in self._searches
            for span in search.spans(data, at_line_start=at_line_start)
        }
        return sorted(spans, key=_order)

    def unfinished(self, data: bytes, *, at_line_start: bool, at_least: int = 1) -> int:
        """Return the least result of `KeySearch.unfinished`."""
        return min(
            search.unfinished(data, at_line_start=at_line_start, at_least=at_least)
            for search in self._searches
        )


def _order(span: Span) -> tuple[int, int, bytes]:
    return span.start, -span.end, span.mark


def _encoded_forms(key: str) -> Iterator[str]:
    """Yield the forms that are searched in data without blanks."""
    yield from base64_forms(key)
    yield from base32_forms(key)
    yield from base85_forms(key)
    for form in uuencode_forms(key):
        unspaced = form.replace(" ", "")
        if len(unspaced) >= _LEAST_UNSPACED:
            yield unspaced
