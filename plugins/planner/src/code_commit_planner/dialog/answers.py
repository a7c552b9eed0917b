"""Interpret a person's answers. The end of input always means quit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from code_commit.plugin_api import Run
from code_commit_planner.dialog.messages import NOT_UNDERSTOOD
from code_commit_planner.dialog.notices import show
from code_commit_planner.machine import Event

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
_NAMES = {
    Event.YES: "yes",
    Event.NO: "no",
    Event.GO: "continue",
    Event.QUIT: "quit",
}

# An answer of these words alone asks a model for nothing, and would cost a call.
_AGREEMENT = frozenset(
    {
        *("y", "yes", "yep", "yeah", "ok", "okay", "sure", "fine", "good", "great", "lgtm"),
        *("all", "and", "commit", "continue", "go", "ahead", "do", "it", "it's", "its", "is"),
        *("looks", "me", "now", "on", "please", "that", "that's", "thank", "thanks", "this"),
        *("to", "very", "you"),
    }
)
_SHORTEST_WORD = 3  # letters; a shorter answer is a wrong key
_NOTHING: Mapping[str, Callable[[], object]] = MappingProxyType({})

YES_OR_NO = (Event.YES, Event.NO, Event.QUIT)


def meaning(answer: str | None) -> Event | None:
    """Return the event of a common answer; None for any other text."""
    if answer is None:
        return Event.INPUT_ENDED
    return _WORDS.get(answer.strip().strip(".![]'\"").casefold())


def is_words(answer: str, *, least: int = 1) -> bool:
    """Return whether an unknown answer is text for a model: no mistyped command, no wrong key."""
    from difflib import get_close_matches

    words = answer.split()
    if len(words) < least:
        return False
    if len(words) != 1:
        return bool(words)
    if len(words[0]) < _SHORTEST_WORD:
        return False
    return not get_close_matches(words[0].casefold(), _WORDS)


def only_agrees(answer: str) -> bool:
    """Return whether an answer is a kind of "yes", such as "OK, go ahead", and asks for nothing."""
    words = [word.strip(".,!:'\"").casefold() for word in answer.split()]
    return bool(words) and all(word in _AGREEMENT for word in words)


def ask_for_words(
    run: Run,
    question: str,
    names: Sequence[str],
    choices: Mapping[Event, Event],
    *,
    empty: Event | None = None,
    shows: Mapping[str, Callable[[], object]] = _NOTHING,
    least: int = 1,
) -> Event | str:
    """Ask until the person gives one of `choices`, or text of their own of at least `least` words.

    `names` are the choices for people. `shows` are words that show something before the question
    is asked again.
    """
    while True:
        answer = run.ask(question, choices=names, draft="")
        if answer is not None and answer.strip().casefold() in shows:
            shows[answer.strip().casefold()]()
            continue
        event = understood(answer, choices, empty=empty)
        if event is not None:
            return event
        if answer is not None and _is_for_model(answer, least):
            return answer.strip()
        own_words = "words of your own" if least == 1 else f"{least} or more words of your own"
        show(run, NOT_UNDERSTOOD, choices=f"{join_choices(names)}, or in {own_words}")


def _is_for_model(answer: str, least: int) -> bool:
    return meaning(answer) is None and is_words(answer, least=least) and not only_agrees(answer)


def understood(
    answer: str | None,
    choices: Mapping[Event, Event],
    *,
    empty: Event | None = None,
) -> Event | None:
    """Return which of `choices` an answer means; `empty` is the meaning of a bare Enter."""
    if answer is not None and not answer.strip():
        return empty
    event = meaning(answer)
    if event is None or event is Event.INPUT_ENDED:
        return event
    return choices.get(event)


def ask(
    run: Run,
    question: str,
    choices: tuple[Event, ...],
    *,
    empty: Event | None = None,
) -> Event:
    """Ask until the person gives one of `choices`."""
    accepted = {choice: choice for choice in choices}
    names = [_NAMES[choice] for choice in choices]
    while True:
        event = understood(run.ask(question, choices=names), accepted, empty=empty)
        if event is not None:
            return event
        show(run, NOT_UNDERSTOOD, choices=join_choices(names))


def join_choices(names: Sequence[str]) -> str:
    """Return the choices for people; the empty one is the Enter key."""
    return " or ".join(f"'{name}'" if name else "Enter" for name in names)
