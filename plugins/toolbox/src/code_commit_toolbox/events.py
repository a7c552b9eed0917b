"""Events of the agent loop, in addition to its spans `toolbox.agent` and `toolbox.turn`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from code_commit.plugin_api import Event


@dataclass(frozen=True, slots=True)
class AgentSaid(Event):
    """The text of a reply, without thinking and calls."""

    kind: ClassVar[str] = "toolbox.said"
    agent: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolCalled(Event):
    """A tool was called, or the call was refused.

    `call` is one line; `characters` is the length of its answer.
    """

    kind: ClassVar[str] = "toolbox.called"
    agent: str
    tool: str
    call: str
    is_error: bool
    seconds: float
    characters: int
    error: str | None = None


@dataclass(frozen=True, slots=True)
class ContextShortened(Event):
    """Old tool results are left out of requests from now on; the numbers are estimated tokens."""

    kind: ClassVar[str] = "toolbox.shortened"
    agent: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class AgentEnded(Event):
    """The loop ended; `end` is the reason, `text` the last words."""

    kind: ClassVar[str] = "toolbox.ended"
    agent: str
    end: str
    turns: int
    tokens: int
    transcript: str
    text: str = ""
