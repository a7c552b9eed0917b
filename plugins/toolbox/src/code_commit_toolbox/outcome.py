"""How an agent ends, what it may use up, and what it hands back."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from code_commit.plugin_api import Message
from code_commit_toolbox.settings import ToolboxSettings


class End(Enum):
    """Why the loop stopped. FINISHED alone means that the model said it is done."""

    FINISHED = "finished"
    OUT_OF_TURNS = "out of turns"
    OUT_OF_TOKENS = "out of tokens"
    OUT_OF_TIME = "out of time"
    CONTEXT_FULL = "the conversation no longer fits the context"
    REPEATED = "the model repeated itself"
    UNUSABLE = "the model gave no reply that can be used"
    TAMPERED = "a command altered what judges the project"


@dataclass(frozen=True, slots=True)
class AgentLimits:
    """What one agent may use up. Cost is the host's (`--max-cost`), the time of one call the provider's.

    `tokens` counts all calls, in and out; `context_tokens` is the largest request; `seconds` are looked at between
    calls, of the model and of tools, and bound commands.
    """

    turns: int
    tokens: int
    seconds: float
    context_tokens: int

    @classmethod
    def of(cls, settings: ToolboxSettings) -> AgentLimits:
        """Return the limits that are configured."""
        return cls(settings.max_turns, settings.max_tokens, settings.max_seconds, settings.context_tokens)


@dataclass(frozen=True, slots=True)
class CalledTool:
    """A call of a tool that is over. `arguments` is the text that the model wrote."""

    name: str
    arguments: str
    text: str
    is_error: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class Turn:
    """One reply of the model, with what came of its calls."""

    number: int
    text: str
    calls: tuple[CalledTool, ...]


@dataclass(frozen=True, slots=True)
class AgentResult:
    """What came of an agent.

    `text` is that of `final_output`, or the last words of the model. `messages` is the whole conversation, in which
    every call has its answer: fit to be gone on with. `tampered` names what a command altered; `transcript` is a file.
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
        """Whether the model said that it is done."""
        return self.end is End.FINISHED
