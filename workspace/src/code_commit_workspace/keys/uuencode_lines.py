"""A view that shows keys in lines of uuencode. Each line begins with its length."""

from __future__ import annotations

import re
from collections.abc import Iterator

from code_commit_workspace.keys.left_out import leave_out
from code_commit_workspace.keys.view import REACH, Span, View

_FULL_LENGTH = b"M"  # begins a line of uuencode with 60 characters
_FULL_LINE = re.compile(rb"\nM[ -`]{60}[^\r\n]?\r?\n")
_FULL = 62  # bytes of such a line and its end
_LINE_BEGINS = re.compile(rb"\r?\n[^\r\n]?")  # of uuencode: its first character is its length


class LinesOfUuencode(View):
    """Uuencode in lines: each begins with its length, one character.

    `Encoded` finds what is in one line.
    """

    def spans(self, data: bytes, *, at_line_start: bool) -> Iterator[Span]:
        """Yield the keys that continue after a full line."""
        full_line = _FULL_LINE.search(data)
        if full_line is None and at_line_start:
            full_line = _FULL_LINE.match(b"\n" + data[:_FULL])
        if full_line is None:
            return
        joined = leave_out(data, _LINE_BEGINS)
        for start, end, mark in self._search(joined.data):
            span = Span(joined.origin(start), joined.origin(end - 1) + 1, mark)
            if span.end - span.start <= REACH:
                yield span

    def unfinished(self, data: bytes, *, at_line_start: bool, at_least: int) -> int:
        """Return where a full line begins that may hold the beginning of a form, or `len(data)`.

        The whole line is needed: only lines after a full one are searched.
        """
        line = data.rfind(b"\n") + 1
        text = data[line + 1 :]
        line_before = b""
        if line:
            start_before = data.rfind(b"\n", 0, line - 1) + 1
            line_before = data[start_before:line]
        is_line = line > 0 or at_line_start
        last_is_full = is_line and data.startswith(_FULL_LENGTH, line)
        before_is_full = _FULL <= len(line_before) <= _FULL + 3
        may_continue = before_is_full and any(text in form for form in self._marks)
        if not (last_is_full or may_continue):
            return len(data)
        first = max(0, len(data) - 2 * self._longest - 2 * _FULL)
        joined = leave_out(data[first:], _LINE_BEGINS)
        size = self._beginning(joined.data)
        if size < at_least:
            return len(data)
        beginning = first + joined.origin(len(joined.data) - size)
        return max(0, data.rfind(b"\n", 0, beginning))
