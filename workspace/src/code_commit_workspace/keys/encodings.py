"""Views that show keys in text, and in encodings of one line or many."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from code_commit_workspace.keys.view import BLANKS, LOWER, Span, View

_ESCAPES = b"\\nrt"  # the characters in escapes of line breaks


class Text(View):
    """Text in an encoding of ASCII, or in UTF-16, where each character has a NUL next to it."""

    significant = re.compile(rb"[^\0]")

    def squeeze(self, data: bytes) -> bytes:
        """Return `data` without NULs."""
        if b"\0" in data:
            return data.translate(None, b"\0")
        return data


class Encoded(View):
    """Base64, base32 and base85 in lines, also inside a string, and single lines of uuencode."""

    significant = re.compile(rb"[^\s\0]")

    def __init__(self, forms: Mapping[str, str]) -> None:
        super().__init__(forms)
        self._in_string = EncodedInString(forms)
        without_escapes: dict[str, str] = {}
        for form, mark in forms.items():
            letters = form.encode().translate(None, _ESCAPES).decode()
            if letters:
                without_escapes[letters] = mark
        self._without_escapes = View(without_escapes)

    def squeeze(self, data: bytes) -> bytes:
        """Return `data` without blanks and line breaks."""
        return data.translate(None, BLANKS)

    def spans(self, data: bytes, *, at_line_start: bool) -> Iterator[Span]:
        """Yield the keys in `data`."""
        if b"\\" in data:
            # A form without the letters of escapes is found with or without escapes in the data.
            if not self._without_escapes.present(data.translate(None, _ESCAPES + BLANKS)):
                return
            yield from self._in_string.spans(data, at_line_start=at_line_start)
        yield from super().spans(data, at_line_start=at_line_start)

    def unfinished(self, data: bytes, *, at_line_start: bool, at_least: int) -> int:
        """Return where in `data` a form begins that later data may complete, or `len(data)`."""
        in_lines = super().unfinished(data, at_line_start=at_line_start, at_least=at_least)
        in_string = self._in_string.unfinished(data, at_line_start=at_line_start, at_least=at_least)
        return min(in_lines, in_string)


class EncodedInString(View):
    """An encoding in lines inside a string: its line breaks are escaped, as in JSON."""

    significant = re.compile(rb"(?<!\\)(?<!\\\0)[nrt]|[^nrt\\\s\0]")
    _escape = re.compile(rb"\\\0?[nrt]?")

    def squeeze(self, data: bytes) -> bytes:
        """Return `data` without blanks and line breaks; nothing if it contains no escape."""
        if b"\\" not in data:
            return b""
        return self._escape.sub(b"", data).translate(None, BLANKS)


class Digits(View):
    """Hex and octal digits, with anything between them."""

    significant = re.compile(rb"[0-9A-Fa-f]")
    _not_digits = bytes(set(range(256)) - set(b"0123456789ABCDEFabcdef"))

    def squeeze(self, data: bytes) -> bytes:
        """Return the hex digits of `data` in lower case."""
        return data.translate(LOWER, self._not_digits)
