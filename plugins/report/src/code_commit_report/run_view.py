"""Build the page's view of a run from its records. Unexpected values are ignored."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from code_commit.plugin_api import Record, Usage
from code_commit_report.fields import Data, integer_of, number_of, text_of, texts_of
from code_commit_report.views import CallView, ChangeView, Chapter, NoteView, ProcessView, StepView

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
            text_of(data, name) for name in ("workflow", "folder", "commit")
        )
        self.command = shlex.join(["code-commit", *texts_of(data, "argv")])
        versions = data.get("versions")
        self.versions = (
            {str(name): str(value) for name, value in versions.items()}
            if isinstance(versions, dict)
            else {}
        )

    def _run_finished(self, _: Record, data: Data) -> None:
        self.ended = True
        self.outcome, self.summary, self.exit_code = (
            text_of(data, "outcome"),
            text_of(data, "summary"),
            integer_of(data, "exit_code"),
        )
        hint = data.get("data")
        if isinstance(hint, dict) and isinstance(hint.get("hint"), str):
            self.notes.append(NoteView(self.latest, f"hint: {hint['hint']}"))

    def _query_read(self, _: Record, data: Data) -> None:
        self.query = text_of(data, "query")

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
            wait = number_of(data, "wait")
            call.retries.append(
                f"try {integer_of(data, 'attempt')}: {text_of(data, 'reason')}; next try after {wait:.1f} s"
            )

    def _call_finished(self, record: Record, data: Data) -> None:
        call = self._calls.get(integer_of(data, "number") or 0)
        if call is None:
            return
        call.finished = record.time
        call.model = text_of(data, "model") or call.model
        call.finish = text_of(data, "finish_detail") or text_of(data, "finish")
        call.usage = Usage(
            integer_of(data, "input_tokens"),
            integer_of(data, "output_tokens"),
            cache_read=integer_of(data, "cache_read_tokens") or 0,
            cache_write=integer_of(data, "cache_write_tokens") or 0,
            reasoning=integer_of(data, "reasoning_tokens") or 0,
        )
        call.response, call.error = (
            text_of(data, "response") or None,
            text_of(data, "error") or None,
        )
        cost = data.get("cost_usd")
        if isinstance(cost, int | float):
            call.reported_cost = float(cost)
        elif call.provider == "replay" or (
            call.error
            and data.get("error_kind") not in {"network", "server", "invalid_response", None}
        ):
            call.reported_cost = 0.0

    def _changes_applied(self, record: Record, data: Data) -> None:
        written, deleted = texts_of(data, "written"), texts_of(data, "deleted")
        self._add_change(
            record, ChangeView(0, record.time, written, deleted, text_of(data, "diff") or None)
        )

    def _changes_refused(self, record: Record, data: Data) -> None:
        refusals = data.get("refusals")
        rows = (
            [row for row in refusals if isinstance(row, dict)]
            if isinstance(refusals, list | tuple)
            else []
        )
        reasons = tuple((text_of(row, "path"), text_of(row, "reason")) for row in rows)
        self._add_change(
            record,
            ChangeView(0, record.time, refused=text_of(data, "reason") or "refused", rows=reasons),
        )

    def _add_change(self, record: Record, change: ChangeView) -> None:
        self._changes += 1
        change.number = self._changes
        self._chapter(record, "Changes").changes.append(change)

    def _process_started(self, record: Record, data: Data) -> None:
        argv, log = texts_of(data, "argv"), text_of(data, "log")
        number, is_build = len(self._processes) + 1, argv[-1:] == ("build.sh",)
        process = ProcessView(
            number, shlex.join(argv), is_build, text_of(data, "sandbox"), log, record.time
        )
        self._processes[log] = process
        self._chapter(record, "Builds").processes.append(process)

    def _process_finished(self, record: Record, data: Data) -> None:
        process = self._processes.get(text_of(data, "log"))
        if process is not None:
            process.finished, process.exit_code = record.time, integer_of(data, "exit_code")
            process.timed_out, process.tampered = (
                data.get("timed_out") is True,
                texts_of(data, "tampered"),
            )

    def _changes_undone(self, record: Record, data: Data) -> None:
        paths = ", ".join(texts_of(data, "paths"))
        self.notes.append(
            NoteView(record.time, f"undone ({text_of(data, 'reason')}): {paths or 'nothing'}")
        )

    def _message(self, record: Record, data: Data) -> None:
        level = text_of(data, "level")
        self.notes.append(
            NoteView(record.time, text_of(data, "text"), "plain" if level == "info" else "bad")
        )

    def _plugin_failed(self, record: Record, data: Data) -> None:
        text = f"plugin {text_of(data, 'plugin')} failed ({text_of(data, 'stage')}): {text_of(data, 'error')}"
        self.notes.append(NoteView(record.time, text, "bad"))

    def _state_entered(self, record: Record, data: Data) -> None:
        self.notes.append(NoteView(record.time, f"state: {text_of(data, 'state')}"))

    def _question_asked(self, record: Record, data: Data) -> None:
        self.notes.append(NoteView(record.time, f"asked: {text_of(data, 'question')}"))

    def _question_answered(self, record: Record, data: Data) -> None:
        self.notes.append(
            NoteView(record.time, f"answered: {text_of(data, 'answer') or 'the end of input'}")
        )

    def _tasks_listed(self, _: Record, data: Data) -> None:
        parent, rows = text_of(data, "step"), data.get("steps")
        # Of an earlier attempt.
        self.steps = [step for step in self.steps if not _is_within(step.place, parent)]
        at = next(
            (index + 1 for index, step in enumerate(self.steps) if step.place == parent),
            len(self.steps),
        )
        self.steps[at:at] = [
            StepView(text_of(row, "step"), text_of(row, "title"), text_of(row, "verifies"))
            for row in (rows if isinstance(rows, list | tuple) else ())
            if isinstance(row, dict)
        ]

    def _tasks_judged(self, _: Record, data: Data) -> None:
        for step in self.steps:
            if step.place == text_of(data, "step") and data.get("passed") is not True:
                step.failures.append(text_of(data, "reason"))

    def _tasks_ended(self, _: Record, data: Data) -> None:
        for step in self.steps:
            if step.place == text_of(data, "step"):
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
