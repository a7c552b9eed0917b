"""Words for people: numbers, paths, errors, misspelled names, and text that a terminal shows safely."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby

from code_commit_workspace.errors import CodeCommitError

# Unicode categories Cc, Cf, Cs, Zl and Zp, and invisible letters and marks (fillers, selectors).
# U+FE0E and U+FE0F stay: they select the text or emoji style of a symbol.
_UNSAFE = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "\ud800-\udfff"
)
_NAMED = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def printable(text: str, *, newlines: bool = True) -> str:
    """Return `text` with control and invisible characters escaped: `\\x1b`, `\\u202e`.

    These are control characters (which start ANSI and OSC sequences), carriage returns, characters
    that change the writing direction, invisible characters and lone surrogates. With `newlines`,
    newlines and tabs stay. Escaping twice changes nothing more.
    """
    return _unsafe(newlines=newlines).sub(_escaped, text)


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
        yield from found if len(found) <= most else [f"{top}/ ({len(found)} files)"]


def describe(error: BaseException, *, longest: int | None = None, with_hint: bool = False) -> str:
    """Return the type and message of an error on one line, even if its `__str__` fails.

    Cut the message to `longest` characters. `with_hint` adds the hint of a `CodeCommitError`.
    """
    try:
        words = " ".join(str(error).split())
    except Exception:  # noqa: BLE001 - a plugin's exception class may raise anything
        words = ""
    if longest is not None and len(words) > longest:
        words = words[:longest] + "…"
    if with_hint and isinstance(error, CodeCommitError) and error.hint:
        words += f" (hint: {error.hint})"
    name = type(error).__name__
    return f"{name}: {words}" if words else name


def traceback_of(error: BaseException) -> str:
    """Return the traceback of an error, as Python prints it."""
    from traceback import format_exception  # slow to import

    return "".join(format_exception(error))


def closest(word: str, known: Iterable[str], similarity: float = 0.6) -> str | None:
    """Return the name in `known` that is most similar to `word`, at least by `similarity` (0 to 1),
    or None.
    """
    from difflib import get_close_matches

    folded = {name.casefold(): name for name in known}
    close = get_close_matches(word.casefold(), folded, 1, similarity)
    return folded[close[0]] if close else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean X?` for the known name similar to `word`, or an empty text."""
    close = closest(word, known)
    return f"; did you mean {close}?" if close else ""


@cache
def _unsafe(*, newlines: bool) -> re.Pattern[str]:
    return re.compile(f"[{_UNSAFE}]" if newlines else f"[\t\n{_UNSAFE}]")


def _escaped(found: re.Match[str]) -> str:
    character = found[0]
    code = ord(character)
    if character in _NAMED:
        return _NAMED[character]
    if code <= 0xFF:  # noqa: PLR2004 - two digits
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - four digits
