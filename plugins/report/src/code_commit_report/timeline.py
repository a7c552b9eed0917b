"""The timeline to scale: its bars, in thousandths of its width."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from code_commit.plugin_api import count_of
from code_commit_report.run_view import CallView, ChangeView, ProcessView, RunView

WIDTH = 1000
_MIN_WIDTH = 2  # every bar must be visible


@dataclass(frozen=True, slots=True)
class Bar:
    """One line of the timeline. `target` is the anchor of its item."""

    label: str
    target: str
    kind: str
    tone: str
    begin: float
    seconds: float
    x: int
    width: int


@dataclass(frozen=True, slots=True)
class _Span:
    """A call, a change or a process in time. `target` is its anchor."""

    label: str
    target: str
    kind: str
    tone: str
    begin: float
    end: float


def bars(view: RunView) -> list[Bar]:
    """Return a bar for each call, change and process, in order of their start."""
    spans = sorted(_spans(view), key=lambda span: span.begin)
    return [_bar(span, view) for span in spans]


def _bar(span: _Span, view: RunView) -> Bar:
    whole = view.seconds or 1.0
    begin = max(0.0, span.begin - view.started)
    x = min(round(WIDTH * begin / whole), WIDTH - _MIN_WIDTH)
    seconds = span.end - span.begin
    width = max(_MIN_WIDTH, round(WIDTH * max(0.0, seconds) / whole))
    return Bar(
        label=span.label,
        target=span.target,
        kind=span.kind,
        tone=span.tone,
        begin=begin,
        seconds=seconds,
        x=x,
        width=min(width, WIDTH - x),
    )


def ticks(seconds: float, parts: int = 4) -> list[float]:
    """Return evenly spaced times for the axis of the timeline."""
    return [seconds * index / parts for index in range(parts + 1)]


def _spans(view: RunView) -> Iterator[_Span]:
    for chapter in view.chapters:
        yield from (_span_of_call(call, view) for call in chapter.calls)
        yield from map(_span_of_change, chapter.changes)
        yield from (_span_of_process(process, view) for process in chapter.processes)


def _span_of_call(call: CallView, view: RunView) -> _Span:
    tone = "plain" if call.finished is not None else "open"
    return _Span(
        label=f"call {call.number}, {call.label}",
        target=f"call-{call.number}",
        kind="call",
        tone="bad" if call.error else tone,
        begin=call.started,
        end=view.latest if call.finished is None else call.finished,
    )


def _span_of_change(change: ChangeView) -> _Span:
    files = count_of(len(change.written) + len(change.deleted), "file")
    return _Span(
        label="refused" if change.refused else f"{files} changed",
        target=f"change-{change.number}",
        kind="change",
        tone="bad" if change.refused else "plain",
        begin=change.at,
        end=change.at,
    )


def _span_of_process(process: ProcessView, view: RunView) -> _Span:
    if process.passed:
        tone, state = "good", "passed"
    elif process.finished is None:
        tone, state = "open", "running"
    else:
        tone, state = "bad", "failed"
    return _Span(
        label=f"build {state}" if process.is_build else process.argv,
        target=f"process-{process.number}",
        kind="build",
        tone=tone,
        begin=process.started,
        end=view.latest if process.finished is None else process.finished,
    )
