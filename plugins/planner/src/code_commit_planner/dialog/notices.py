"""Show messages to the person, and to a program that drives the run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from code_commit.plugin_api import Event, Run
from code_commit_planner.dialog.text import fill


@dataclass(frozen=True, slots=True)
class Notice(Event):
    """A message that is not a question: the branch, dirty files, feedback, the commit message."""

    kind: ClassVar[str] = "planner.told"
    text: str


@dataclass(frozen=True, slots=True)
class TodosChanged(Event):
    """An agent changed its todo list: `done` of `all` items are done; `text` is the whole list."""

    kind: ClassVar[str] = "planner.todos"
    agent: str
    done: int
    all: int
    text: str


def show(run: Run, template: str, *, style: str = "", **values: str) -> None:
    """Show `template`, filled with `values`, to the person; with `--json`, as an event.

    `style` is as in `Run.say`.
    """
    text = fill(template, **values)
    run.emit(Notice(text))
    run.say(text, style)
