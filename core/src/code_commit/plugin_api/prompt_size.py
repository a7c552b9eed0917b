"""The size of a prompt, and the refusal of one that exceeds the model's window."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Self

from code_commit.plugin_api.conversation import (
    Opaque,
    Part,
    Request,
    Text,
    ToolCall,
    ToolResult,
    request_text,
)
from code_commit.plugin_api.errors import LimitReached, NotReady
from code_commit.plugin_api.tokens import estimate_sampled, estimate_tokens
from code_commit_workspace import Tree
from code_commit_workspace.words import count_of

_MARGIN = 1.5  # of an estimate: real tokenizers differ
_NAMED = 3  # largest parts
_NEARLY_ALL = 0.8  # of the prompt


@dataclass(frozen=True, slots=True)
class PromptPart:
    """A part of a prompt, for messages about its size. It changes nothing in the request.

    `name` is for people, such as "the query". `tokens` is the estimate, `characters` the length.
    `hint` is what a person can do if this is the largest part of a prompt that is too long, or a
    function that returns it and says what takes the room in this part.
    """

    name: str
    tokens: int
    characters: int
    hint: str | Callable[[], str] = ""

    @classmethod
    def of(cls, name: str, text: str, hint: str | Callable[[], str] = "") -> Self:
        """Return the part that is `text`."""
        return cls(name, estimate_tokens(text), len(text), hint)

    def __str__(self) -> str:
        """The name and the tokens, for people."""
        return f"{self.name} (about {count_of(self.tokens, 'token')})"


@dataclass(frozen=True, slots=True)
class PromptSize:
    """About how many tokens a prompt has, and its `parts`.

    Without `parts`, messages name those of `request` by their kind.
    """

    tokens: int
    parts: Sequence[PromptPart] = ()
    request: Request | None = field(default=None, repr=False)

    @classmethod
    def of(cls, request: Request, parts: Sequence[PromptPart] = ()) -> Self:
        """Return the size of `request`.

        The tokens of `parts` are those that messages show; the text between them is added.
        """
        text = sendable_text(request)
        tokens = estimate_tokens(text)
        if parts and text:
            between = max(0, len(text) - sum(part.characters for part in parts))
            tokens = sum(part.tokens for part in parts) + round(tokens * between / len(text))
        return cls(tokens, parts, request)

    @classmethod
    def of_file(
        cls,
        tree: Tree,
        path: str,
        name: str,
        hint: str | Callable[[int], str] = "",
    ) -> Self:
        """Return the size of a prompt with the text file at `path`, of which only samples are read.

        `name` and `hint` are those of its part; a function gets the estimate of its tokens.
        """

        def read(start: int, end: int) -> bytes:
            return tree.read(path, end - start, start=start) or b""

        size = tree.size(path)
        tokens = estimate_sampled(size, read)
        advice = hint if isinstance(hint, str) else partial(hint, tokens)
        return cls(tokens, (PromptPart(name, tokens, size, advice),))

    def is_near(self, window: int) -> bool:
        """Return whether only the service's own count can tell whether the prompt fits."""
        return window / _MARGIN < self.tokens < window * _MARGIN

    def refusal(self, model: str, window: int, *, paid: bool = False) -> NotReady | LimitReached:
        """Return the error for a prompt that exceeds the `window` of `model`.

        It is a limit if the run has `paid` for a call before.
        """
        error = LimitReached if paid else NotReady
        return error(
            f"the prompt has about {self.tokens:,} tokens, and {model} reads at most {window:,}",
            hint=self._hint(),
        )

    def _hint(self) -> str:
        parts = sorted(self.parts or self._kinds(), key=lambda part: part.tokens, reverse=True)
        if not parts:
            return "shorten the prompt, or choose another model"
        largest = parts[0]
        hint = largest.hint if isinstance(largest.hint, str) else largest.hint()
        if not hint:
            is_conversation = self.request is not None and len(self.request.messages) > 1
            action = "begin a new conversation" if is_conversation else f"shorten {largest.name}"
            hint = f"{action}, or choose another model"
        if largest.tokens < _NEARLY_ALL * self.tokens:
            named = ", ".join(map(str, parts[:_NAMED]))
            return f"{hint}; the largest parts of the prompt are {named}"
        if isinstance(largest.hint, str):
            return f"{hint}; most of the prompt is {largest.name}"
        return hint

    def _kinds(self) -> Iterator[PromptPart]:
        """Yield the parts of a request without names, by their kind."""
        request = self.request
        if request is None:
            return
        characters = Counter({"the system prompt": len(request.system)})
        characters["the descriptions of tools"] = sum(map(len, _tool_texts(request)))
        for message in request.messages:
            for part in message.parts:
                characters[_kind(part, message.role)] += _length(part)
        total = characters.total() or 1
        for name, length in characters.items():
            tokens = round(self.tokens * length / total)
            yield PromptPart(name, tokens, length)


def sendable_text(request: Request) -> str:
    """Return what counts as tokens: all texts, and the tools."""
    return request_text(request) + "".join(_tool_texts(request))


def _tool_texts(request: Request) -> Iterator[str]:
    return (f"{tool.name}{tool.description}{tool.parameters}" for tool in request.tools)


def _kind(part: Part, role: str) -> str:
    match part:
        case ToolResult(name=name):
            return f"the results of {name}"
        case ToolCall(name=name):
            return f"the calls of {name}"
        case Opaque():
            return "the model's thinking"
    return "the prompt" if role == "user" else "the model's replies"


def _length(part: Part) -> int:
    match part:
        case Text(text=text) | ToolResult(text=text):
            return len(text)
        case ToolCall():
            return len(part.raw or str(part.arguments))
    return 0  # a part that only its service can read is small
