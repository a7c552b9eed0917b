"""The limits, end and result of an agent."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from code_commit.plugin_api import Json, Message
from code_commit_toolbox.settings import ToolboxSettings


class End(Enum):
    """Why the loop ended. Only FINISHED means that the model reported that it is done."""

    FINISHED = "finished"
    OUT_OF_TURNS = "out of turns"
    OUT_OF_TOKENS = "out of tokens"
    OUT_OF_TIME = "out of time"
    CONTEXT_FULL = "the conversation no longer fits the context"
    REPEATED = "the model repeated itself"
    UNUSABLE = "the model returned no usable reply"
    TAMPERED = "a command changed files that check the project"


@dataclass(frozen=True, slots=True)
class AgentLimits:
    """The limits of one agent.

    The host limits cost (`--max-cost`), the provider limits the time of one call.

    `tokens` counts input and output of all calls; `context_tokens` limits one request; `seconds` is
    checked between calls of the model and of tools, and limits commands.
    """

    turns: int
    tokens: int
    seconds: float
    context_tokens: int

    @classmethod
    def of(cls, settings: ToolboxSettings) -> AgentLimits:
        """Return the configured limits."""
        return cls(
            settings.max_turns, settings.max_tokens, settings.max_seconds, settings.context_tokens
        )


@dataclass(frozen=True, slots=True)
class CalledTool:
    """A finished tool call. `arguments` is the text that the model wrote, `given` its values."""

    name: str
    arguments: str
    text: str
    is_error: bool
    seconds: float
    given: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Turn:
    """One reply of the model, with the results of its calls."""

    number: int
    text: str
    calls: tuple[CalledTool, ...]


@dataclass(frozen=True, slots=True)
class AgentResult:
    """The result of an agent.

    `text` is that of `final_output`, or the model's last text. `messages` is the whole
    conversation, with an answer to every call, so that it can be continued. `tampered` names what a
    command altered; `transcript` is a file.
    """

    end: End
    text: str
    turns: int
    tokens: int
    messages: tuple[Message, ...]
    transcript: Path
    tampered: tuple[str, ...] = ()

    @property
    def finished(self) -> bool:
        """Return whether the model reported that it is done."""
        return self.end is End.FINISHED
