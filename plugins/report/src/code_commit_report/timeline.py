"""The timeline to scale: its bars, in thousandths of its width."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from code_commit.plugin_api import count_of
from code_commit_report.run_view import RunView

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


def bars(view: RunView) -> list[Bar]:
    """Return a bar for each call, change and process, in order of their start."""
    whole = view.seconds or 1.0
    found = []
    for label, target, kind, tone, begin, end in sorted(_spans(view), key=lambda each: each[4]):
        x = round(WIDTH * max(0.0, begin - view.started) / whole)
        width = max(_MIN_WIDTH, round(WIDTH * max(0.0, end - begin) / whole))
        x = min(x, WIDTH - _MIN_WIDTH)
        found.append(
            Bar(
                label,
                target,
                kind,
                tone,
                max(0.0, begin - view.started),
                end - begin,
                x,
                min(width, WIDTH - x),
            )
        )
    return found


def ticks(seconds: float, parts: int = 4) -> list[float]:
    """Return evenly spaced times for the axis of the timeline."""
    return [seconds * index / parts for index in range(parts + 1)]


def _spans(view: RunView) -> Iterator[tuple[str, str, str, str, float, float]]:
    for chapter in view.chapters:
        for call in chapter.calls:
            end = call.finished if call.finished is not None else view.latest
            tone = "bad" if call.error else "open" if call.finished is None else "plain"
            yield (
                f"call {call.number}, {call.label}",
                f"call-{call.number}",
                "call",
                tone,
                call.started,
                end,
            )
        for change in chapter.changes:
            done = "bad" if change.refused else "plain"
            number = len(change.written) + len(change.deleted)
            label = "refused" if change.refused else f"{count_of(number, 'file')} changed"
            yield label, f"change-{change.number}", "change", done, change.at, change.at
        for process in chapter.processes:
            end = process.finished if process.finished is not None else view.latest
            tone = "good" if process.passed else "open" if process.finished is None else "bad"
            word = (
                "passed" if process.passed else "running" if process.finished is None else "failed"
            )
            label = f"build {word}" if process.is_build else process.argv
            yield label, f"process-{process.number}", "build", tone, process.started, end
