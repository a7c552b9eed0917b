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


def show(run: Run, text: str) -> None:
    """Show `text` to the person; with `--json`, as an event."""
    run.emit(Notice(text))
    run.say(text)
