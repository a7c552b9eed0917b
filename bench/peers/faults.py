"""The task of the comparison, and the eleven faults: what the model says, and what goes wrong.

Each tool gets the same turns, in its own form of an edit. Nothing here needs a tool or a library.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

KEY = "sk-peers-5Xq0RzT7mWb2LkV9cYd4"
"""The key of every run. Found on disk, it was written there by the tool."""

TASK = "Give the right answer, and note the reason."
FILES = {"src/answer.txt": "none\n", "src/notes.txt": "no reason\n"}
OUTSIDE = "outside.txt"
"""Beside the project."""
STARTED = "target/started"
"""The slow build makes this file, which git ignores, when it starts."""

BUILD = 'read -r answer < src/answer.txt; echo "the answer is $answer"; test "$answer" = right\n'
SLOW_BUILD = f"mkdir -p target; echo > {STARTED}; sleep 600\n"

Delivery = Literal["whole", "cut", "broken off", "stalled"]


@dataclass(frozen=True, slots=True)
class Edit:
    """One line of a file becomes another. `before` may be what the file does not hold."""

    path: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Change:
    """The model changes files in one reply, which may be delivered badly.

    `cut` ends by the limit of length in the last edit, `broken off` loses the connection in the
    middle, `stalled` stops there.
    """

    edits: tuple[Edit, ...]
    delivery: Delivery = "whole"
    remark: str = "Here is the change."


@dataclass(frozen=True, slots=True)
class Build:
    """The model asks for the build. Tools that run it themselves skip this turn."""


@dataclass(frozen=True, slots=True)
class End:
    """The model says that it has finished. Tools that decide this themselves skip this turn."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """The service answers with an error."""

    status: int
    message: str


Turn = Change | Build | End | Refuse


@dataclass(frozen=True, slots=True)
class Scenario:
    """What the service does in one run.

    After the last turn comes `End`, or the last turn again if it is `repeated`. `signal` is sent to
    the tool: Ctrl-C when a stalled reply is under way, or kill -9 when the build has started.
    """

    name: str
    meaning: str
    turns: Sequence[Turn]
    repeated: bool = False
    signal: Literal["", "Ctrl-C", "kill -9"] = ""
    build: str = BUILD

    @property
    def goals(self) -> set[str]:
        """Return the paths that the model wants to change."""
        changes = [turn for turn in self.turns if isinstance(turn, Change)]
        return {edit.path for change in changes for edit in change.edits}


def _answers(*answers: str) -> list[Turn]:
    """Return one change after the other, from the start on, each with its build."""
    turns: list[Turn] = []
    before = "none"
    for answer in answers:
        turns += [Change((Edit("src/answer.txt", before, answer),)), Build()]
        before = answer
    return turns


_ANSWER = Edit("src/answer.txt", "none", "right")
_NOTES = Edit("src/notes.txt", "no reason", "it was asked for")
_MISFIT = Edit("src/notes.txt", "a line that is not there", "it was asked for")
_OUTSIDE = Edit(f"../{OUTSIDE}", "", "it was asked for")
_KEY = Edit("src/notes.txt", "no reason", f"the key is {KEY}")

SPEED = Scenario(
    "task", "two changes and two builds, the first one red", _answers("wrong", "right")
)

FAULTS: tuple[Scenario, ...] = (
    Scenario("401", "the key is refused", [Refuse(401, "Incorrect API key provided.")], True),
    Scenario("429 for ever", "every call is one too many", [Refuse(429, "Slow down.")], True),
    Scenario("500 for ever", "the service fails at every call", [Refuse(500, "It broke.")], True),
    Scenario(
        "reply cut by length",
        "every reply ends by the limit of tokens, in its second edit",
        [Change((_ANSWER, _NOTES), "cut")],
        True,
    ),
    Scenario(
        "stream breaks off",
        "every reply loses its connection half-way",
        [Change((_ANSWER, _NOTES), "broken off")],
        True,
    ),
    Scenario(
        "malformed edit",
        "the second of two edits does not fit, in two replies",
        [Change((_ANSWER, _MISFIT)), Change((_ANSWER, _MISFIT))],
    ),
    Scenario(
        "build stays red",
        "five changes, each with a red build; then the model says that it has finished",
        _answers("wrong", "worse", "bad", "false", "untrue"),
    ),
    Scenario(
        "path outside",
        "one of two edits makes a file beside the project",
        [Change((_ANSWER, _OUTSIDE)), Build()],
    ),
    Scenario(
        "Ctrl-C in a reply",
        "after a red build, in the middle of the second reply",
        [*_answers("wrong"), Change((Edit("src/answer.txt", "wrong", "right"),), "stalled")],
        signal="Ctrl-C",
    ),
    Scenario(
        "kill -9 in a build",
        "after the change, while the build runs",
        [Change((_ANSWER, _NOTES)), Build()],
        signal="kill -9",
        build=SLOW_BUILD,
    ),
    Scenario(
        "key in the reply",
        "the model writes the key into a file",
        [Change((_ANSWER, _KEY), remark=f"The key is {KEY}."), Build()],
    ),
)
