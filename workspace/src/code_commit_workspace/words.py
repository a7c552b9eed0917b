"""Words for people: numbers, paths, long text, and text that a terminal shows safely."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby

# The table of what is dangerous in text or cannot be seen, as pieces of character classes.
# Unicode categories Cc, Cs, Zl and Zp, but tabs and newlines.
CONTROL = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"
# Category Cf, and invisible letters and marks (fillers, selectors). U+FE0E and U+FE0F stay: they
# select the text or emoji style of a symbol.
INVISIBLE = (
    "\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_NAMED = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def printable(text: str, *, newlines: bool = True) -> str:
    """Return `text` with control and invisible characters escaped: `\\x1b`, `\\u202e`.

    These are control characters (which start ANSI and OSC sequences), carriage returns, characters
    that change the writing direction, invisible characters and lone surrogates. With `newlines`,
    newlines and tabs stay. Escaping twice changes nothing more.
    """
    return _unsafe(newlines=newlines).sub(_escaped, text)


def shorten(text: str, longest: int) -> str:
    """Return `text`, or its beginning and "…", in at most `longest` characters."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def join_paths(paths: Sequence[str], most: int = 10) -> str:
    """Join the first `most` paths with commas, and add the number of the others."""
    more = f" and {len(paths) - most} more" if len(paths) > most else ""
    return ", ".join(paths[:most]) + more


def count_of(number: int, noun: str, nouns: str = "") -> str:
    """Return a number with its noun: "1 file", "1,000 files".

    `nouns` is the plural if it is not `noun` plus "s".
    """
    return f"{number:,} {noun if number == 1 else nouns or f'{noun}s'}"


def count_by_folder(paths: Iterable[str], most: int = 10) -> Iterator[str]:
    """Yield the sorted `paths`; for a top-level folder with more than `most`, yield the folder and
    their number.
    """
    for top, below in groupby(paths, lambda path: path.partition("/")[0]):
        found = list(below)
        yield from found if len(found) <= most else [f"{top}/ ({count_of(len(found), 'file')})"]


@cache
def _unsafe(*, newlines: bool) -> re.Pattern[str]:
    more = "" if newlines else "\t\n"
    return re.compile(f"[{more}{CONTROL}{INVISIBLE}]")


def _escaped(found: re.Match[str]) -> str:
    character = found[0]
    code = ord(character)
    if character in _NAMED:
        return _NAMED[character]
    if code <= 0xFF:  # noqa: PLR2004 - two digits
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - four digits
