"""`--json`: every record as one line on stdout."""

from __future__ import annotations

from typing import TextIO

from code_commit.log.safe_stream import SafeStream
from code_commit.plugin_api.event import Record
from code_commit.plugin_api.run_files import as_line, record_fields


class JsonLines:
    """A log sink that prints each record at once. Whether anybody reads them is not the run's business."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = SafeStream(stream)

    def receive(self, record: Record) -> None:
        """Print a line.

        Raises:
            OSError: it could not be written, though a reader is there.
        """
        self._stream.write(as_line(record_fields(record)) + "\n")
        self._stream.flush()
        if self._stream.failure is not None:
            raise self._stream.failure

    def close(self) -> None:
        """The stream is not ours to close."""
