"""Write to streams that may be closed or shared."""

from __future__ import annotations

import errno
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from contextvars import ContextVar
from stat import S_ISCHR
from typing import Any, TextIO

from code_commit_workspace import NotReady
from code_commit_workspace.words import printable

_ASIDE: ContextVar[bool] = ContextVar("aside", default=False)


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
                # No step between the two: Ctrl-C comes before or after both.
                self._stream.write(text)
            except UnicodeEncodeError:
                return self.write(text.encode("ascii", "backslashreplace").decode())
            except (OSError, ValueError) as error:
                self._give_up(error)
        return len(text)

    def print(self, text: str, *, number: int = 0) -> None:
        """Write a line of escaped text, and flush it.

        A line that repeats the last `number` is not written again.
        """
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
        """Drop the stream.

        The interpreter flushes it at exit, and an error there would exit with 120.
        """
        if not isinstance(error, BrokenPipeError):
            self.failure = error
        stream, self._stream = self._stream, None
        if stream is not None:
            discard_output(stream)


class _StdoutOfThread:
    """`sys.stdout` of one thread; what other threads print goes to stderr."""

    def __init__(self, stdout: TextIO) -> None:
        self.stdout = stdout
        self._thread = threading.get_ident()

    def __getattr__(self, name: str) -> Any:
        stream = self.stdout
        if _ASIDE.get() or threading.get_ident() != self._thread:
            stream = sys.stderr
        return getattr(stream, name)


@contextmanager
def stdout_of_this_thread() -> Iterator[None]:
    """Redirect to stderr what other threads print, until the end of the block."""
    stdout = sys.stdout
    proxy: Any = _StdoutOfThread(stdout)
    sys.stdout = proxy
    try:
        yield
    finally:
        sys.stdout = stdout


@contextmanager
def prints_aside() -> Iterator[None]:
    """Redirect to stderr what the block prints, but not its child processes."""
    if not isinstance(sys.stdout, _StdoutOfThread):
        with redirect_stdout(sys.stderr):
            yield
        return
    token = _ASIDE.set(True)
    try:
        yield
    finally:
        _ASIDE.reset(token)


@contextmanager
def stdout_aside() -> Iterator[None]:
    """Redirect stdout to stderr, also for child processes; then restore the working directory.

    stdout may be a stream of JSON. Use this only while there is one thread.
    """
    folder = os.open(".", getattr(os, "O_PATH", os.O_RDONLY) | os.O_CLOEXEC)  # it may be unreadable
    try:
        saved_stdout = os.dup(1)
    except OSError:  # the caller closed it
        saved_stdout = -1
    try:
        with redirect_stdout(sys.stderr):
            if saved_stdout >= 0:
                with suppress(OSError):  # there is no stderr
                    os.dup2(2, 1)
            yield
    finally:
        if saved_stdout >= 0:
            os.dup2(saved_stdout, 1)
            os.close(saved_stdout)
        os.fchdir(folder)
        os.close(folder)


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
        is_closed = isinstance(error, BrokenPipeError)
        if getattr(error, "errno", None) == errno.EIO:  # of a terminal that was closed
            is_closed = S_ISCHR(os.fstat(stream.fileno()).st_mode)
        discard_output(stream)
        if is_closed:
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)) from None
        reason = getattr(error, "strerror", error)
        raise NotReady(
            f"stdout cannot be written: {reason}", hint="redirect stdout to a disk with space"
        ) from None


def discard_output(stream: TextIO) -> None:
    """Redirect `stream`, which cannot be written, and its buffered output to the null device."""
    with suppress(OSError, ValueError, AttributeError):
        null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.dup2(null, stream.fileno())
        finally:
            os.close(null)
