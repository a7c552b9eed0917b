"""Telling a person something, so that a program that drives the run hears of it as well."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from code_commit.plugin_api import Event, Run


@dataclass(frozen=True, slots=True)
class Told(Event):
    """What a person is shown besides questions: the branch, dirty files, feedback, the message of a commit."""

    kind: ClassVar[str] = "planner.told"
    text: str


def tell(run: Run, text: str) -> None:
    """Show `text` to the person; with `--json`, as an event."""
    run.emit(Told(text))
    run.say(text)
