"""Streamed replies: what arrives, and the protocols of a `Wire` that streams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from code_commit.plugin_api.provider import Wire

if TYPE_CHECKING:  # only for annotations: every start imports this module
    from collections.abc import Callable, Iterable

    from code_commit.plugin_api.conversation import Completion, Request, Usage
    from code_commit.plugin_api.provider import HttpCall


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One event of a streamed reply: a server-sent event with its name, or a line of NDJSON without one."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a reply, as it arrives.

    `index` tells the parts of a reply apart. `name` is the name of the tool; its `text` is a piece of the arguments.
    """

    kind: Literal["text", "thinking", "tool"]
    text: str
    index: int = 0
    name: str = ""


@dataclass(frozen=True, slots=True)
class PartialReply:
    """What arrived of a reply that broke off. `usage` and `model` are None where the service did not tell them."""

    text: str
    usage: Usage | None = None
    model: str | None = None


Progress: TypeAlias = "Callable[[StreamEvent | Delta], None]"
"""Takes what arrives: the host keeps events in the run folder, and shows deltas and keeps their text."""


class StreamDecoder(Protocol):
    """Puts one streamed reply together. It is pure, and used for one reply."""

    def feed(self, event: StreamEvent) -> Iterable[Delta]:
        """Take the next event, and return what it adds.

        Raises:
            ProviderError: the event is an error of the service, or cannot be parsed.
        """

    def finish(self) -> Completion:
        """Return the completion: the same that `Wire.decode` returns for the whole reply.

        Raises:
            ProviderError: of kind `network` if the service did not send its own end of the reply.
        """

    def partial(self) -> PartialReply:
        """Return what has arrived so far."""


class StreamingWire(Wire, Protocol):
    """A `Wire` of a service that can stream its replies."""

    def encode_stream(self, request: Request) -> HttpCall:
        """Translate `request` to a call whose reply is streamed, as server-sent events or as NDJSON."""

    def stream(self) -> StreamDecoder:
        """Return the decoder of one reply."""
