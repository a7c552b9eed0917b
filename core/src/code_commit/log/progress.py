"""Progress on stderr: a line for everything that happened, a status line for what is going on."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import IO, TYPE_CHECKING, Protocol, Self, TextIO, cast

from code_commit.log.progress_words import (
    Activity,
    Line,
    Tone,
    begun,
    clock,
    ended,
    lines_beside_reports,
    lines_of,
)
from code_commit.log.streams import SafeStream
from code_commit.plugin_api.event import Record

if TYPE_CHECKING:
    from rich.live import Live

_REPAINT = 0.5  # seconds
_STILL_HERE = 60.0  # seconds; a CI service takes a longer silence for a hang


class Progress:
    """A log sink. `live` repaints a status line, which needs a terminal; `color` colors the lines.

    With `workflow_reports`, the workflow itself tells the person what it does.
    """

    name = "progress"

    def __init__(self, stream: TextIO | None, *, live: bool, color: bool, workflow_reports: bool = False) -> None:
        self._lock = threading.RLock()
        self._started = time.monotonic()
        self._start_time: float | None = None
        self._activities: tuple[tuple[Activity, float], ...] = ()
        self._attempt = ""
        self._workflow_reports = workflow_reports
        self._shown_calls: set[str] = set()
        self._person_types = False
        self._painter: _Painter = _LivePainter(stream, color=color) if live else _PlainPainter(stream)
        self._tick = _REPAINT if live else _STILL_HERE
        self._ticker: threading.Thread | None = None
        self._closed = threading.Event()

    @classmethod
    def on(cls, stream: TextIO | None, environment: Mapping[str, str], *, workflow_reports: bool = False) -> Self:
        """Choose what `stream` can show: plain lines without a terminal, with `NO_COLOR` or `TERM=dumb`."""
        terminal = stream is not None and not stream.closed and stream.isatty()
        live = terminal and not environment.get("NO_COLOR") and environment.get("TERM", "") not in {"", "dumb"}
        return cls(stream, live=live, color=live, workflow_reports=workflow_reports)

    def receive(self, record: Record) -> None:
        """Print what the record means to a person, and update the status line."""
        with self._lock:
            if self._start_time is None:
                self._start_time = record.time
            if record.kind == "attempt.started":
                self._attempt = f"attempt {record.data.get('number')}, "
            done = ended(record)
            if done is not None:
                self._activities = tuple(each for each in self._activities if each[0].key != done)
                self._painter.status(self._status())
            for line in self._lines(record):
                self._painter.print(f"[{clock(record.time - self._start_time)}] ", line)
            if activity := begun(record):
                self._activities = (*self._activities, (activity, time.monotonic()))
                self._start_ticker()
            if record.kind in {"question.asked", "question.answered"}:
                self._person_types = record.kind == "question.asked"
            self._painter.status(self._status())

    def close(self) -> None:
        """Remove the status line and stop repainting."""
        self._closed.set()
        if self._ticker is not None:
            self._ticker.join()
        with self._lock:
            self._painter.status("")

    def _lines(self, record: Record) -> Sequence[Line]:
        if not self._workflow_reports:
            return lines_of(record)
        lines = lines_beside_reports(record)
        if record.kind != "call.started":
            return lines
        new = [line for line in lines if line.text not in self._shown_calls]  # once for each model and address
        self._shown_calls.update(line.text for line in new)
        return new

    def _status(self) -> str:
        if not self._activities or self._person_types:
            return ""
        now = time.monotonic()
        doing = ", ".join(f"{activity.text}... {int(now - since)} s" for activity, since in self._activities)
        return f"[{clock(now - self._started)}] {self._attempt}{doing}"

    def _start_ticker(self) -> None:
        if self._ticker is None and not self._closed.is_set():
            self._ticker = threading.Thread(target=self._repaint, name="progress", daemon=True)
            self._ticker.start()

    def _repaint(self) -> None:
        while not self._closed.wait(self._tick):
            with self._lock:
                status = self._status()
                if status and not self._closed.is_set():
                    self._painter.tick(status)


class _Painter(Protocol):
    def print(self, prefix: str, line: Line) -> None: ...
    def status(self, text: str) -> None: ...
    def tick(self, text: str) -> None: ...


class _PlainPainter:
    """Lines, for files, pipes and dumb terminals."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = SafeStream(stream)

    def print(self, prefix: str, line: Line) -> None:
        self._stream.write(prefix + _shown(line.text, len(prefix)) + "\n")
        self._stream.flush()

    def status(self, text: str) -> None:
        """Do nothing: a line that cannot be repainted is not painted."""

    def tick(self, text: str) -> None:
        """Say that the run is still going on."""
        self._stream.write(_shown(text, 0) + "\n")
        self._stream.flush()


class _LivePainter:
    """Writes to a terminal with rich, which knows its width and the width of characters."""

    _STYLES: Mapping[Tone, str] = {"plain": "", "good": "green", "bad": "red", "faint": "dim"}

    def __init__(self, stream: TextIO | None, *, color: bool) -> None:
        from rich.console import Console

        self._console = Console(
            file=cast("IO[str]", SafeStream(stream)),  # it has all of a stream that rich uses
            force_terminal=True,
            no_color=not color,
            highlight=False,
        )
        self._live: Live | None = None

    def print(self, prefix: str, line: Line) -> None:
        from rich.text import Text

        text = Text.assemble((prefix, "dim"), (_shown(line.text, len(prefix)), self._STYLES[line.tone]))
        self._console.print(text, soft_wrap=True)

    def status(self, text: str) -> None:
        if not text:
            live, self._live = self._live, None
            if live is not None:
                live.stop()
            return
        from rich.live import Live
        from rich.text import Text

        if self._live is None:
            self._live = Live(
                console=self._console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
            )
            self._live.start()
        self._live.update(Text(_shown(text, 0), no_wrap=True, overflow="ellipsis"), refresh=True)

    def tick(self, text: str) -> None:
        self.status(text)


def _shown(text: str, indent: int) -> str:
    """Escape text from outside, and indent its further lines, so that they do not look like our own."""
    from code_commit_workspace.terminal import printable

    return printable(text).replace("\n", "\n" + " " * indent)
