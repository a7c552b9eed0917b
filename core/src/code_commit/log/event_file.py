"""`events.jsonl`: each event is redacted, put into its envelope and appended as one line, by structlog."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from code_commit.imports import import_without
from code_commit.log.folder import EVENTS, Redacts
from code_commit.plugin_api.event import Record
from code_commit.plugin_api.run_files import as_line, record_fields

with import_without("rich"):  # its tracebacks for developers
    import structlog
    from structlog.typing import EventDict, WrappedLogger

_APPEND = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
VERSION = 1


class EventFile:
    """Appends the records of one run. Not for several threads at once: the run log holds its lock."""

    def __init__(self, folder: int, run: str, *, redactor: Redacts, clock: Callable[[], float]) -> None:
        self.failure: OSError | None = None
        self._handle = os.open(EVENTS, _APPEND, 0o600, dir_fd=folder)
        # Held as long as this process lives, so that a reader can tell a killed run from one that goes on.
        # Where locks do not exist the reader falls back to the process id.
        with suppress(OSError):
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._torn = False
        self._seq = 0
        self._logger: _EventLogger = structlog.wrap_logger(
            self,
            processors=[_Redaction(redactor), _Envelope(clock), _render],
            wrapper_class=_EventLogger,
            context_class=dict,
            cache_logger_on_first_use=False,
            run=run,
            version=VERSION,
        ).bind()

    def record(self, kind: str, data: Mapping[str, Any], *, span: int, parent: int | None) -> Record:
        """Append an event and return its record. A failure to write is kept in `failure`; the run goes on.

        Raises:
            ValueError: the data has no form in JSON.
        """
        record = self._logger.record(kind, data, seq=self._seq + 1, span=span, parent=parent)
        self._seq = record.seq  # not before: an event that has no form in JSON takes no number
        return record

    def append(self, line: bytes, record: Record) -> Record:
        """Take a rendered record from structlog. After a line that could not be finished, begin a new one."""
        try:
            rest = memoryview(b"\n" + line if self._torn else line)
            while rest:
                self._torn = True
                rest = rest[os.write(self._handle, rest) :]
            self._torn = False
        except OSError as error:
            self.failure = error
        return record

    def close(self) -> None:
        """Give the file and its lock back; once."""
        handle, self._handle = self._handle, -1
        if handle >= 0:
            with suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_UN)  # a process about to exec may share the handle
            os.close(handle)


class _EventLogger(structlog.BoundLoggerBase):
    def record(self, kind: str, data: Mapping[str, Any], *, seq: int, span: int, parent: int | None) -> Record:
        record: Record = self._proxy_to_logger("append", kind, data=data, seq=seq, span=span, parent=parent)
        return record


class _Redaction:
    def __init__(self, redactor: Redacts) -> None:
        self._redactor = redactor

    def __call__(self, _logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        event["event"] = self._redactor.text(event["event"])
        event["data"] = self._redactor.json(event["data"])
        return event


class _Envelope:
    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock

    def __call__(self, _logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        return {"time": round(self._clock(), 6), "kind": event.pop("event"), **event}


def _render(_logger: WrappedLogger, _method: str, event: EventDict) -> tuple[tuple[bytes, Record], EventDict]:
    record = Record(**event)
    return (as_line(record_fields(record)).encode() + b"\n", record), {}
