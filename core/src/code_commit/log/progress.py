"""Progress on stderr: a line for each event, and a status line for running activities."""

from __future__ import annotations

import shlex
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, TextIO, cast

from code_commit.plugin_api.event import Record
from code_commit.plugin_api.process_end import is_build, process_ending, process_passed
from code_commit.plugin_api.run_files import LOGS
from code_commit.plugin_api.run_json import (
    BEFORE_WORK,
    RunDocument,
    clock,
    describe_spent,
)
from code_commit.terminal.screen import can_repaint, may_color
from code_commit.terminal.streams import SafeStream
from code_commit_workspace.words import count_of, join_paths, printable, shorten

_REPAINT = 0.1  # seconds
_SHORTEST = 0.05  # seconds; a shorter activity would only flicker
_PLAIN_TICK = 60.0  # seconds; CI services end a job after a longer silence
_SHOWN_PATHS = 5
_SHOWN_COMMAND = 80
_TOKENS = {"in": "input_tokens", "out": "output_tokens"}

_GOOD, _BAD, _FAINT = "green", "red", "dim"  # styles of rich


@dataclass(frozen=True, slots=True)
class Line:
    """A line about an event, in a style of rich."""

    text: str
    style: str = ""


class Progress:
    """A log sink.

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
        safe, live = SafeStream(stream), can_repaint(stream, environment)
        self._painter = (
            LivePainter(safe, color=may_color(stream, environment)) if live else PlainPainter(safe)
        )
        self._tick = _REPAINT if live else _PLAIN_TICK
        self._workflow_reports = workflow_reports
        self._lock = threading.RLock()
        self._started = time.monotonic()
        self._start_time = 0.0
        # What runs, since when, and the data of the latest `call.progress`.
        self._activities: dict[tuple[str, Any], tuple[str, float, Mapping[str, Any]]] = {}
        self._held: list[tuple[str, Line]] = []
        # The first line names the run folder, which a run that does not begin does not leave.
        self._holds = False
        self._attempt = ""
        self._shown_calls: set[str] = set()
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
            if record.kind in {"question.asked", "question.answered"}:
                self._user_types = record.kind == "question.asked"
            what, _, step = record.kind.partition(".")
            activity = what, record.data.get("number", record.data.get("log"))
            if step == "finished":
                self._activities.pop(activity, None)
            elif step in {"progress", "retried"} and activity in self._activities:
                data = record.data if step == "progress" else {}
                self._activities[activity] = (*self._activities[activity][:2], data)
            prefix = f"[{clock(record.time - self._start_time)}] "
            self._held += [(prefix, line) for line in self._lines(record)]
            if record.kind == "run.finished":
                del self._held[: self._holds]
            self._holds = record.kind == "run.started" or (
                self._holds and record.kind in BEFORE_WORK - {"run.finished"}
            )
            self._painter.status(self._status())
            while self._held and not self._holds:
                prefix, line = self._held.pop(0)
                self._painter.print(prefix, line.text, line.style)
            if record.kind in _ACTIVITIES:
                self._activities[activity] = (
                    _ACTIVITIES[record.kind](record.data),
                    time.monotonic(),
                    {},
                )
                if self._ticker is None and not self._closed.is_set():
                    self._ticker = threading.Thread(
                        target=self._repaint, name="progress", daemon=True
                    )
                    self._ticker.start()

    def close(self) -> None:
        """Remove the status line and stop repainting."""
        self._closed.set()
        if self._ticker is not None:
            self._ticker.join()
        with self._lock:
            self._painter.status("")

    def _lines(self, record: Record) -> Sequence[Line]:
        lines = (lines_beside_workflow if self._workflow_reports else lines_of)(record)
        if record.kind == "call.started" and self._workflow_reports:
            # Once for each model and address.
            lines = [line for line in lines if line.text not in self._shown_calls]
            self._shown_calls.update(line.text for line in lines)
        # The run goes on: its last lines will not show why.
        if record.kind in {"call.started", "attempt.started"}:
            lines, self._reason = (*self._reason, *lines), ()
        elif record.kind == "call.finished":
            self._reason = (
                [Line(f"  {record.data['error']}", _BAD)] if record.data.get("error") else ()
            )
        elif record.kind == "process.finished" and not self._workflow_reports:
            last = record.data.get("last_lines")
            self._reason = [Line(f"the last lines of the build:\n{last}", _FAINT)] if last else ()
        return lines

    def _status(self) -> str:
        now = time.monotonic()
        shown = [
            each for each in self._activities.values() if now - each[1] >= _SHORTEST or each[2]
        ]
        if not shown or self._user_types or any(data.get("printed") for *_, data in shown):
            return ""
        spent = describe_spent(self._document.fields)
        texts = ", ".join(
            f"{text}... {int(now - since)} s{_arrived(data)}" for text, since, data in shown
        )
        return (
            f"[{clock(now - self._started)}] {self._attempt}{texts}"
            + f"; {spent} so far" * bool(spent)
        )

    def _repaint(self) -> None:
        while not self._closed.wait(self._tick):
            with self._lock:
                if status := self._status():
                    self._painter.tick(status)


def lines_of(record: Record) -> Sequence[Line]:
    """Return the lines about a record; none for kinds that people do not need."""
    describe = _LINES.get(record.kind)
    # The path of the log from where the command runs.
    return (
        ()
        if describe is None
        else describe({**record.data, "log": f"{LOGS}/{record.run}/{record.data.get('log')}"})
    )


def lines_beside_workflow(record: Record) -> Sequence[Line]:
    """Return the lines that a workflow with its own reports leaves out: models, failures, messages."""
    kind, data = record.kind, record.data
    if kind == "call.started":
        return (Line(_asking(data)),)
    told = kind in {"state.entered", "changes.applied", "process.started"}
    told |= kind == "call.finished" and data.get("error") is None
    return (
        ()
        if told or (kind == "process.finished" and not data.get("tampered"))
        else lines_of(record)
    )


def _arrived(data: Mapping[str, Any]) -> str:
    """Describe what arrived of a reply, and what the model does now."""
    if not data:
        return ""
    speed = f" ({data['tokens'] / data['seconds']:,.0f}/s)" if data["seconds"] >= 1 else ""
    doing = (
        "thinking, " if data["thinking"] else f"writing {data['file']}, " if data["file"] else ""
    )
    return f": {doing}{count_of(data['tokens'], 'token')}{speed}"


def _process(data: Mapping[str, Any]) -> str:
    if is_build(data.get("argv")):
        return "build"
    command = shlex.join(str(word) for word in data.get("argv") or ())
    return shorten(command, _SHOWN_COMMAND)


def _asking(data: Mapping[str, Any]) -> str:
    where = [data[name] for name in ("address", "key_source") if data.get(name)]
    return f"asking {data.get('model')}" + f" ({', '.join(where)})" * bool(where)


def _call_retried(data: Mapping[str, Any]) -> Sequence[Line]:
    failed = f"try {data.get('attempt')} failed: {data.get('reason')}"
    return (Line(f"{failed}; next in {_seconds(data.get('wait'))}", _BAD),)


def _call_finished(data: Mapping[str, Any]) -> Sequence[Line]:
    if data.get("error") is not None:
        how = "interrupted" if data["error"] == "interrupted" else "failed"
        failed = (
            "was not called"
            if data.get("cost_usd") == 0
            else f"{how} after {_seconds(data.get('seconds'))}"
        )
        return (Line(f"{data.get('model')} {failed}", _BAD),)
    tokens = [
        f"{count_of(data[name], 'token')} {way}" for way, name in _TOKENS.items() if data.get(name)
    ]
    finish = data.get("finish")
    ending = (
        []
        if finish in {"stop", "tool_calls"}
        else [f"ended with {data.get('finish_detail') or finish}"]
    )
    return (
        Line(
            ", ".join(
                [
                    f"{data.get('model')} answered in {_seconds(data.get('seconds'))}",
                    *tokens,
                    *ending,
                ]
            )
        ),
    )


def _changes_applied(data: Mapping[str, Any]) -> Sequence[Line]:
    return [
        Line(f"{count_of(len(paths), 'file')} {done}: {join_paths(paths, _SHOWN_PATHS)}")
        for done in ("written", "deleted")
        if (paths := data.get(done))
    ]


def _changes_refused(data: Mapping[str, Any]) -> Sequence[Line]:
    rows = [
        f"{row.get('path')}: {row.get('reason')}".removeprefix(": ")
        for row in data.get("refusals") or ()
    ]
    reason = str(data.get("reason"))  # of many, it names the first
    reason, rows = (
        ("", reason.split("\n")) if rows and reason.startswith(rows[0]) else (f" {reason}", rows)
    )
    return (Line(f"response refused:{reason}", _BAD), *(Line(f"  {row}", _BAD) for row in rows))


def _changes_undone(data: Mapping[str, Any]) -> Sequence[Line]:
    paths = data.get("paths") or ()
    done = f"{count_of(len(paths), 'file')} restored" if paths else "nothing to undo"
    return (
        Line(
            f"{done} ({data.get('reason')})" + f": {join_paths(paths, _SHOWN_PATHS)}" * bool(paths)
        ),
    )


def _process_started(data: Mapping[str, Any]) -> Sequence[Line]:
    sandbox = data.get("sandbox")
    return (
        Line(
            f"{_process(data)} ({'not isolated' if sandbox == 'off' else f'isolated by {sandbox}'})"
        ),
    )


def _process_finished(data: Mapping[str, Any]) -> Sequence[Line]:
    name = _process(data)
    after = f"after {_seconds(data.get('seconds'))}"
    if process_passed(data):
        return (Line(f"{name} passed {after}", _GOOD),)
    ending = process_ending(data)
    if not data.get("tampered"):
        ending = f"{ending} {after}"
    return (Line(f"{name} {ending}, see {data.get('log')}", _BAD),)


def _plugin_failed(data: Mapping[str, Any]) -> Sequence[Line]:
    of = f" of {data['distribution']}" if data.get("distribution") else ""
    return (
        Line(
            f"plugin {data.get('plugin')}{of} failed ({data.get('stage')}): {data.get('error')}",
            _BAD,
        ),
    )


def _message(data: Mapping[str, Any]) -> Sequence[Line]:
    level = data.get("level", "info")
    return (
        Line(str(data.get("text")))
        if level == "info"
        else Line(f"{level}: {data.get('text')}", _BAD),
    )


_ACTIVITIES: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "call.started": lambda data: f"asking {data.get('model')}",
    "process.started": _process,
}
_LINES: dict[str, Callable[[Mapping[str, Any]], Sequence[Line]]] = {
    "run.started": lambda data: (
        Line(f"{data.get('workflow')}, log in {data.get('folder')}", _FAINT),
    ),
    "attempt.started": lambda data: (Line(f"attempt {data.get('number', '')}".rstrip()),),
    "call.started": lambda data: (
        Line(f"call {data.get('number')}, {data.get('label')}: {_asking(data)}"),
    ),
    "call.retried": _call_retried,
    "call.finished": _call_finished,
    "changes.applied": _changes_applied,
    "changes.refused": _changes_refused,
    "changes.undone": _changes_undone,
    "process.started": _process_started,
    "process.finished": _process_finished,
    "state.entered": lambda data: (Line(f"state: {data.get('state')}"),),
    "plugin.failed": _plugin_failed,
    "message": _message,
}


def _seconds(value: Any) -> str:
    return f"{value:.1f} s" if isinstance(value, int | float) else "? s"


# --- painters: where lines go ---------------------------------------------------------------------------------------


class PlainPainter:
    """Prints lines to files, pipes and dumb terminals. Foreign text is escaped."""

    def __init__(self, stream: SafeStream) -> None:
        self._stream = stream

    def print(self, prefix: str, text: str, style: str) -> None:  # noqa: ARG002 - for terminals
        """Print `text` after `prefix`."""
        self.tick(prefix + _indented(text, len(prefix)))

    def status(self, text: str) -> None:
        """Do nothing: the status line cannot be repainted."""

    def tick(self, text: str) -> None:
        """Show that the run goes on."""
        self._stream.print(text)


class LivePainter(PlainPainter):
    """Prints to a terminal, above a status line that it repaints. `style` is one of rich's.

    `rich.live` would hide the cursor, which stays hidden if the process is killed.
    """

    def __init__(self, stream: SafeStream, *, color: bool) -> None:
        from rich.console import Console
        from rich.text import Text

        super().__init__(stream)
        file = cast("IO[str]", stream)  # it has the methods that rich uses
        self._console = Console(file=file, force_terminal=True, no_color=not color, highlight=False)
        self._text = Text
        self._status = Text()  # on the screen

    def print(self, prefix: str, text: str, style: str) -> None:
        """Print `text` in `style` after `prefix`, above the status line."""
        self._erase()
        line = self._text.assemble((prefix, "dim"), (_indented(text, len(prefix)), style))
        self._console.print(line, soft_wrap=True)
        self._console.print(self._status, end="", soft_wrap=True)

    def status(self, text: str) -> None:
        """Show `text` in the status line."""
        status = self._text(printable(text).replace("\n", " "))
        # The terminal shows Ctrl-C as `^C` at the end: without room for it, the line would wrap and
        # stay.
        status.truncate(max(1, self._console.width - 3), overflow="ellipsis")
        if status != self._status:
            self._erase()
            self._console.print(status, end="", soft_wrap=True)
            self._status = status

    tick = status

    def _erase(self) -> None:
        """Erase the status line, which takes several rows after the terminal became narrower."""
        if self._status:
            rows = (self._status.cell_len - 1) // self._console.width
            self._stream.write("\r\x1b[2K" + "\x1b[1A\x1b[2K" * rows)


def _indented(text: str, indent: int) -> str:
    """Escape foreign text, and indent its further lines, so that they do not look like ours."""
    return printable(text).replace("\n", "\n" + " " * indent)
