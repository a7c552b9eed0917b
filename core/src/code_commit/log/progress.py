"""Progress on stderr: a line for each event, and a status line for running activities."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TextIO

from code_commit.log.event_lines import (
    BAD,
    ENDED_EARLY,
    FAINT,
    Line,
    activity_of,
    lines_beside_workflow,
    lines_of,
)
from code_commit.plugin_api.record import Record
from code_commit.plugin_api.run_json import BEFORE_WORK, RunDocument, clock, describe_spent
from code_commit.plugin_api.running_code import running_code
from code_commit.terminal.painter import LivePainter, PlainPainter
from code_commit.terminal.screen import can_repaint, may_color
from code_commit.terminal.streams import SafeStream
from code_commit_workspace.words import count_of

_REPAINT = 0.1  # seconds
_SHORTEST = 0.05  # seconds; a shorter activity would only flicker
_SHOWN_CALLS = 2  # at once, each by itself; more are shown together
_HANGS = 5.0  # seconds without progress, after which the status line names the plugin
_PLAIN_TICK = 60.0  # seconds; CI services end a job after a longer silence


@dataclass(slots=True)
class _Activity:
    """A call or a process that runs; `progress` is the data of its latest `call.progress`."""

    text: str
    since: float
    progress: Mapping[str, Any]


class Progress:
    """A log sink for people.

    On a terminal, the last line is a status line, and lines are in color unless `NO_COLOR` is set.
    With `workflow_reports`, the workflow itself prints what it does.
    """

    name = "progress"
    live = True

    def __init__(
        self,
        stream: TextIO | None,
        environment: Mapping[str, str],
        *,
        workflow_reports: bool = False,
    ) -> None:
        safe_stream = SafeStream(stream)
        if can_repaint(stream, environment):
            color = may_color(stream, environment)
            self._painter: PlainPainter = LivePainter(safe_stream, color=color)
            self._tick = _REPAINT
        else:
            self._painter = PlainPainter(safe_stream)
            self._tick = _PLAIN_TICK
        self._workflow_reports = workflow_reports
        self._lock = threading.RLock()
        self._started = time.monotonic()
        self._start_time = 0.0
        self._activities: dict[tuple[str, Any], _Activity] = {}
        self._waiting: list[tuple[str, Line]] = []  # prefixes and lines that are not printed yet
        # The first line names the run folder, which a run that does not begin does not leave.
        self._has_begun = True
        self._attempt = ""
        self._shown_calls: set[str] = set()
        self._at_once: set[int] = set()  # calls that run or ran beside others, by number
        self._running = running_code()
        self._user_types = False
        self._reason: Sequence[Line] = ()  # why the last call or build failed
        self._document = RunDocument()
        self._ticker: threading.Thread | None = None
        self._closed = threading.Event()

    def receive(self, record: Record) -> None:
        """Print the lines of a record, and update the status line."""
        with self._lock:
            self._start_time = self._start_time or record.time
            self._document.receive(record)
            if record.kind == "attempt.started":
                self._attempt = f"attempt {record.data.get('number')}, "
            elif record.kind == "question.asked":
                self._user_types = True
            elif record.kind == "question.answered":
                self._user_types = False
            self._update_activity(record)
            prefix = f"[{clock(record.time - self._start_time)}] "
            lines = self._lines(record)
            if record.data.get("number") in self._at_once:
                lines = self._lines_of_one(record, lines)
            self._waiting += [(prefix, line) for line in lines]
            self._note_beginning(record.kind)
            self._painter.status(self._status())
            if self._has_begun:
                self._print_waiting()
            if text := activity_of(record):
                self._begin_activity(record, text)
            self._start_ticker()

    def close(self) -> None:
        """Remove the status line and stop repainting."""
        self._closed.set()
        if self._ticker is not None:
            self._ticker.join()
        with self._lock:
            self._painter.status("")

    def _note_beginning(self, kind: str) -> None:
        """Hold the lines back until the run does something, or drop the first one at its end."""
        if kind == "run.started":
            self._has_begun = False
        elif kind == "run.finished":
            if not self._has_begun:
                del self._waiting[:1]
            self._has_begun = True
        elif kind not in BEFORE_WORK:
            self._has_begun = True

    def _print_waiting(self) -> None:
        while self._waiting:
            prefix, line = self._waiting.pop(0)
            self._painter.print(prefix, line.text, line.style)

    def _begin_activity(self, record: Record, text: str) -> None:
        self._activities[_key(record)] = _Activity(text, time.monotonic(), progress={})
        calls = self._calls()
        if len(calls) > 1:
            self._at_once.update(calls)

    def _start_ticker(self) -> None:
        if self._ticker is None and not self._closed.is_set():
            self._ticker = threading.Thread(target=self._repaint, name="progress", daemon=True)
            self._ticker.start()

    def _update_activity(self, record: Record) -> None:
        step = record.kind.partition(".")[2]
        if step == "finished":
            self._activities.pop(_key(record), None)
        elif activity := self._activities.get(_key(record)):
            if step == "progress":
                activity.progress = record.data
            elif step == "retried":
                activity.progress = {}

    def _lines(self, record: Record) -> Sequence[Line]:
        """Return the lines about a record.

        If the run goes on, they begin with the reason of the last failure, which the last lines of
        the run will not show.
        """
        lines = self._own_lines(record)
        if record.kind in {"call.started", "attempt.started"}:
            lines = (*self._reason, *lines)
            self._reason = ()
        elif record.kind == "call.finished":
            self._reason = ()
            if error := record.data.get("error"):
                self._reason = [Line(f"  {error}", BAD)]
        elif record.kind == "process.finished" and not self._workflow_reports:
            self._reason = ()
            if output := record.data.get("last_lines"):
                self._reason = [Line(f"the last lines of the build:\n{output}", FAINT)]
        return lines

    def _lines_of_one(self, record: Record, lines: Sequence[Line]) -> Sequence[Line]:
        """Name the call in the lines about one of several, and tell its error at once."""
        if record.kind not in {"call.retried", "call.finished"}:
            return lines
        if record.data.get("error") not in ENDED_EARLY:
            lines = (*lines, *self._reason)
        self._reason = ()
        return [replace(line, text=f"call {record.data['number']}: {line.text}") for line in lines]

    def _own_lines(self, record: Record) -> Sequence[Line]:
        if not self._workflow_reports:
            return lines_of(record)
        lines = lines_beside_workflow(record)
        if record.kind == "call.started":  # shown once for each model and address
            lines = [line for line in lines if line.text not in self._shown_calls]
            self._shown_calls.update(line.text for line in lines)
        return lines

    def _status(self) -> str:
        now = time.monotonic()
        activities = [
            activity
            for activity in self._activities.values()
            if activity.progress or now - activity.since >= _SHORTEST
        ]
        is_printing = any(activity.progress.get("printed") for activity in activities)
        hanging = self._running.describe(_HANGS)
        if not (activities or hanging) or self._user_types or is_printing:
            return ""
        calls = list(self._calls().values())
        if len(calls) > _SHOWN_CALLS:
            others = [activity for activity in activities if activity not in calls]
            activities = [*others, _together(calls)]
        texts = [
            f"{activity.text}... {int(now - activity.since)} s{_arrived(activity.progress)}"
            for activity in activities
        ]
        if hanging:
            texts.append(f"in {hanging}")
        status = f"[{clock(now - self._started)}] {self._attempt}{', '.join(texts)}"
        self._document.price()
        if spent := describe_spent(self._document.fields):
            status += f"; {spent} so far"
        return status

    def _calls(self) -> dict[int, _Activity]:
        """Return the calls under way, by number."""
        return {
            number: activity
            for (kind, number), activity in self._activities.items()
            if kind == "call"
        }

    def _repaint(self) -> None:
        while not self._closed.wait(self._tick):
            with self._lock:
                if status := self._status():
                    self._painter.tick(status)


def _key(record: Record) -> tuple[str, Any]:
    """Return the key of an activity: what it is, and its number or its log."""
    activity = record.kind.partition(".")[0]
    return activity, record.data.get("number", record.data.get("log"))


def _together(calls: Sequence[_Activity]) -> _Activity:
    """Return several calls as one activity."""
    arriving = [call.progress for call in calls if call.progress]
    progress: dict[str, Any] = {}
    if arriving:
        progress["tokens"] = sum(arrived["tokens"] for arrived in arriving)
        progress["seconds"] = max(arrived["seconds"] for arrived in arriving)
        progress |= {"thinking": False, "file": None}
    since = min(call.since for call in calls)
    return _Activity(f"waiting for {len(calls)} calls", since, progress)


def _arrived(progress: Mapping[str, Any]) -> str:
    """Describe what arrived of a reply, and what the model does now."""
    if not progress:
        return ""
    action = ""
    if progress["thinking"]:
        action = "thinking, "
    elif progress["file"]:
        action = f"writing {progress['file']}, "
    speed = ""
    if progress["seconds"] >= 1:
        speed = f" ({progress['tokens'] / progress['seconds']:,.0f}/s)"
    return f": {action}{count_of(progress['tokens'], 'token')}{speed}"
