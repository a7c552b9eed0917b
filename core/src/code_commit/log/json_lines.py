"""Events as lines of JSON: check those of plugins, write `events.jsonl`, and print for `--json`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TextIO

from code_commit.imports import import_later, import_without, log_without_tasks
from code_commit.plugin_api import event as host_events
from code_commit.plugin_api.event import Event, RunFinished, RunStarted
from code_commit.plugin_api.record import Record
from code_commit.plugin_api.run_files import EVENTS
from code_commit.run_folder.json_text import to_json
from code_commit.run_folder.line_file import LineFile
from code_commit.terminal.streams import SafeStream
from code_commit_workspace import Redactor

# rich and colorama are for structlog's renderer for developers, asyncio for loggers that are
# awaited.
with import_without("rich", "colorama"), import_later("asyncio"), log_without_tasks():
    import structlog
    from structlog.typing import EventDict, WrappedLogger


def as_line(record: Record) -> str:
    """Render a record without a newline.

    The line is ASCII, so no reader splits it at U+2028, and it cannot control a terminal.

    Raises:
        ValueError: a value is not JSON, such as NaN.
    """
    return json.dumps(
        record_fields(record), ensure_ascii=True, allow_nan=False, separators=(",", ":")
    )


def record_fields(record: Event | Record) -> dict[str, Any]:
    """Return the fields of a record or event in the order of a line."""
    return {field.name: getattr(record, field.name) for field in fields(record)}


class JsonLines:
    """The log sink of `--json`: print each record as a line of JSON.

    A closed pipe does not end the run.
    """

    name = "json"

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = SafeStream(stream)

    def receive(self, record: Record) -> None:
        """Print a line.

        Raises:
            OSError: it cannot be written, and the pipe is not closed.
        """
        self._stream.print(as_line(record), number=record.seq)
        if self._stream.failure is not None:
            raise self._stream.failure

    def close(self) -> None:
        """Leave the stream open: it belongs to the caller."""


class EventFile:
    """Appends the records of one run to `events.jsonl`, with a structlog logger.

    Its processors redact each event, add its envelope and render its line. It is not thread-safe:
    the run log holds a lock.
    """

    def __init__(
        self,
        folder: int,
        run: str,
        *,
        redactor: Redactor,
        clock: Callable[[], float],
    ) -> None:
        self.failure: OSError | None = None
        self._redactor = redactor
        self._clock = clock
        # Locked while this process lives: so readers know that the run is running.
        self._file = LineFile(folder, EVENTS)
        self.close = self._file.close
        self._seq = 0
        renamer = structlog.processors.EventRenamer("kind")
        self._logger = structlog.BoundLogger(
            self, [self._redact, renamer, self._render], {"run": run}
        )

    def record(
        self,
        kind: str,
        data: Mapping[str, Any],
        *,
        span: int,
        parent: int | None,
    ) -> Record:
        """Append an event and return its record.

        An error of the file is stored in `failure`; the run continues.

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
        return {
            **event,
            "event": self._redactor.text(event["event"]),
            "data": self._redactor.json(event["data"]),
        }

    def _render(
        self,
        _logger: WrappedLogger,
        _method: str,
        event: EventDict,
    ) -> tuple[tuple[bytes, Record], EventDict]:
        record = Record(seq=self._seq + 1, time=round(self._clock(), 6), **event)
        return (as_line(record).encode() + b"\n", record), {}


def kind_and_data(event: Event, plugin: str) -> tuple[str, dict[str, Any]]:
    """Return the kind and the data of an event of `plugin`, or of a plugin that it stands on.

    Raises:
        TypeError: a field is not JSON.
        ValueError: the kind is not allowed, or a number is not finite.
    """
    if isinstance(event, RunStarted | RunFinished):
        # The type is right, the sender is not.
        raise ValueError(f"only the host emits {event.kind}")  # noqa: TRY004
    module = type(event).__module__
    if module == host_events.__name__:
        return event.kind, data_of(event)
    owner = checked_kind(event.kind).partition(".")[0]
    package = module.partition(".")[0]
    if owner != plugin and not package.endswith(f"_{owner}".replace("-", "_")):
        raise ValueError(
            f"the kind {event.kind} does not begin with {plugin!r}, the name of the plugin"
        )
    return event.kind, data_of(event)


def data_of(event: Event) -> dict[str, Any]:
    """Return the fields of `event` as JSON values.

    Raises:
        TypeError, ValueError: as `to_json`.
    """
    data: dict[str, Any] = to_json(record_fields(event))
    return data


def checked_kind(kind: object) -> str:
    """Return the kind of a plugin's event.

    Raises:
        ValueError: it has no dot, or is a kind of the host's events.
    """
    if not isinstance(kind, str) or "." not in kind.strip(".") or not kind.isprintable():
        raise ValueError(f"the kind of an event must be <plugin>.<what>, not {kind!r}")
    if any(kind == getattr(cls, "kind", None) for cls in vars(host_events).values()):
        raise ValueError(f"{kind} is a kind of the host")
    return kind
