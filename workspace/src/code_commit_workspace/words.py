"""Words for people: numbers, paths, errors, misspelled names, how a process ended.

`printable` makes a text safe for terminals.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import groupby

from code_commit_workspace.errors import CodeCommitError

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
    if len(text) <= longest:
        return text
    return f"{text[: longest - 1]}…"


def join_paths(paths: Sequence[str], most: int = 10) -> str:
    """Join the first `most` paths with commas, and add how many more there are."""
    text = ", ".join(paths[:most])
    if len(paths) > most:
        text += f" and {len(paths) - most} more"
    return text


def count_of(number: int, noun: str, nouns: str = "") -> str:
    """Return a number with its noun: "1 file", "1,000 files".

    `nouns` is the plural if it is not `noun` plus "s".
    """
    if number == 1:
        return f"1 {noun}"
    plural = nouns or f"{noun}s"
    return f"{number:,} {plural}"


def count_by_folder(paths: Iterable[str], most: int = 10) -> Iterator[str]:
    """Yield the sorted `paths`, but only their number for a top-level folder with many.

    Many are more than `most`.
    """
    for folder, group in groupby(paths, lambda path: path.partition("/")[0]):
        paths_below = list(group)
        if len(paths_below) <= most:
            yield from paths_below
        else:
            yield f"{folder}/ ({count_of(len(paths_below), 'file')})"


def describe_ending(
    exit_code: int | None,
    signal: int | None = None,
    time_limit: float | None = None,
) -> str:
    """Return `ProcessResult.ending` for these values.

    As in `subprocess`, a negative `exit_code` is that of a signal. A `time_limit` of 0 is unknown.
    """
    if time_limit:
        return f"ran into its time limit of {time_limit:g} s"
    if time_limit is not None:
        return "ran into its time limit"
    if exit_code is None:
        return f"was ended by {_signal(signal)}"
    if exit_code < 0:
        return f"was ended by {_signal(-exit_code)}"
    return f"ended with exit code {exit_code}"


def describe(error: BaseException, *, longest: int | None = None, with_hint: bool = False) -> str:
    """Return the type and message of an error on one line, even if its `__str__` fails.

    Cut the message to `longest` characters. `with_hint` adds the hint of a `CodeCommitError`.
    """
    try:
        words = " ".join(str(error).split())
    except Exception:  # noqa: BLE001 - a plugin's exception class may raise anything
        words = ""
    if longest is not None:
        words = shorten(words, longest)
    if with_hint and isinstance(error, CodeCommitError) and error.hint:
        words += f" (hint: {error.hint})"
    name = type(error).__name__
    if not words:
        return name
    return f"{name}: {words}"


def traceback_of(error: BaseException) -> str:
    """Return the traceback of an error, as Python prints it."""
    from traceback import format_exception  # slow to import

    return "".join(format_exception(error))


def closest(word: str, known: Iterable[str], similarity: float = 0.6) -> str | None:
    """Return the known name that is most similar to `word`, or None.

    It is similar at least by `similarity`, from 0 to 1.
    """
    from difflib import get_close_matches

    by_folded = {name.casefold(): name for name in known}
    matches = get_close_matches(word.casefold(), by_folded, n=1, cutoff=similarity)
    return by_folded[matches[0]] if matches else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean X?` for the known name similar to `word`, or an empty text."""
    name = closest(word, known)
    return f"; did you mean {name}?" if name else ""


@cache
def _unsafe(*, newlines: bool) -> re.Pattern[str]:
    unsafe = CONTROL + INVISIBLE
    if not newlines:
        unsafe += "\t\n"
    return re.compile(f"[{unsafe}]")


def _escaped(match: re.Match[str]) -> str:
    character = match[0]
    if character in _NAMED:
        return _NAMED[character]
    code = ord(character)
    if code <= 0xFF:  # noqa: PLR2004 - two digits
        return f"\\x{code:02x}"
    if code <= 0xFFFF:  # noqa: PLR2004 - four digits
        return f"\\u{code:04x}"
    return f"\\U{code:08x}"


def _signal(number: int | None) -> str:
    if number is None:
        return "a signal"
    from signal import Signals  # slow to import, and needed here alone

    with suppress(ValueError):  # a real-time signal has no name
        return f"signal {number} ({Signals(number).name})"
    return f"signal {number}"
