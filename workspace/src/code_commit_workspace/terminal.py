"""Make text safe for a terminal, and write to streams that may be closed or shared."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from functools import cache
from itertools import groupby
from stat import S_ISCHR
from typing import TextIO

from code_commit_workspace.errors import NotReady

# Unicode categories Cc, Cf, Cs, Zl and Zp, and invisible letters and marks (fillers, selectors).
# U+FE0E and U+FE0F stay: they select the text or emoji style of a symbol.
_UNSAFE = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "\ud800-\udfff"
)
_COLUMNS = 80  # of a terminal whose width is unknown
_NARROWEST = 16  # a narrower column is hard to read
_NAMED = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def printable(text: str, *, newlines: bool = True) -> str:
    """Return `text` with control and invisible characters escaped: `\\x1b`, `\\u202e`.

    These are control characters (which start ANSI and OSC sequences), carriage returns, characters that change the
    writing direction, invisible characters and lone surrogates. With `newlines`, newlines and tabs stay. Escaping twice
    changes nothing more.
    """
    return _unsafe(newlines=newlines).sub(_escaped, text)


def join_paths(paths: Sequence[str], most: int = 10) -> str:
    """Join the first `most` paths with commas, and add the number of the others."""
    more = f" and {len(paths) - most} more" if len(paths) > most else ""
    return ", ".join(paths[:most]) + more


def count_of(number: int, noun: str, nouns: str = "") -> str:
    """Return a number with its noun: "1 file", "1,000 files". `nouns` is the plural if it is not `noun` plus "s"."""
    return f"{number:,} {noun if number == 1 else nouns or f'{noun}s'}"


def count_by_folder(paths: Iterable[str], most: int = 10) -> Iterator[str]:
    """Yield the sorted `paths`; for a top-level folder with more than `most`, yield the folder and their number."""
    for top, below in groupby(paths, lambda path: path.partition("/")[0]):
        found = list(below)
        yield from found if len(found) <= most else [f"{top}/ ({len(found)} files)"]


def can_repaint(stream: TextIO | None, environ: Mapping[str, str]) -> bool:
    """Return whether `stream` is a terminal that can repaint a line, by `TERM` in `environ`."""
    if stream is None or stream.closed or not stream.isatty():
        return False
    return environ.get("TERM", "") not in {"", "dumb"}


def may_color(stream: TextIO | None, environ: Mapping[str, str]) -> bool:
    """Return whether `stream` is a terminal with colors, and `NO_COLOR` in `environ` allows them."""
    return can_repaint(stream, environ) and not environ.get("NO_COLOR")


class SafeStream:
    """Writes to `stream` until an error, and drops everything after it.

    A pipe into `head` or a closed terminal does not change how the run ends.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream  # None: Python found the descriptor closed
        self.failure: Exception | None = None  # of the stream, unless the reader closed it
        self._number = 0  # of the last line that has one

    @property
    def encoding(self) -> str:
        """The encoding that decides which symbols can be drawn."""
        return getattr(self._stream, "encoding", None) or "ascii"

    def write(self, text: str, number: int = 0) -> int:
        """Write `text`, unless the stream failed before."""
        if self._stream is not None:
            try:
                self._number = number or self._number
                self._stream.write(text)  # no step between the two: Ctrl-C comes before or after both
            except UnicodeEncodeError:
                return self.write(text.encode("ascii", "backslashreplace").decode())
            except (OSError, ValueError) as error:
                self._give_up(error)
        return len(text)

    def print(self, text: str, *, number: int = 0) -> None:
        """Write a line of escaped text, and flush it. A line that repeats the last `number` is not written again."""
        line = printable(text) + "\n"
        if number == 0 or number != self._number:
            self.write(line, number)
        self.flush()

    def flush(self) -> None:
        """Flush the stream."""
        if self._stream is not None:
            try:
                self._stream.flush()
            except (OSError, ValueError) as error:
                self._give_up(error)

    def isatty(self) -> bool:
        """Return whether the stream is a terminal."""
        return self._stream is not None and self._stream.isatty()

    def fileno(self) -> int:
        """Return the descriptor.

        Raises:
            OSError: there is none.
        """
        if self._stream is None:
            raise OSError("closed")
        return self._stream.fileno()

    def _give_up(self, error: Exception) -> None:
        """Drop the stream. The interpreter flushes it at exit, and an error there would exit with 120."""
        self.failure = None if isinstance(error, BrokenPipeError) else error
        stream, self._stream = self._stream, None
        if stream is not None:
            discard_output(stream)


@contextmanager
def stdout_aside() -> Iterator[None]:
    """Redirect stdout to stderr, also for child processes, and restore the working directory at the end.

    stdout may be a stream of JSON. Use this only while there is one thread.
    """
    folder = os.open(".", getattr(os, "O_PATH", os.O_RDONLY) | os.O_CLOEXEC)  # it may be unreadable
    try:
        kept = os.dup(1)
    except OSError:  # the caller closed it
        kept = -1
    try:
        with redirect_stdout(sys.stderr):
            if kept >= 0:
                with suppress(OSError):  # there is no stderr
                    os.dup2(2, 1)
            yield
    finally:
        if kept >= 0:
            os.dup2(kept, 1)
            os.close(kept)
        os.fchdir(folder)
        os.close(folder)


def terminal_columns(environ: Mapping[str, str]) -> int:
    """Return the columns of the terminal: `COLUMNS` in `environ`, else those of stdout; 80 without a terminal.

    `shutil.get_terminal_size` does the same, but is slow to import.
    """
    with suppress(ValueError):
        if (columns := int(environ.get("COLUMNS", ""))) > 0:
            return columns
    with suppress(OSError, AttributeError, ValueError):
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or _COLUMNS  # type: ignore[union-attr]
    return _COLUMNS


def align_columns(rows: Sequence[Sequence[str]], columns: int = 0) -> str:
    """Return a table, each column as wide as its widest cell. Wrap the last cells if the table exceeds `columns`."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    begin = sum(widths[:-1]) + 2 * len(widths[:-1])
    if max(map(len, lines), default=0) > columns >= begin + _NARROWEST:
        import textwrap

        indent = " " * begin
        lines = [
            textwrap.fill(line, columns, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)
            for line in lines
        ]
    return "".join(f"{line}\n" for line in lines)


def write_stdout(stream: TextIO, text: str) -> None:
    """Write `text` to `stream`, which is stdout, and flush it.

    Raises:
        BrokenPipeError: the reader is gone, or the terminal was closed.
        NotReady: it cannot be written.
    """
    try:
        if text:  # an unbuffered stream writes an empty one, too, which fails on a full device
            stream.write(text)
        stream.flush()
    except (OSError, ValueError) as error:
        closed = getattr(error, "errno", None) == errno.EIO and S_ISCHR(os.fstat(stream.fileno()).st_mode)
        discard_output(stream)
        if closed or isinstance(error, BrokenPipeError):
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)) from None
        reason = getattr(error, "strerror", error)
        raise NotReady(f"stdout cannot be written: {reason}", hint="redirect stdout to a disk with space") from None


def discard_output(stream: TextIO) -> None:
    """Redirect `stream`, which cannot be written, to the null device, including its buffered output."""
    with suppress(OSError, ValueError, AttributeError):
        null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.dup2(null, stream.fileno())
        finally:
            os.close(null)


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
