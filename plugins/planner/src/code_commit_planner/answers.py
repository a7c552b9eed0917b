"""What a person may answer, and what it means. The end of input always means to quit, nothing else does by itself."""

from __future__ import annotations

from collections.abc import Mapping

from code_commit.plugin_api import Run
from code_commit_planner.machine import Event
from code_commit_planner.prompts import filled
from code_commit_planner.telling import tell
from code_commit_planner.words import NOT_UNDERSTOOD

_WORDS = {
    "y": Event.YES,
    "yes": Event.YES,
    "n": Event.NO,
    "no": Event.NO,
    "c": Event.GO,
    "continue": Event.GO,
    "q": Event.QUIT,
    "quit": Event.QUIT,
    "exit": Event.QUIT,
}
_NAMES = {Event.YES: "yes", Event.NO: "no", Event.GO: "continue", Event.QUIT: "quit"}

YES_OR_NO = (Event.YES, Event.NO, Event.QUIT)


def meaning(answer: str | None) -> Event | None:
    """Return what `answer` says; None where it is neither of the words that everybody may say."""
    if answer is None:
        return Event.INPUT_ENDED
    return _WORDS.get(answer.strip().strip(".![]'\"").casefold())


def understood(answer: str | None, choices: Mapping[Event, Event], *, empty: Event | None = None) -> Event | None:
    """Return which of `choices` an answer means; `empty` is what a bare Enter means."""
    if answer is not None and not answer.strip():
        return empty
    event = meaning(answer)
    return event if event is Event.INPUT_ENDED else choices.get(event) if event else None


def ask(
    run: Run, question: str, choices: tuple[Event, ...], *, empty: Event | None = None, also: Mapping[Event, Event] = {}
) -> Event:
    """Ask until one of `choices` is said. `also` are further words, and which choice they mean."""
    accepted = {**{choice: choice for choice in choices}, **also}
    names = [_NAMES[choice] for choice in choices]
    while True:
        event = understood(run.ask(question, choices=names), accepted, empty=empty)
        if event is not None:
            return event
        tell(run, filled(NOT_UNDERSTOOD, choices=" or ".join(f"'{name}'" for name in names)))
