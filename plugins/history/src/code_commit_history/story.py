"""The calls, processes and changes of a run, read from its events."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from code_commit.plugin_api import (
    Record,
    Usage,
    describe_context,
    is_baseline,
    process_ending,
    read_records,
)
from code_commit_history.cost import Cost


@dataclass(frozen=True, slots=True)
class Call:
    """A model call; `finish` and `seconds` are None if it is unfinished.

    `error` is the reason of a failure.
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

    `attempt` is None in a workflow without attempts, and `candidate` outside of the trial of one;
    `call` is the last call before it.
    """

    attempt: int | None
    call: int | None
    written: tuple[str, ...]
    deleted: tuple[str, ...]
    seq: int
    candidate: int | None = None

    @property
    def paths(self) -> frozenset[str]:
        """All paths of the change set."""
        return frozenset((*self.written, *self.deleted))


@dataclass(frozen=True, slots=True)
class TriedCandidate:
    """A candidate of the commit workflow, and what became of it. `call` is that of its response."""

    number: int
    model: str
    call: int
    outcome: str
    reason: str


@dataclass(frozen=True, slots=True)
class Chosen:
    """The files that a context chose for a prompt, if the model did not see all of them.

    `cause` is "query", "request" or "failure"; `line` is for people.
    """

    context: str
    cause: str
    reason: str
    files: tuple[str, ...]
    total: int
    mapped: int
    tokens: int
    line: str


@dataclass(slots=True)
class Story:
    """The calls, processes, changes and candidates of a run, each in order."""

    calls: list[Call] = field(default_factory=list)
    processes: list[Process] = field(default_factory=list)
    applied: list[Applied] = field(default_factory=list)
    candidates: list[TriedCandidate] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    contexts: list[Chosen] = field(default_factory=list)

    @property
    def cost(self) -> Cost:
        """The cost of all calls."""
        return Cost.sum(call.cost for call in self.calls)

    @property
    def used_calls(self) -> list[Call]:
        """The calls whose answers the run took, or waited for: a replay makes no others."""
        cancelled = {one.call for one in self.candidates if one.outcome == "cancelled"}
        return [call for call in self.calls if call.number not in cancelled]

    def cost_of(self, candidate: TriedCandidate) -> Cost:
        """Return the cost of the call of a candidate."""
        return Cost.sum(call.cost for call in self.calls if call.number == candidate.call)


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
    reader.add_costs()
    reader.story.calls = sorted(reader.calls.values(), key=lambda call: call.number)
    reader.story.candidates.sort(key=lambda candidate: candidate.number)
    return reader.story


class _Reader:
    def __init__(self) -> None:
        self.story = Story()
        self.calls: dict[int, Call] = {}
        # The data of `call.finished`, by the number of the call.
        self._ends: dict[int, Mapping[str, Any]] = {}
        self._call_costs: Mapping[str, float] = {}  # those of `run.finished`
        self._attempt: int | None = None
        self._candidate: int | None = None  # that is tried now
        self._candidate_call: int | None = None

    def receive(self, record: Record) -> None:
        data = record.data
        if record.kind == "commit.judged":
            self.story.candidates.append(_candidate(data))
        elif record.kind == "call.started":
            number = int(data["number"])
            self.calls[number] = Call(
                number,
                label=str(data["label"]),
                provider=str(data["provider"]),
                model=str(data["model"]),
                request=str(data["request"]),
            )
        elif record.kind == "call.finished":
            number = int(data["number"])
            self.calls[number] = _finished(self.calls[number], data)
            self._ends[number] = data
        elif record.kind == "run.finished":
            self._call_costs = dict(data["call_costs"])
        elif record.kind == "process.finished":
            if not is_baseline(data):  # a replay has none
                self.story.processes.append(_process(data))
        elif record.kind == "changes.applied":
            self.story.applied.append(
                Applied(
                    attempt=self._attempt,
                    call=self._candidate_call or max(self.calls, default=None),
                    written=tuple(map(str, data["written"])),
                    deleted=tuple(map(str, data["deleted"])),
                    seq=record.seq,
                    candidate=self._candidate,
                )
            )
        elif record.kind == "context.chosen":
            self.story.contexts.append(_chosen(data))
        elif record.kind == "message":
            self.story.messages.append(str(data["text"]))
        else:
            self._note_place(record)

    def _note_place(self, record: Record) -> None:
        """Note the attempt and the candidate that the next changes belong to."""
        data = record.data
        if record.kind == "attempt.started":
            self._attempt = int(data["number"])
        elif record.kind == "candidate.started":
            self._candidate = int(data["number"])
            self._candidate_call = int(data["call"])
        elif record.kind == "candidate.finished":
            self._candidate = self._candidate_call = None

    def add_costs(self) -> None:
        """Set the costs of the calls that ended; one that is not recorded is looked up."""
        for number, end in self._ends.items():
            recorded = end.get("cost_usd")
            if recorded is None:
                recorded = self._call_costs.get(str(number))
            # The event may have another version.
            with suppress(ArithmeticError, TypeError, ValueError):
                self.calls[number] = _with_cost(self.calls[number], recorded, end)


def _with_cost(call: Call, recorded: float | None, end: Mapping[str, Any]) -> Call:
    error_kind = None
    if call.error is not None:
        error_kind = str(end.get("error_kind") or "interrupted")
    cost = Cost.of_call(
        call.provider, call.model, call.usage, recorded=recorded, error_kind=error_kind
    )
    return replace(call, cost=cost)


def _text_or_none(value: object) -> str | None:
    return None if value is None else str(value)


def _finished(call: Call, data: Mapping[str, Any]) -> Call:
    usage = Usage(
        input=data.get("input_tokens"),
        output=data.get("output_tokens"),
        cache_read=data.get("cache_read_tokens", 0),
        cache_write=data.get("cache_write_tokens", 0),
        reasoning=data.get("reasoning_tokens", 0),
    )
    return replace(
        call,
        model=str(data["model"]),
        finish=_text_or_none(data.get("finish")),
        seconds=float(data["seconds"]),
        usage=usage,
        response=data.get("response"),
        error=data.get("error"),
    )


def _chosen(data: Mapping[str, Any]) -> Chosen:
    return Chosen(
        context=str(data["context"]),
        cause=str(data["cause"]),
        reason=str(data["reason"]),
        files=tuple(map(str, data["files"])),
        total=int(data["total"]),
        mapped=int(data["mapped"]),
        tokens=int(data["tokens"]),
        line=describe_context(data),
    )


def _candidate(data: Mapping[str, Any]) -> TriedCandidate:
    return TriedCandidate(
        number=int(data["number"]),
        model=str(data["model"]),
        call=int(data["call"]),
        outcome=str(data["outcome"]),
        reason=str(data["reason"]),
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
