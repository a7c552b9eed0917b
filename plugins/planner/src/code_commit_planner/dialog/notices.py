"""Show messages to the person, and to a program that drives the run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from code_commit.plugin_api import Event, Run


@dataclass(frozen=True, slots=True)
class Notice(Event):
    """A message that is not a question: the branch, dirty files, feedback, the commit message."""

    kind: ClassVar[str] = "planner.told"
    text: str


@dataclass(frozen=True, slots=True)
class TodosChanged(Event):
    """An agent changed its todo list: how many items are done, of how many, and the whole list."""

    kind: ClassVar[str] = "planner.todos"
    agent: str
    done: int
    all: int
    text: str


@dataclass(frozen=True, slots=True)
class Spent(Event):
    """What the run has spent so far, before a turn or at the end; None for what is unknown."""

    kind: ClassVar[str] = "planner.spent"
    tokens: int | None
    cost_usd: float | None


def show(run: Run, text: str, style: str = "") -> None:
    """Show `text` to the person; with `--json`, as an event. `style` is as in `Run.say`."""
    run.emit(Notice(text))
    run.say(text, style)
