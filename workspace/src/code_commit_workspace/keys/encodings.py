"""Views that show keys in text, and in encodings of one line or many."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from code_commit_workspace.keys.view import BLANKS, LOWER, Span, View

_ESCAPES = b"\\nrt"  # the characters in escapes of line breaks


class Text(View):
    """Text in an encoding of ASCII, or in UTF-16, where each character has a NUL next to it."""

    kept = re.compile(rb"[^\0]")

    def squeeze(self, data: bytes) -> bytes:
        """Return `data` without NULs."""
        return data.translate(None, b"\0") if b"\0" in data else data


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
        return data.translate(None, BLANKS)

    def spans(self, data: bytes, *, at_line_start: bool) -> Iterator[Span]:
        """Yield the keys in `data`."""
        if b"\\" in data:
            # A form without the letters of escapes is found with or without escapes in the data.
            if not self._rests.present(data.translate(None, _ESCAPES + BLANKS)):
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


class EncodedInString(View):
    """An encoding in lines inside a string: its line breaks are escaped, as in JSON."""

    kept = re.compile(rb"(?<!\\)(?<!\\\0)[nrt]|[^nrt\\\s\0]")
    _escape = re.compile(rb"\\\0?[nrt]?")

    def squeeze(self, data: bytes) -> bytes:
        """Return `data` without blanks and line breaks; nothing if it contains no escape."""
        return self._escape.sub(b"", data).translate(None, BLANKS) if b"\\" in data else b""


class Digits(View):
    """Hex and octal digits, with anything between them."""

    kept = re.compile(rb"[0-9A-Fa-f]")
    _others = bytes(set(range(256)) - set(b"0123456789ABCDEFabcdef"))

    def squeeze(self, data: bytes) -> bytes:
        """Return the hex digits of `data` in lower case."""
        return data.translate(LOWER, self._others)
