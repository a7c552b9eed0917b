"""`events.jsonl`: structlog's processors redact each event, put it into its envelope, and render one line."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from code_commit.imports import import_without
from code_commit.log.folder import EVENTS
from code_commit.plugin_api.event import Record
from code_commit.plugin_api.run_files import as_line, record_fields
from code_commit_workspace import Redactor

with import_without("rich"):  # structlog's tracebacks for developers
    import structlog
    from structlog.typing import EventDict, WrappedLogger

_APPEND = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
VERSION = 1


class EventFile:
    """Appends the records of one run. The run log holds its lock: not for several threads at once."""

    def __init__(self, folder: int, run: str, *, redactor: Redactor, clock: Callable[[], float]) -> None:
        self.failure: OSError | None = None
        self._handle = os.open(EVENTS, _APPEND, 0o600, dir_fd=folder)
        # Held as long as this process lives: it tells a reader that the run goes on. Where there are no locks, the
        # reader uses the process id.
        with suppress(OSError):
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._torn = False
        self._seq = 0
        self._logger: structlog.BoundLogger = structlog.wrap_logger(
            self,
            processors=[partial(_redact, redactor), partial(_envelope, clock), _render],
            wrapper_class=structlog.BoundLogger,
            context_class=dict,
            cache_logger_on_first_use=False,
            run=run,
            version=VERSION,
        ).bind()

    def record(self, kind: str, data: Mapping[str, Any], *, span: int, parent: int | None) -> Record:
        """Append an event and return its record. An error of the file is kept in `failure`; the run goes on.

        Raises:
            ValueError: the data is not JSON.
        """
        record: Record = self._logger.append(kind, data=data, seq=self._seq + 1, span=span, parent=parent)
        self._seq = record.seq  # not before: an event that is not JSON takes no number
        return record

    def append(self, line: bytes, record: Record) -> Record:
        """Write what the last processor returns. After a line that could not be finished, begin a new one."""
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
        """Close the file and release its lock. A second call does nothing."""
        handle, self._handle = self._handle, -1
        if handle >= 0:
            with suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_UN)  # a process about to exec may share the descriptor
            os.close(handle)


def _redact(redactor: Redactor, _logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    return {**event, "event": redactor.text(event["event"]), "data": redactor.json(event["data"])}


def _envelope(clock: Callable[[], float], _logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    return {"time": round(clock(), 6), "kind": event.pop("event"), **event}


def _render(_logger: WrappedLogger, _method: str, event: EventDict) -> tuple[tuple[bytes, Record], EventDict]:
    record = Record(**event)
    return (as_line(record_fields(record)).encode() + b"\n", record), {}
