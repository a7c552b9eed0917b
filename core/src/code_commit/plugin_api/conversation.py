"""A conversation with a model, independent of the service; its text and its cost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Text:
    """Text of a message. `cache_here` hints that later requests repeat everything up to here."""

    text: str
    cache_here: bool = False


@dataclass(frozen=True, slots=True)
class Opaque:
    """A part that only its own service can read, such as a thinking block.

    Send it back unchanged to that service, and drop it elsewhere. `provider` is the name in the
    service's `ProviderDefinition`.
    """

    provider: str
    data: Json


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A request of the model to run a tool.

    `arguments` is None when `raw`, the text that the model wrote, is not a JSON object. That is not
    an exception: send a `ToolResult` that explains the error. `echo` is data that the service wants
    back with the call, such as Gemini's thought signature; like any `Opaque`, send it only to its
    own provider.
    """

    id: str
    name: str
    arguments: Json | None
    raw: str = ""
    echo: Opaque | None = None

    @property
    def arguments_object(self) -> dict[str, Any]:
        """The arguments for a service that parses them; malformed ones in a member `malformed`."""
        if self.arguments is None:
            return {"malformed": self.raw}
        return dict(self.arguments)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool.

    Some services match it to its call by `call_id`, others by `name`: give both. `cache_here` is
    as in `Text`.
    """

    call_id: str
    name: str
    text: str
    is_error: bool = False
    cache_here: bool = False


Part = Text | ToolCall | ToolResult | Opaque


@dataclass(frozen=True, slots=True)
class Message:
    """One turn. Tool results belong to a user message.

    A model reads the texts of a message one after the other, with nothing between: end a text with
    a line break.
    """

    role: Literal["user", "assistant"]
    parts: tuple[Part, ...]

    def __post_init__(self) -> None:
        if self.role not in {"user", "assistant"}:
            raise ValueError(
                f"the role of a Message is 'user' or 'assistant', not {self.role!r:.50}"
            )
        _require(
            self.parts,
            Part,
            "the parts of a Message are Text, ToolCall, ToolResult and Opaque: (Text('hi'),)",
        )
        texts = [part.text for part in self.parts if isinstance(part, Text | ToolResult)]
        _require(texts, str, "the text of a Text or a ToolResult is of type str")


def _require(values: object, kind: Any, rule: str) -> None:
    """Check the values of a plugin, which may not be type-checked.

    Without its comma, `(part,)` is no tuple.
    """
    if not isinstance(values, tuple | list):
        raise TypeError(f"{rule}, not {values!r:.50}")
    for value in values:
        if not isinstance(value, kind):
            raise TypeError(f"{rule}, not {value!r:.50}")


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it; `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: Json


@dataclass(frozen=True, slots=True)
class Request:
    """A request to a model. Temperature and thinking are part of the provider's configuration.

    `max_tokens` limits the completion; None means the configured limit.
    """

    messages: tuple[Message, ...]
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: Literal["auto", "none", "required"] = "auto"
    max_tokens: int | None = None

    def __post_init__(self) -> None:
        _require(self.messages, Message, "the messages of a Request are of type Message")
        _require([self.system], str, "the system prompt of a Request is of type str")


class Finish(Enum):
    """Why a completion ended. Only with STOP and TOOL_CALLS it is complete.

    A service that gives no reason means STOP. With LENGTH, the reply reached a limit of tokens.
    With CUT, it was cut for another reason, or for an unknown one. With STOPPED_EARLY, the host
    stopped reading it, and its tokens are an estimate.
    """

    STOP = "stop"
    TOOL_CALLS = "tool_calls"
    PAUSED = "paused"
    LENGTH = "length"
    CUT = "cut"
    REFUSED = "refused"
    FILTERED = "filtered"
    STOPPED_EARLY = "stopped_early"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call.

    `input` and `output` are totals. `cache_read` and `cache_write` are parts of `input`,
    `reasoning` is part of `output`. None means not reported, which is not zero.
    """

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """The reply to a call, finished or not: check `finish` before you use `text`.

    `finish_detail` is the service's own value, `model` the model that replied, `raw` the whole
    body. `cost` is in USD, or None if unknown. `cached` means that it comes from a cache and costs
    nothing.
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
        """The text, without thinking and tool calls."""
        return "".join(part.text for part in self.message.parts if isinstance(part, Text))

    @property
    def ending(self) -> str:
        """Why it ended, for messages to people and models."""
        if self.finish is Finish.TOOL_CALLS:
            return "it called a function"
        if self.finish_detail:
            return f"it ended with `{self.finish_detail}`"
        return "the service gave no reason"

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls, in order."""
        return tuple(part for part in self.message.parts if isinstance(part, ToolCall))


ProviderErrorKind = Literal[
    "auth", "quota", "rate", "network", "server", "rejected", "invalid_response"
]


class ProviderError(Exception):
    """A try that returned no completion. An unfinished reply is a `Completion`, not an error.

    The host retries `rate`, `network` and `server`; `auth` and `quota` need a person; `rejected`
    means that the request is invalid; `invalid_response` means that the reply cannot be parsed.
    `retry_after` is in seconds. `body` is the reply itself, for the run folder. `should_retry` is
    whether the service asks to retry, or None if it does not say; it decides for every kind but
    `auth` and `quota`. The host sets these two for a `Wire`.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: ProviderErrorKind,
        retry_after: float | None = None,
        body: str = "",
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.retry_after = retry_after
        self.body = body
        self.should_retry: bool | None = None


def request_text(request: Request) -> str:
    """Return the request as text: a single prompt unchanged, a conversation turn by turn."""
    match request:
        case Request(messages=(Message("user", parts),), system="", tools=()):
            texts = [part.text for part in parts if isinstance(part, Text)]
            if len(texts) == len(parts):
                return "".join(texts)
    sections: list[str] = []
    if request.system:
        sections.append(f"=== system ===\n{request.system}")
    if request.tools:
        names = "\n".join(tool.name for tool in request.tools)
        sections.append(f"=== tools ({request.tool_choice}) ===\n{names}")
    for message in request.messages:
        turn = "\n".join(map(_part_text, message.parts))
        sections.append(f"=== {message.role} ===\n{turn}")
    return "\n\n".join(sections) + "\n"


def _part_text(part: Part) -> str:
    match part:
        case Text(text=text):
            return text
        case ToolCall():
            arguments = part.raw or json.dumps(part.arguments, ensure_ascii=False)
            return f"--- call {part.id} {part.name} ---\n{arguments}"
        case ToolResult():
            title = "error" if part.is_error else "result"
            return f"--- {title} {part.call_id} {part.name} ---\n{part.text}"
        case Opaque():
            return f"--- {part.provider}, unread ---"


def cost_of(model: str, usage: Usage) -> float | None:
    """Return the cost of a call in USD, or None if its price or its tokens are unknown."""
    if usage.input is None or usage.output is None:
        return None
    from code_commit.imports import import_later

    with import_later("httpx2"), import_later("asyncio"):
        import genai_prices

    priced_usage = genai_prices.Usage(
        input_tokens=usage.input,
        output_tokens=usage.output,
        cache_read_tokens=usage.cache_read or 0,
        cache_write_tokens=usage.cache_write or 0,
    )
    try:
        price = genai_prices.calc_price(priced_usage, model)
    except LookupError:
        return None
    return float(price.total_price)
