"""The calls, processes and changes of a run, read from its events."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from code_commit.plugin_api import Record, Usage, process_ending, read_records
from code_commit_history.cost import Cost


@dataclass(frozen=True, slots=True)
class Call:
    """A model call; `finish` and `seconds` are None if it is unfinished; `error` is the reason of a
    failure.
    """

    number: int
    label: str
    provider: str
    model: str
    request: str
    finish: str | None = None
    seconds: float | None = None
    usage: Usage = field(default_factory=Usage)
    cost: Cost = field(default_factory=lambda: Cost(0.0, complete=False))
    response: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Process:
    """A build or a command that ended."""

    argv: tuple[str, ...]
    exit_code: int | None
    seconds: float
    timed_out: bool
    tampered: tuple[str, ...]
    ending: str
    log: str


@dataclass(frozen=True, slots=True)
class Applied:
    """An applied change set.

    `attempt` is None in a workflow without attempts; `call` is the last call before it.
    """

    attempt: int | None
    call: int | None
    written: tuple[str, ...]
    deleted: tuple[str, ...]
    seq: int


@dataclass(slots=True)
class Story:
    """The calls, processes and changes of a run, each in order."""

    calls: list[Call] = field(default_factory=list)
    processes: list[Process] = field(default_factory=list)
    applied: list[Applied] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)

    @property
    def cost(self) -> Cost:
        """The cost of all calls."""
        return Cost.sum(call.cost for call in self.calls)


def read_story(folder: Path) -> Story:
    """Read the events of a run.

    Skip missing and incomplete events: the run may have been killed.
    """
    reader = _Reader()
    with suppress(OSError):
        for record in read_records(folder / "events.jsonl"):
            # The event may have another version, or belong to a plugin.
            with suppress(ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
                reader.receive(record)
    reader.story.calls = list(reader.calls.values())
    return reader.story


class _Reader:
    def __init__(self) -> None:
        self.story = Story()
        self.calls: dict[int, Call] = {}
        self._attempt: int | None = None

    def receive(self, record: Record) -> None:
        data = record.data
        if record.kind == "attempt.started":
            self._attempt = int(data["number"])
        elif record.kind == "call.started":
            number = int(data["number"])
            label, provider, model, request = (
                str(data[name]) for name in ("label", "provider", "model", "request")
            )
            self.calls[number] = Call(number, label, provider, model, request)
        elif record.kind == "call.finished":
            number = int(data["number"])
            self.calls[number] = _finished(self.calls[number], data)
        elif record.kind == "process.finished":
            self.story.processes.append(_process(data))
        elif record.kind == "changes.applied":
            call = max(self.calls, default=None)
            written, deleted = (tuple(map(str, data[name])) for name in ("written", "deleted"))
            self.story.applied.append(Applied(self._attempt, call, written, deleted, record.seq))
        elif record.kind == "message":
            self.story.messages.append(str(data["text"]))


def _finished(call: Call, data: Mapping[str, Any]) -> Call:
    usage = Usage(
        data.get("input_tokens"),
        data.get("output_tokens"),
        data.get("cache_read_tokens", 0),
        data.get("cache_write_tokens", 0),
        data.get("reasoning_tokens", 0),
    )
    error = data.get("error")
    error_kind = None if error is None else str(data.get("error_kind") or "interrupted")
    model = str(data["model"])
    return Call(
        call.number,
        call.label,
        call.provider,
        model,
        call.request,
        finish=data.get("finish"),
        seconds=float(data["seconds"]),
        usage=usage,
        cost=Cost.of_call(
            call.provider, model, usage, recorded=data.get("cost_usd"), error_kind=error_kind
        ),
        response=data.get("response"),
        error=error,
    )


def _process(data: Mapping[str, Any]) -> Process:
    return Process(
        argv=tuple(map(str, data["argv"])),
        exit_code=data["exit_code"],
        seconds=float(data["seconds"]),
        timed_out=bool(data["timed_out"]),
        tampered=tuple(map(str, data["tampered"])),
        ending=process_ending(data),
        log=str(data["log"]),
    )
