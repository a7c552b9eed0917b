"""What passes between the program and a person: text made safe to show on a terminal, and lines that were typed."""

from __future__ import annotations

import re
import sys
from functools import cache

# Categories Cc, Cf, Cs, Zl and Zp of Unicode, and the letters and marks that show nothing (fillers, selectors).
# U+FE0E and U+FE0F stay: they choose between the two pictures of a symbol.
_UNSAFE = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "\ud800-\udfff"
)
_NAMED = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def printable(text: str, *, newlines: bool = True) -> str:
    """Return `text` with every character escaped that a terminal obeys or does not show: `\\x1b`, `\\u202e`.

    That is control characters (ANSI and OSC sequences begin with them), carriage returns, whatever changes the
    direction of writing, invisible characters and lone surrogates. Newlines and tabs stay if `newlines`. What it
    returns, it returns unchanged when asked again.
    """
    return _unsafe(newlines=newlines).sub(_escaped, text)


def read_answer() -> str | None:
    """Read one line from stdin, without its end; None at the end of input."""
    # Bytes, for what is typed need not be UTF-8; no stdin at all where the caller has closed it.
    line = sys.stdin.buffer.readline() if sys.stdin else b""
    return line.decode("utf-8", "replace").rstrip("\r\n") if line else None


@cache
def _unsafe(*, newlines: bool) -> re.Pattern[str]:
    return re.compile(f"[{_UNSAFE}]" if newlines else f"[\t\n{_UNSAFE}]")


def _escaped(found: re.Match[str]) -> str:
    character = found[0]
    code = ord(character)
    if character in _NAMED:
        return _NAMED[character]
    if code <= 0xFF:  # noqa: PLR2004 - what two digits hold
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - what four digits hold
