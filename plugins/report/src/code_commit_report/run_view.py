"""Build the page's view of a run from its records. Unexpected values are ignored."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator

from code_commit.plugin_api import (
    Record,
    Usage,
    describe_context,
    is_build,
    join_paths,
    process_ending,
    process_passed,
)
from code_commit_report.fields import (
    Data,
    integer_of,
    number_of,
    object_of,
    objects_of,
    text_of,
    texts_of,
)
from code_commit_report.findings import FindingView, findings_in
from code_commit_report.views import (
    CallView,
    CandidateView,
    ChangeView,
    Chapter,
    NoteView,
    ProcessView,
    StepView,
)

_SHOWN_FILES = 200  # of a context
_SHOWN_NOTES = 1000
# `RunView` has a method for each kind.
_KINDS = frozenset(
    {
        "run.started",
        "run.finished",
        "query.read",
        "context.chosen",
        "attempt.started",
        "call.started",
        "call.retried",
        "call.finished",
        "changes.applied",
        "changes.refused",
        "changes.undone",
        "process.started",
        "process.finished",
        "acceptance.checked",
        "message",
        "plugin.failed",
        "state.entered",
        "question.asked",
        "question.answered",
        # of code-commit-commit
        "candidate.started",
        "commit.judged",
        # of code-commit-tasks
        "tasks.listed",
        "tasks.judged",
        "tasks.ended",
    }
)


class RunView:
    """Pass every record to `receive`, then read the fields."""

    def __init__(self) -> None:
        self.run = ""
        self.query = ""
        self.workflow = ""
        self.folder = ""
        self.outcome = ""
        self.summary = ""
        self.commit = ""
        self.command = ""
        self.exit_code: int | None = None
        self.started = 0.0
        self.latest = 0.0
        self.ended = False
        self.versions: dict[str, str] = {}
        self.trailers: dict[str, str] = {}  # facts of the acceptance checks
        self.chapters: list[Chapter] = []
        self.notes: list[NoteView] = []
        self.more_notes = 0  # which the page only counts
        self.steps: list[StepView] = []
        self.findings: list[FindingView] = []
        self.candidates: list[CandidateView] = []
        self._calls: dict[int, CallView] = {}
        self._processes: dict[str, ProcessView] = {}
        self._changes = 0
        self._parents: dict[int, int | None] = {}
        self._attempts: dict[int, Chapter] = {}
        self._candidates: dict[int, int] = {}  # numbers of candidates, by the span of their trial

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
        """Return the sum of the known costs in USD, and whether the cost of each call is known."""
        costs = [call.cost for call in self.calls if call.cost is not None]
        return sum(costs), len(costs) == len(self._calls)

    @property
    def tokens(self) -> tuple[int | None, int | None]:
        """Return the reported input and output tokens; None if no service reported any."""
        usages = [call.usage for call in self.calls]
        return _sum(usage.input for usage in usages), _sum(usage.output for usage in usages)

    def receive(self, record: Record) -> None:
        """Add the next record."""
        self.run = record.run
        self.latest = max(self.latest, record.time)
        self._parents.setdefault(record.span, record.parent)
        if record.kind in _KINDS:
            receive = getattr(self, f"_{record.kind.replace('.', '_')}")
            receive(record, record.data)

    # --- one for each kind of `_KINDS`

    def _run_started(self, record: Record, data: Data) -> None:
        self.started = record.time
        self.workflow = text_of(data, "workflow")
        self.folder = text_of(data, "folder")
        self.commit = text_of(data, "commit")
        self.command = shlex.join(["code-commit", *texts_of(data, "argv")])
        versions = object_of(data, "versions")
        self.versions = {str(name): str(version) for name, version in versions.items()}

    def _run_finished(self, _: Record, data: Data) -> None:
        self.ended = True
        self.outcome = text_of(data, "outcome")
        self.summary = text_of(data, "summary")
        self.exit_code = integer_of(data, "exit_code")
        result = object_of(data, "data")
        self.findings = findings_in(result)
        trailers = object_of(object_of(result, "acceptance"), "trailers")
        self.trailers = {str(name): str(text) for name, text in trailers.items()}
        hint = result.get("hint")
        if isinstance(hint, str):
            self._note(self.latest, f"hint: {hint}")

    def _query_read(self, _: Record, data: Data) -> None:
        self.query = text_of(data, "query")

    def _context_chosen(self, record: Record, data: Data) -> None:
        text = describe_context(data)
        if reason := text_of(data, "reason"):
            text += f" ({reason})"
        self._note(record.time, f"{text}: {join_paths(texts_of(data, 'files'), _SHOWN_FILES)}")
        for row in objects_of(data, "left_out"):
            self._note(
                record.time, f"not shown: {text_of(row, 'path')}: {text_of(row, 'reason')}", "bad"
            )

    def _attempt_started(self, record: Record, data: Data) -> None:
        chapter = Chapter(f"Attempt {integer_of(data, 'number') or len(self._attempts) + 1}")
        self._attempts[record.span] = chapter
        self.chapters.append(chapter)

    def _call_started(self, record: Record, data: Data) -> None:
        number = integer_of(data, "number") or len(self._calls) + 1
        call = CallView(
            number,
            label=text_of(data, "label"),
            provider=text_of(data, "provider"),
            model=text_of(data, "model"),
            address=text_of(data, "address"),
            key_source=text_of(data, "key_source"),
            request=text_of(data, "request"),
            started=record.time,
        )
        self._calls[number] = call
        self._chapter(record, f"Call {number}", new=True).calls.append(call)

    def _call_retried(self, _: Record, data: Data) -> None:
        call = self._calls.get(integer_of(data, "number") or 0)
        if call is not None:
            failed_try = f"try {integer_of(data, 'attempt')}: {text_of(data, 'reason')}"
            wait = number_of(data, "wait") or 0.0
            call.retries.append(f"{failed_try}; next try after {wait:.1f} s")

    def _call_finished(self, record: Record, data: Data) -> None:
        call = self._calls.get(integer_of(data, "number") or 0)
        if call is None:
            return
        call.finished = record.time
        call.model = text_of(data, "model") or call.model
        call.finish = text_of(data, "finish_detail") or text_of(data, "finish")
        call.usage = Usage(
            input=integer_of(data, "input_tokens"),
            output=integer_of(data, "output_tokens"),
            cache_read=integer_of(data, "cache_read_tokens") or 0,
            cache_write=integer_of(data, "cache_write_tokens") or 0,
            reasoning=integer_of(data, "reasoning_tokens") or 0,
        )
        call.response = text_of(data, "response") or None
        call.error = text_of(data, "error") or None
        cost = data.get("cost_usd")
        if isinstance(cost, int | float):
            call.reported_cost = float(cost)
        elif call.provider == "replay" or (call.error and not _may_cost(data)):
            call.reported_cost = 0.0

    def _changes_applied(self, record: Record, data: Data) -> None:
        change = ChangeView(
            number=0,
            at=record.time,
            written=texts_of(data, "written"),
            deleted=texts_of(data, "deleted"),
            diff=text_of(data, "diff") or None,
        )
        self._add_change(record, change)
        if merged := texts_of(data, "merged"):
            self._note(record.time, f"merged with your changes: {', '.join(merged)}")

    def _changes_refused(self, record: Record, data: Data) -> None:
        refusals = objects_of(data, "refusals")
        rows = [(text_of(row, "path"), text_of(row, "reason")) for row in refusals]
        reason = text_of(data, "reason") or "refused"
        change = ChangeView(number=0, at=record.time, refused=reason, rows=tuple(rows))
        self._add_change(record, change)

    def _add_change(self, record: Record, change: ChangeView) -> None:
        self._changes += 1
        change.number = self._changes
        change.candidate = self._candidate_of(record)
        self._chapter(record, "Changes").changes.append(change)

    def _process_started(self, record: Record, data: Data) -> None:
        argv = texts_of(data, "argv")
        log = text_of(data, "log")
        process = ProcessView(
            number=len(self._processes) + 1,
            argv=shlex.join(argv),
            is_build=is_build(argv),
            sandbox=text_of(data, "sandbox"),
            log=log,
            started=record.time,
            candidate=self._candidate_of(record),
        )
        self._processes[log] = process
        self._chapter(record, "Builds").processes.append(process)

    def _process_finished(self, record: Record, data: Data) -> None:
        process = self._processes.get(text_of(data, "log"))
        if process is None:
            return
        process.finished = record.time
        process.passed = process_passed(data)
        process.ending = process_ending(data)

    def _acceptance_checked(self, record: Record, data: Data) -> None:
        check = f"{text_of(data, 'check')} of {text_of(data, 'distribution')}"
        for note in texts_of(data, "notes"):
            self._note(record.time, f"{check}: {note}")
        if data.get("accepted") is not True:
            self._note(record.time, f"{check} refuses the change: {text_of(data, 'reason')}", "bad")

    def _changes_undone(self, record: Record, data: Data) -> None:
        paths = ", ".join(texts_of(data, "paths")) or "nothing"
        self._note(record.time, f"undone ({text_of(data, 'reason')}): {paths}")

    def _message(self, record: Record, data: Data) -> None:
        tone = "plain" if text_of(data, "level") == "info" else "bad"
        self._note(record.time, text_of(data, "text"), tone)

    def _plugin_failed(self, record: Record, data: Data) -> None:
        plugin = text_of(data, "plugin")
        stage = text_of(data, "stage")
        error = text_of(data, "error")
        self._note(record.time, f"plugin {plugin} failed ({stage}): {error}", "bad")

    def _state_entered(self, record: Record, data: Data) -> None:
        self._note(record.time, f"state: {text_of(data, 'state')}")

    def _question_asked(self, record: Record, data: Data) -> None:
        self._note(record.time, f"asked: {text_of(data, 'question')}")

    def _question_answered(self, record: Record, data: Data) -> None:
        answer = text_of(data, "answer") or "the end of input"
        self._note(record.time, f"answered: {answer}")

    def _note(self, at: float, text: str, tone: str = "plain") -> None:
        if len(self.notes) < _SHOWN_NOTES:
            self.notes.append(NoteView(at, text, tone))
        else:
            self.more_notes += 1

    def _candidate_started(self, record: Record, data: Data) -> None:
        self._candidates[record.span] = integer_of(data, "number") or 0

    def _commit_judged(self, _: Record, data: Data) -> None:
        number = integer_of(data, "number") or 0
        changes = [change for chapter in self.chapters for change in chapter.changes]
        candidate = CandidateView(
            number,
            model=text_of(data, "model"),
            outcome=text_of(data, "outcome"),
            reason=text_of(data, "reason"),
            call=self._calls.get(integer_of(data, "call") or 0),
            change=next((one for one in changes if one.candidate == number), None),
            build=next((one for one in self.processes if one.candidate == number), None),
        )
        self.candidates.append(candidate)
        self.candidates.sort(key=lambda one: one.number)

    def _tasks_listed(self, _: Record, data: Data) -> None:
        parent = text_of(data, "step")
        # Drop the steps of an earlier attempt.
        self.steps = [step for step in self.steps if not _is_within(step.place, parent)]
        places = [step.place for step in self.steps]
        index = places.index(parent) + 1 if parent in places else len(places)
        self.steps[index:index] = [
            StepView(text_of(row, "step"), text_of(row, "title"), text_of(row, "verifies"))
            for row in objects_of(data, "steps")
        ]

    def _tasks_judged(self, _: Record, data: Data) -> None:
        for step in self.steps:
            if step.place == text_of(data, "step") and data.get("passed") is not True:
                step.failures.append(text_of(data, "reason"))

    def _tasks_ended(self, _: Record, data: Data) -> None:
        for step in self.steps:
            if step.place == text_of(data, "step"):
                step.state = "passed" if data.get("passed") is True else "failed"

    def _spans_of(self, record: Record) -> Iterator[int]:
        """Yield the span of a record, and those around it."""
        span: int | None = record.span
        for _ in range(len(self._parents) + 1):  # they may form a circle
            if span is None:
                return
            yield span
            span = self._parents.get(span)

    def _candidate_of(self, record: Record) -> int | None:
        """Return the number of the candidate that was tried when a record was written, or None."""
        for span in self._spans_of(record):
            if span in self._candidates:
                return self._candidates[span]
        return None

    def _chapter(self, record: Record, title: str, *, new: bool = False) -> Chapter:
        """Return the chapter of a record; without attempts, each call starts a chapter."""
        for span in self._spans_of(record):
            if span in self._attempts:
                return self._attempts[span]
        if new or not self.chapters:
            self.chapters.append(Chapter(title))
        return self.chapters[-1]


def _may_cost(data: Data) -> bool:
    """Return whether the service may charge for a failed call."""
    return data.get("error_kind") in {"network", "server", "invalid_response", None}


def _is_within(place: str, parent: str) -> bool:
    return not parent or place.startswith(f"{parent}.")


def _sum(counts: Iterable[int | None]) -> int | None:
    reported = [count for count in counts if count is not None]
    return sum(reported) if reported else None
