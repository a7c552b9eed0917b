"""The timeline to scale: its bars, in thousandths of its width."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from code_commit.plugin_api import count_of
from code_commit_report.run_view import RunView
from code_commit_report.views import CallView, ChangeView, ProcessView

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


class _Span(NamedTuple):
    """A part of a run, from `begin` to `end`."""

    label: str
    target: str
    kind: str
    tone: str
    begin: float
    end: float


def bars(view: RunView) -> list[Bar]:
    """Return a bar for each call, change and process, in order of their start."""
    whole = view.seconds or 1.0
    timeline = []
    for span in sorted(_spans(view), key=lambda span: span.begin):
        begin = max(0.0, span.begin - view.started)
        seconds = span.end - span.begin
        x = min(round(WIDTH * begin / whole), WIDTH - _MIN_WIDTH)
        width = max(_MIN_WIDTH, round(WIDTH * max(0.0, seconds) / whole))
        bar = Bar(
            label=span.label,
            target=span.target,
            kind=span.kind,
            tone=span.tone,
            begin=begin,
            seconds=seconds,
            x=x,
            width=min(width, WIDTH - x),
        )
        timeline.append(bar)
    return timeline


def ticks(seconds: float, parts: int = 4) -> list[float]:
    """Return evenly spaced times for the axis of the timeline."""
    return [seconds * index / parts for index in range(parts + 1)]


def _spans(view: RunView) -> Iterator[_Span]:
    for chapter in view.chapters:
        for call in chapter.calls:
            yield _of_call(call, view.latest)
        for change in chapter.changes:
            yield _of_change(change)
        for process in chapter.processes:
            yield _of_process(process, view.latest)


def _of_call(call: CallView, latest: float) -> _Span:
    tone = "plain"
    if call.error:
        tone = "bad"
    elif call.finished is None:
        tone = "open"
    return _Span(
        label=f"call {call.number}, {call.label}",
        target=f"call-{call.number}",
        kind="call",
        tone=tone,
        begin=call.started,
        end=latest if call.finished is None else call.finished,
    )


def _of_change(change: ChangeView) -> _Span:
    files = count_of(len(change.written) + len(change.deleted), "file")
    label = "refused" if change.refused else f"{files} changed"
    return _Span(
        label=_named(label, change.candidate),
        target=f"change-{change.number}",
        kind="change",
        tone="bad" if change.refused else "plain",
        begin=change.at,
        end=change.at,
    )


def _of_process(process: ProcessView, latest: float) -> _Span:
    if process.passed:
        tone, word = "good", "passed"
    elif process.finished is None:
        tone, word = "open", "running"
    else:
        tone, word = "bad", "failed"
    label = f"build {word}" if process.is_build else process.argv
    return _Span(
        label=_named(label, process.candidate),
        target=f"process-{process.number}",
        kind="build",
        tone=tone,
        begin=process.started,
        end=latest if process.finished is None else process.finished,
    )


def _named(label: str, candidate: int | None) -> str:
    """Return the label of what belongs to a candidate, if it does."""
    return f"candidate {candidate}: {label}" if candidate else label
