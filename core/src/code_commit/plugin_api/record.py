"""Records: events of a run with their envelope, as they are written, read back and passed on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Record:
    """An event with its envelope: one line of `events.jsonl`.

    `time` is seconds since the epoch, `data` the event's fields; `span` and `parent` give the
    nesting."""

    seq: int
    time: float
    run: str
    span: int
    parent: int | None
    kind: str
    data: Mapping[str, Any]
    version: int = 1


class LogSink(Protocol):
    """Receives the records of a run, live or read back from `events.jsonl`.

    Records are redacted. Large texts are in files of the run folder; records contain the names of
    these files.

    `runs export` creates new sinks for each run. A sink with a method `next_run()` receives all
    runs instead: the host calls `next_run` after each run, and `close` once, at the end.
    """

    def receive(self, record: Record) -> None:
        """Handle the next record. An exception disables this sink; the run continues."""

    def close(self) -> None:
        """Flush and release resources: the run has ended."""
