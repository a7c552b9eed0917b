"""Build the page's view of a run from its records. Unexpected values are ignored."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from code_commit.plugin_api import Record, Usage, cost_of, is_build, process_ending, process_passed

Data = Mapping[str, Any]
# `RunView` has a method for each kind.
_KINDS = frozenset(
    {
        "run.started",
        "run.finished",
        "query.read",
        "attempt.started",
        "call.started",
        "call.retried",
        "call.finished",
        "changes.applied",
        "changes.refused",
        "changes.undone",
        "process.started",
        "process.finished",
        "message",
        "plugin.failed",
        "state.entered",
        "question.asked",
        "question.answered",
        # of code-commit-tasks
        "tasks.listed",
        "tasks.judged",
        "tasks.ended",
    }
)


@dataclass(slots=True)
class CallView:
    """A model call.

    Times are seconds since the epoch; `finished` is None if it is running or was killed.
    """

    number: int
    label: str
    provider: str
    model: str
    address: str
    key_source: str
    request: str
    started: float
    finished: float | None = None
    finish: str = ""
    usage: Usage = field(default_factory=Usage)
    reported_cost: float | None = None
    response: str | None = None
    error: str | None = None
    retries: list[str] = field(default_factory=list)

    @property
    def cost(self) -> float | None:
        """Return USD from the run, else from the price list, which is slow to load; None if
        unknown.
        """
        if self.reported_cost is not None or self.finished is None:
            return self.reported_cost
        return cost_of(self.model, self.usage)


@dataclass(slots=True)
class ProcessView:
    """A build or a command."""

    number: int
    argv: str
    is_build: bool
    sandbox: str
    log: str
    started: float
    finished: float | None = None
    passed: bool = False
    ending: str = "unfinished"


@dataclass(slots=True)
class ChangeView:
    """Applied or refused changes; `refused` is the reason, with `rows` of path and reason."""

    number: int
    at: float
    written: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    diff: str | None = None
    refused: str | None = None
    rows: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class NoteView:
    """Another message; `tone` is "plain" or "bad"."""

    at: float
    text: str
    tone: str = "plain"


@dataclass(slots=True)
class Chapter:
    """An attempt; without attempts, a call with its changes and processes."""

    title: str
    calls: list[CallView] = field(default_factory=list)
    changes: list[ChangeView] = field(default_factory=list)
    processes: list[ProcessView] = field(default_factory=list)


@dataclass(slots=True)
class StepView:
    """A step of a task at its place in the tree: "2.1"; `verifies` is its exit requirement,
    `failures` are reasons.
    """

    place: str
    title: str
    verifies: str
    state: str = "unfinished"
    failures: list[str] = field(default_factory=list)

    @property
    def depth(self) -> int:
        """Return its depth in the tree, at most 20."""
        return min(20, self.place.count("."))

    @property
    def tone(self) -> str:
        """Return how its state looks: "good", "bad" or "open"."""
        return {"passed": "good", "failed": "bad"}.get(self.state, "open")


class RunView:
    """Pass every record to `receive`, then read the fields."""

    def __init__(self) -> None:
        self.run = self.query = self.workflow = self.folder = self.outcome = self.summary = (
            self.commit
        ) = self.command = ""
        self.exit_code: int | None = None
        self.started = self.latest = 0.0
        self.ended = False
        self.versions: dict[str, str] = {}
        self.chapters: list[Chapter] = []
        self.notes: list[NoteView] = []
        self.steps: list[StepView] = []
        self._calls: dict[int, CallView] = {}
        self._processes: dict[str, ProcessView] = {}
        self._changes = 0
        self._parents: dict[int, int | None] = {}
        self._attempts: dict[int, Chapter] = {}

    @property
    def calls(self) -> list[CallView]:
        """Return all calls, in order."""
        return list(self._calls.values())

    @property
    def processes(self) -> list[ProcessView]:
        """Return all builds and commands, in order."""
        return [process for chapter in self.chapters for process in chapter.processes]

    @property
    def never_began(self) -> bool:
        """Return whether the run was not ready, so that the host removes its folder."""
        return self.outcome == "not_ready" and not self.chapters

    @property
    def seconds(self) -> float:
        """Return the duration of the run so far."""
        return max(0.0, self.latest - self.started)

    @property
    def cost(self) -> tuple[float, bool]:
        """Return the known USD of all calls, and whether all are known."""
        known = [call.cost for call in self.calls if call.cost is not None]
        return sum(known), len(known) == len(self._calls)

    @property
    def tokens(self) -> tuple[int | None, int | None]:
        """Return the reported input and output tokens; None if no service reported any."""
        usages = [call.usage for call in self.calls]
        return _sum(usage.input for usage in usages), _sum(usage.output for usage in usages)

    def receive(self, record: Record) -> None:
        """Add the next record."""
        self.run, self.latest = record.run, max(self.latest, record.time)
        self._parents.setdefault(record.span, record.parent)
        if record.kind in _KINDS:
            getattr(self, f"_{record.kind.replace('.', '_')}")(record, record.data)

    # --- one per kind -------------------------------------------------------------------------------------------------

    def _run_started(self, record: Record, data: Data) -> None:
        self.started = record.time
        self.workflow, self.folder, self.commit = (
            _text(data, name) for name in ("workflow", "folder", "commit")
        )
        self.command = shlex.join(["code-commit", *_texts(data, "argv")])
        versions = data.get("versions")
        self.versions = (
            {str(name): str(value) for name, value in versions.items()}
            if isinstance(versions, dict)
            else {}
        )

    def _run_finished(self, _: Record, data: Data) -> None:
        self.ended = True
        self.outcome, self.summary, self.exit_code = (
            _text(data, "outcome"),
            _text(data, "summary"),
            _whole(data, "exit_code"),
        )
        hint = data.get("data")
        if isinstance(hint, dict) and isinstance(hint.get("hint"), str):
            self.notes.append(NoteView(self.latest, f"hint: {hint['hint']}"))

    def _query_read(self, _: Record, data: Data) -> None:
        self.query = _text(data, "query")

    def _attempt_started(self, record: Record, data: Data) -> None:
        chapter = Chapter(f"Attempt {_whole(data, 'number') or len(self._attempts) + 1}")
        self._attempts[record.span] = chapter
        self.chapters.append(chapter)

    def _call_started(self, record: Record, data: Data) -> None:
        number = _whole(data, "number") or len(self._calls) + 1
        call = CallView(
            number,
            label=_text(data, "label"),
            provider=_text(data, "provider"),
            model=_text(data, "model"),
            address=_text(data, "address"),
            key_source=_text(data, "key_source"),
            request=_text(data, "request"),
            started=record.time,
        )
        self._calls[number] = call
        self._chapter(record, f"Call {number}", new=True).calls.append(call)

    def _call_retried(self, _: Record, data: Data) -> None:
        call = self._calls.get(_whole(data, "number") or 0)
        if call is not None:
            wait = _number(data, "wait")
            call.retries.append(
                f"try {_whole(data, 'attempt')}: {_text(data, 'reason')}; next try after {wait:.1f} s"
            )

    def _call_finished(self, record: Record, data: Data) -> None:
        call = self._calls.get(_whole(data, "number") or 0)
        if call is None:
            return
        call.finished = record.time
        call.model = _text(data, "model") or call.model
        call.finish = _text(data, "finish_detail") or _text(data, "finish")
        call.usage = Usage(
            _whole(data, "input_tokens"),
            _whole(data, "output_tokens"),
            cache_read=_whole(data, "cache_read_tokens") or 0,
            cache_write=_whole(data, "cache_write_tokens") or 0,
            reasoning=_whole(data, "reasoning_tokens") or 0,
        )
        call.response, call.error = _text(data, "response") or None, _text(data, "error") or None
        cost = data.get("cost_usd")
        if isinstance(cost, int | float):
            call.reported_cost = float(cost)
        elif call.provider == "replay" or (
            call.error
            and data.get("error_kind") not in {"network", "server", "invalid_response", None}
        ):
            call.reported_cost = 0.0

    def _changes_applied(self, record: Record, data: Data) -> None:
        written, deleted = _texts(data, "written"), _texts(data, "deleted")
        self._add_change(
            record, ChangeView(0, record.time, written, deleted, _text(data, "diff") or None)
        )

    def _changes_refused(self, record: Record, data: Data) -> None:
        refusals = data.get("refusals")
        rows = (
            [row for row in refusals if isinstance(row, dict)]
            if isinstance(refusals, list | tuple)
            else []
        )
        reasons = tuple((_text(row, "path"), _text(row, "reason")) for row in rows)
        self._add_change(
            record,
            ChangeView(0, record.time, refused=_text(data, "reason") or "refused", rows=reasons),
        )

    def _add_change(self, record: Record, change: ChangeView) -> None:
        self._changes += 1
        change.number = self._changes
        self._chapter(record, "Changes").changes.append(change)

    def _process_started(self, record: Record, data: Data) -> None:
        argv, log = _texts(data, "argv"), _text(data, "log")
        process = ProcessView(
            number=len(self._processes) + 1,
            argv=shlex.join(argv),
            is_build=is_build(argv),
            sandbox=_text(data, "sandbox"),
            log=log,
            started=record.time,
        )
        self._processes[log] = process
        self._chapter(record, "Builds").processes.append(process)

    def _process_finished(self, record: Record, data: Data) -> None:
        process = self._processes.get(_text(data, "log"))
        if process is not None:
            process.finished = record.time
            process.passed = process_passed(data)
            process.ending = process_ending(data)

    def _changes_undone(self, record: Record, data: Data) -> None:
        paths = ", ".join(_texts(data, "paths"))
        self.notes.append(
            NoteView(record.time, f"undone ({_text(data, 'reason')}): {paths or 'nothing'}")
        )

    def _message(self, record: Record, data: Data) -> None:
        level = _text(data, "level")
        self.notes.append(
            NoteView(record.time, _text(data, "text"), "plain" if level == "info" else "bad")
        )

    def _plugin_failed(self, record: Record, data: Data) -> None:
        text = f"plugin {_text(data, 'plugin')} failed ({_text(data, 'stage')}): {_text(data, 'error')}"
        self.notes.append(NoteView(record.time, text, "bad"))

    def _state_entered(self, record: Record, data: Data) -> None:
        self.notes.append(NoteView(record.time, f"state: {_text(data, 'state')}"))

    def _question_asked(self, record: Record, data: Data) -> None:
        self.notes.append(NoteView(record.time, f"asked: {_text(data, 'question')}"))

    def _question_answered(self, record: Record, data: Data) -> None:
        self.notes.append(
            NoteView(record.time, f"answered: {_text(data, 'answer') or 'the end of input'}")
        )

    def _tasks_listed(self, _: Record, data: Data) -> None:
        parent, rows = _text(data, "step"), data.get("steps")
        # Of an earlier attempt.
        self.steps = [step for step in self.steps if not _is_within(step.place, parent)]
        at = next(
            (index + 1 for index, step in enumerate(self.steps) if step.place == parent),
            len(self.steps),
        )
        self.steps[at:at] = [
            StepView(_text(row, "step"), _text(row, "title"), _text(row, "verifies"))
            for row in (rows if isinstance(rows, list | tuple) else ())
            if isinstance(row, dict)
        ]

    def _tasks_judged(self, _: Record, data: Data) -> None:
        for step in self.steps:
            if step.place == _text(data, "step") and data.get("passed") is not True:
                step.failures.append(_text(data, "reason"))

    def _tasks_ended(self, _: Record, data: Data) -> None:
        for step in self.steps:
            if step.place == _text(data, "step"):
                step.state = "passed" if data.get("passed") is True else "failed"

    def _chapter(self, record: Record, title: str, *, new: bool = False) -> Chapter:
        """Return the chapter of a record; without attempts, each call starts a chapter."""
        span: int | None = record.span
        for _ in range(len(self._parents) + 1):
            if span is None:
                break
            if span in self._attempts:
                return self._attempts[span]
            span = self._parents.get(span)
        if new or not self.chapters:
            self.chapters.append(Chapter(title))
        return self.chapters[-1]


def _is_within(place: str, parent: str) -> bool:
    return not parent or place.startswith(f"{parent}.")


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _text(data: Data, name: str) -> str:
    value = data.get(name)
    return value if isinstance(value, str) else ""


def _texts(data: Data, name: str) -> tuple[str, ...]:
    value = data.get(name)
    return tuple(str(each) for each in value) if isinstance(value, list | tuple) else ()


def _whole(data: Data, name: str) -> int | None:
    value = data.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _number(data: Data, name: str) -> float:
    value = data.get(name)
    return float(value) if isinstance(value, int | float) else 0.0
