"""A conversation with a model, in terms that every service's protocol translates to; its JSON, its text, its cost."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Text:
    """Words of a message. `cache_here` hints that the prefix up to here will be sent again."""

    text: str
    cache_here: bool = False


@dataclass(frozen=True, slots=True)
class Opaque:
    """A part that only its own service can read (a thinking block): send it back as it is, drop it elsewhere.

    `provider` is the name in the `ProviderDefinition` of the service that it came from.
    """

    provider: str
    data: Json


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model asks to run a tool.

    `arguments` is None when `raw`, the text the model wrote, is not a JSON object: data for the loop, which answers
    with a `ToolResult` that says so, not an exception. `echo` is what the service wants sent back with the call, unread
    (Gemini's thought signature); like any `Opaque`, it goes to its own provider alone.
    """

    id: str
    name: str
    arguments: Json | None
    raw: str = ""
    echo: Opaque | None = None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A tool's answer. Some services match it to its call by `call_id`, others by `name`: give both.

    `cache_here` as in `Text`.
    """

    call_id: str
    name: str
    text: str
    is_error: bool = False
    cache_here: bool = False


Part = Text | ToolCall | ToolResult | Opaque


@dataclass(frozen=True, slots=True)
class Message:
    """One turn. Tool results stand in a user's message."""

    role: Literal["user", "assistant"]
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it; `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: Json


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of a model. Temperature and thinking live in the provider's configuration, not here.

    `max_tokens` bounds the reply; None means as configured.
    """

    messages: tuple[Message, ...]
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: Literal["auto", "none", "required"] = "auto"
    max_tokens: int | None = None


class Finish(Enum):
    """Why a reply ended. Only STOP and TOOL_CALLS are complete answers."""

    STOP = "stop"
    TOOL_CALLS = "tool_calls"
    PAUSED = "paused"
    LENGTH = "length"
    REFUSED = "refused"
    FILTERED = "filtered"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call. `input` and `output` are inclusive totals; None: not told, and never counted as free.

    `cache_read` and `cache_write` are parts of `input`, `reasoning` is part of `output`.
    """

    input: int | None = None
    output: int | None = None
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's reply, finished or not: look at `finish` before trusting `text`.

    `finish_detail` is the service's own word, `model` the one that answered, `raw` the whole body. `cost` is what the
    reply cost in USD, None where nobody counted. `cached`: it comes from a cache, and costs nothing.
    """

    message: Message
    finish: Finish
    finish_detail: str
    usage: Usage
    model: str
    raw: Json = field(repr=False)
    cost: float | None = None
    cached: bool = False

    @property
    def text(self) -> str:
        """The words of the reply, without thinking and tool calls."""
        return "".join(part.text for part in self.message.parts if isinstance(part, Text))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls of the reply, in the order they were made."""
        return tuple(part for part in self.message.parts if isinstance(part, ToolCall))


ProviderErrorKind = Literal["auth", "quota", "rate", "network", "server", "rejected", "invalid_response"]


class ProviderError(Exception):
    """A call that gave no completion. An unfinished reply is a `Completion`, not this.

    `kind` says what to do: `auth` and `quota` want a person; `rate`, `network` and `server` may pass and are tried
    again; `rejected` means the request itself was wrong; `invalid_response` that the answer could not be understood.
    `retry_after` is in seconds.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: ProviderErrorKind,
        retry_after: float | None = None,
        raw: Json | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.retry_after = retry_after
        self.raw = raw


def parts_to_json(parts: Sequence[Part]) -> list[dict[str, Any]]:
    """Return `parts` as JSON that `parts_from_json` understands. Hints for a cache are left out."""
    rows: list[dict[str, Any]] = []
    for part in parts:
        match part:
            case Text():
                rows.append({"type": "text", "text": part.text})
            case ToolCall():
                call = {"id": part.id, "name": part.name, "arguments": part.arguments, "raw": part.raw}
                echo = part.echo and {"provider": part.echo.provider, "data": part.echo.data}
                rows.append({"type": "tool_call", **call, "echo": echo})
            case Opaque():
                rows.append({"type": "opaque", "provider": part.provider, "data": part.data})
            case ToolResult():
                result = {"call_id": part.call_id, "name": part.name, "text": part.text, "is_error": part.is_error}
                rows.append({"type": "tool_result", **result})
    return rows


def parts_from_json(rows: Sequence[Mapping[str, Any]]) -> tuple[Part, ...]:
    """Return the parts that `parts_to_json` wrote.

    Raises:
        KeyError, TypeError: they are not of that form.
    """
    parts: list[Part] = []
    for row in rows:
        match row["type"]:
            case "text":
                parts.append(Text(row["text"]))
            case "tool_call":
                echo = row["echo"] and Opaque(row["echo"]["provider"], row["echo"]["data"])
                parts.append(ToolCall(row["id"], row["name"], row["arguments"], row["raw"], echo))
            case "opaque":
                parts.append(Opaque(row["provider"], row["data"]))
            case "tool_result":
                parts.append(ToolResult(row["call_id"], row["name"], row["text"], row["is_error"]))
            case unknown:
                raise TypeError(f"a message has no part of type {unknown!r}")
    return tuple(parts)


def request_text(request: Request) -> str:
    """Return what was asked as text: a single prompt as it is, a conversation turn by turn."""
    match request:
        case Request(messages=(Message(role="user", parts=(Text(text=prompt),)),), system="", tools=()):
            return prompt
    pieces = [f"=== system ===\n{request.system}"] if request.system else []
    if request.tools:
        names = "\n".join(tool.name for tool in request.tools)
        pieces.append(f"=== tools ({request.tool_choice}) ===\n{names}")
    pieces += [f"=== {message.role} ===\n" + "\n".join(map(_part_text, message.parts)) for message in request.messages]
    return "\n\n".join(pieces) + "\n"


def _part_text(part: Part) -> str:
    match part:
        case Text(text=text):
            return text
        case ToolCall():
            arguments = part.raw or json.dumps(part.arguments, ensure_ascii=False)
            return f"--- call {part.id} {part.name} ---\n{arguments}"
        case ToolResult():
            return f"--- {'error' if part.is_error else 'result'} {part.call_id} {part.name} ---\n{part.text}"
        case Opaque():
            return f"--- {part.provider}, unread ---"


def cost_of(model: str, usage: Usage) -> float | None:
    """Return what a call cost, or None when its price or its tokens are not known."""
    if usage.input is None or usage.output is None:
        return None
    from genai_prices import Usage as PricedUsage
    from genai_prices import calc_price

    priced = PricedUsage(
        input_tokens=usage.input,
        output_tokens=usage.output,
        cache_read_tokens=usage.cache_read,
        cache_write_tokens=usage.cache_write,
    )
    try:
        return float(calc_price(priced, model).total_price)
    except LookupError:
        return None
