"""`events.jsonl`: processors of structlog redact each event, add its envelope, and render one line. `--json` too."""

from __future__ import annotations

import fcntl
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields
from functools import cache, partial
from pathlib import PurePath
from typing import Any, TextIO

from code_commit.imports import import_without
from code_commit.log.folder import EVENTS
from code_commit.plugin_api import event as host_events
from code_commit.plugin_api.event import Event, Record, RunFinished, RunStarted
from code_commit_workspace import Redactor, SafeStream

with import_without("rich"):  # for structlog's developer tracebacks
    import structlog
    from structlog.typing import EventDict, WrappedLogger

_APPEND = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
VERSION = 1


class EventFile:
    """Appends the records of one run. It is not thread-safe: the run log holds a lock."""

    def __init__(self, folder: int, run: str, *, redactor: Redactor, clock: Callable[[], float]) -> None:
        self.failure: OSError | None = None
        self._handle = os.open(EVENTS, _APPEND, 0o600, dir_fd=folder)
        # Held while this process lives, so that readers know that the run is running. Without file locks, readers use
        # the process id.
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
        """Append an event and return its record. An error of the file is stored in `failure`; the run continues.

        Raises:
            ValueError: the data is not JSON.
        """
        record: Record = self._logger.append(kind, data=data, seq=self._seq + 1, span=span, parent=parent)
        self._seq = record.seq  # only now: an event that is not JSON takes no number
        return record

    def append(self, line: bytes, record: Record) -> Record:
        """Write the line of the last processor. Start a new line after an incomplete one."""
        try:
            rest = memoryview(b"\n" + line if self._torn else line)
            while rest:
                self._torn = True
                rest = rest[os.write(self._handle, rest) :]
            self._torn = False
        except OSError as error:
            self.failure = error
        return record

    def records(self) -> Iterator[Record]:
        """Yield the records so far."""
        for line in os.pread(self._handle, os.fstat(self._handle).st_size, 0).splitlines():
            with suppress(ValueError):  # an incomplete line
                yield Record(**json.loads(line))

    def close(self) -> None:
        """Close the file and release its lock. A second call does nothing."""
        handle, self._handle = self._handle, -1
        if handle >= 0:
            with suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_UN)  # a child before its exec shares the descriptor
            os.close(handle)


def _redact(redactor: Redactor, _logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    return {**event, "event": redactor.text(event["event"]), "data": redactor.json(event["data"])}


def _envelope(clock: Callable[[], float], _logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    return {"time": round(clock(), 6), "kind": event.pop("event"), **event}


def _render(_logger: WrappedLogger, _method: str, event: EventDict) -> tuple[tuple[bytes, Record], EventDict]:
    record = Record(**event)
    return (as_line(record_fields(record)).encode() + b"\n", record), {}


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


def kind_and_data(event: Event) -> tuple[str, dict[str, Any]]:
    """Return the kind and the data of a plugin's event.

    Raises:
        TypeError: a field is not JSON.
        ValueError: the kind is not allowed, or a number is not finite.
    """
    if isinstance(event, RunStarted | RunFinished):
        raise ValueError(f"only the host emits {event.kind}")  # noqa: TRY004 - the type is right, the sender is not
    if type(event).__module__ != host_events.__name__:
        check_kind(event.kind)
    return event.kind, data_of(event)


def data_of(event: Event) -> dict[str, Any]:
    """Return the fields of `event` as JSON values.

    Raises:
        TypeError, ValueError: as `to_json`.
    """
    return {field.name: to_json(getattr(event, field.name)) for field in fields(event)}


def check_kind(kind: object) -> None:
    """Check the kind of a plugin's event.

    Raises:
        ValueError: it has no dot, or is a kind of the host's events.
    """
    if not isinstance(kind, str) or "." not in kind.strip(".") or not kind.isprintable():
        raise ValueError(f"a kind of event reads <plugin>.<what>, not {kind!r}")
    if kind in _host_kinds():
        raise ValueError(f"{kind} is a kind of the host's own events")


@cache
def _host_kinds() -> frozenset[str]:
    return frozenset(
        cls.kind for cls in vars(host_events).values() if isinstance(cls, type) and issubclass(cls, Event) and cls.kind
    )


def to_json(value: object) -> Any:
    """Return `value` as dict, list, str, int, float, bool or None; a path becomes text.

    Raises:
        TypeError: it is neither JSON nor a path.
        ValueError: a number in it is not finite.
    """
    match value:
        case None | bool() | int():
            return value
        case str():
            return _encodable(value)
        case float():
            if not math.isfinite(value):
                raise ValueError(f"{value} has no place in JSON")
            return value
        case Mapping():
            return {_name(name): to_json(item) for name, item in value.items()}
        case list() | tuple():
            return [to_json(item) for item in value]
        case PurePath():
            return _encodable(str(value))
    raise TypeError(f"{type(value).__name__} is not JSON")


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise TypeError(f"a name in JSON is text, not {type(name).__name__}")
    return _encodable(name)


def _encodable(text: str) -> str:
    """Escape lone surrogates, which UTF-8 cannot encode. Python decodes invalid bytes of file names to them."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text
