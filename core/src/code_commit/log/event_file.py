"""`events.jsonl`: a structlog logger, whose processors redact each event, add its envelope and render its line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from code_commit.imports import import_without
from code_commit.log.folder import EVENTS
from code_commit.log.json_lines import as_line
from code_commit.plugin_api.event import Record
from code_commit_workspace import LineFile, Redactor

with import_without("rich"):  # for structlog's developer tracebacks
    import structlog
    from structlog.typing import EventDict, WrappedLogger


class EventFile:
    """Appends the records of one run. It is not thread-safe: the run log holds a lock."""

    def __init__(self, folder: int, run: str, *, redactor: Redactor, clock: Callable[[], float]) -> None:
        self.failure: OSError | None = None
        self._redactor = redactor
        self._clock = clock
        # Locked while this process lives: so readers know that the run is running.
        self._file = LineFile(folder, EVENTS)
        self.close = self._file.close
        self._seq = 0
        self._logger = structlog.wrap_logger(
            self,
            processors=[self._redact, structlog.processors.EventRenamer("kind"), self._render],
            wrapper_class=structlog.BoundLogger,
            context_class=dict,
            run=run,
        ).bind()

    def record(self, kind: str, data: Mapping[str, Any], *, span: int, parent: int | None) -> Record:
        """Append an event and return its record. An error of the file is stored in `failure`; the run continues.

        Raises:
            ValueError: the data is not JSON.
        """
        record: Record = self._logger.append(kind, data=data, span=span, parent=parent)
        return record

    def append(self, line: bytes, record: Record) -> Record:
        """Write the line of the last processor."""
        self._seq = record.seq  # only now: an event that is not JSON takes no number
        try:
            self._file.append(line)
        except OSError as error:
            self.failure = error
        return record

    def _redact(self, _logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        return {**event, "event": self._redactor.text(event["event"]), "data": self._redactor.json(event["data"])}

    def _render(self, _logger: WrappedLogger, _method: str, event: EventDict) -> tuple[tuple[bytes, Record], EventDict]:
        record = Record(seq=self._seq + 1, time=round(self._clock(), 6), **event)
        return (as_line(record).encode() + b"\n", record), {}
