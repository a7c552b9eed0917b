"""A standard stream whose reader may go away at any time."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TextIO


class SafeStream:
    """Writes to `stream` while that works, and to nowhere from the first failure on.

    Who pipes into `head` or closes the terminal does not change how the run ends.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream  # None: Python found the descriptor closed
        self.failure: Exception | None = None  # why no more is written, unless the reader went away

    @property
    def encoding(self) -> str:
        """The encoding that decides which symbols can be drawn."""
        return getattr(self._stream, "encoding", None) or "ascii"

    def write(self, text: str) -> int:
        """Write `text` as far as the reader is there."""
        if self._stream is not None:
            try:
                self._stream.write(text)
            except UnicodeEncodeError:
                return self.write(text.encode("ascii", "backslashreplace").decode())
            except (OSError, ValueError) as error:
                self._give_up(error)
        return len(text)

    def flush(self) -> None:
        """Send what was written."""
        if self._stream is not None:
            try:
                self._stream.flush()
            except (OSError, ValueError) as error:
                self._give_up(error)

    def isatty(self) -> bool:
        """Whether a person reads along."""
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
        """Drop the stream. The interpreter flushes the rest at its end, and exits with 120 where that fails."""
        self.failure = None if isinstance(error, BrokenPipeError) else error
        stream, self._stream = self._stream, None
        if stream is not None:
            lead_nowhere(stream)


def lead_nowhere(stream: TextIO) -> None:
    """Let what was and will be written to `stream` vanish, for it cannot be written."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.dup2(nowhere, stream.fileno())
        finally:
            os.close(nowhere)
