"""Standard streams whose readers may close at any time."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, TextIO

from code_commit.plugin_api.event import Record


class SafeStream:
    """Writes to `stream` until an error, and drops everything after it.

    A pipe into `head` or a closed terminal does not change how the run ends.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream  # None: Python found the descriptor closed
        self.failure: Exception | None = None  # of the stream, unless the reader closed it

    @property
    def encoding(self) -> str:
        """The encoding that decides which symbols can be drawn."""
        return getattr(self._stream, "encoding", None) or "ascii"

    def write(self, text: str) -> int:
        """Write `text`, unless the stream failed before."""
        if self._stream is not None:
            try:
                self._stream.write(text)
            except UnicodeEncodeError:
                return self.write(text.encode("ascii", "backslashreplace").decode())
            except (OSError, ValueError) as error:
                self._give_up(error)
        return len(text)

    def flush(self) -> None:
        """Flush the stream."""
        if self._stream is not None:
            try:
                self._stream.flush()
            except (OSError, ValueError) as error:
                self._give_up(error)

    def isatty(self) -> bool:
        """Whether the stream is a terminal."""
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


def discard_output(stream: TextIO) -> None:
    """Redirect `stream` to the null device, including buffered output: it cannot be written."""
    with suppress(OSError, ValueError, AttributeError):
        null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.dup2(null, stream.fileno())
        finally:
            os.close(null)


class JsonLines:
    """The log sink of `--json`: print each record as a line of JSON. A closed pipe does not end the run."""

    name = "json"

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = SafeStream(stream)

    def receive(self, record: Record) -> None:
        """Print a line.

        Raises:
            OSError: it cannot be written, and the pipe is not closed.
        """
        self._stream.write(as_line(record_fields(record)) + "\n")
        self._stream.flush()
        if self._stream.failure is not None:
            raise self._stream.failure

    def close(self) -> None:
        """Leave the stream open: it belongs to the caller."""


def as_line(fields: Mapping[str, Any]) -> str:
    """Render the fields of a record without a newline.

    The line is ASCII, so no reader splits it at U+2028, and it cannot control a terminal.

    Raises:
        ValueError: a value is not JSON, such as NaN.
    """
    return json.dumps(fields, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def record_fields(record: Record) -> dict[str, Any]:
    """Return the fields of `record` in the order of a line."""
    return {
        "seq": record.seq,
        "time": record.time,
        "run": record.run,
        "span": record.span,
        "parent": record.parent,
        "kind": record.kind,
        "data": record.data,
        "version": record.version,
    }
