"""Assemble Anthropic's streamed replies into the reply that the service sends as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any, Final, Literal

from code_commit.plugin_api import (
    Completion,
    Delta,
    Json,
    PartialReply,
    ProviderError,
    StreamEvent,
    Usage,
    event_object,
    limit_parts,
    read_arguments,
    reply_member,
    reply_objects,
)

if TYPE_CHECKING:
    from code_commit_anthropic.wire import AnthropicWire

# By the type of a delta: its member with the next piece, and what this adds for a person.
_PIECE: Final[Mapping[str, tuple[str, Literal["text", "thinking", "tool"] | None]]] = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "input_json_delta": ("partial_json", "tool"),
    "signature_delta": ("signature", None),
    "compaction_delta": ("content", None),
}


class _Block:
    """A block of the content: its first event, and the pieces of its members."""

    def __init__(self, start: dict[str, Any]) -> None:
        self._start = start
        self._pieces: dict[str, StringIO] = {}
        self._citations: list[Any] = []
        self.name = reply_member(start, "name", str) or ""
        self.is_text = start.get("type") == "text"
        self._first = reply_member(start, "text", str) or ""

    def add(self, member: str, piece: str) -> None:
        pieces = self._pieces.get(member)
        if pieces is None:
            pieces = self._pieces[member] = StringIO()
            if member != "partial_json":
                pieces.write(reply_member(self._start, member, str) or "")
        pieces.write(piece)

    def cite(self, citation: object) -> None:
        limit_parts(self._citations)
        self._citations.append(citation)

    def text(self) -> str:
        """Return the text so far."""
        if "text" in self._pieces:
            return self._pieces["text"].getvalue()
        return self._first

    def whole(self) -> dict[str, Any]:
        """Return the block of a whole reply."""
        pieces = {member: pieces.getvalue() for member, pieces in self._pieces.items()}
        block = self._start | pieces
        if written := block.pop("partial_json", ""):
            arguments, _ = read_arguments(written)
            block["input"] = written if arguments is None else arguments
        if self._citations:
            block["citations"] = (reply_member(block, "citations", list) or []) + self._citations
        return block


class AnthropicStream:
    """A `StreamDecoder` for messages. A reply ends with `message_stop`."""

    def __init__(self, wire: AnthropicWire) -> None:
        self._wire = wire
        self._message: dict[str, Any] = {}
        self._usage: dict[str, Any] = {}
        self._blocks: dict[int, _Block] = {}
        self.ended = False
        self._filtered: Completion | None = None

    def feed(self, event: StreamEvent) -> Sequence[Delta]:
        """See `StreamDecoder.feed`. Ignore unknown kinds of events, as the service requires."""
        if self.ended:
            return ()
        data = event_object(event)
        match _kind(data, event.name):
            case "content_block_delta":
                return self._piece(data)
            case "content_block_start":
                return self._start(data)
            case "message_start":
                self._begin(_member(data, "message"))
            case "message_delta":
                self._update(reply_member(data, "delta", dict) or {}, data)
            case "message_stop":
                self.ended = True
            case "error":
                error = data.get("error") or _member(data, "error")
                self._filtered = self._wire.completion({"error": error})
                self.ended = True
            case "":
                raise ProviderError("an event of the reply has no type", kind="invalid_response")
        return ()

    def finish(self) -> Completion:
        """See `StreamDecoder.finish`."""
        if self._filtered is not None:
            return self._filtered
        if not (self.ended and self._message):
            raise ProviderError(
                "the reply broke off: the service sent no message_stop", kind="network"
            )
        content = [self._blocks[index].whole() for index in sorted(self._blocks)]
        reply = self._message | {"content": content}
        if self._usage:
            reply["usage"] = self._usage
        return self._wire.completion(reply)

    def partial(self) -> PartialReply:
        """See `StreamDecoder.partial`."""
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        model = self._message.get("model")
        return PartialReply(
            text="".join(block.text() for block in blocks if block.is_text),
            usage=self._usage_so_far(),
            model=model if isinstance(model, str) else None,
        )

    def _usage_so_far(self) -> Usage | None:
        if not self._usage:
            return None
        try:
            return self._wire.usage(self._usage)
        except ProviderError:
            return None

    def _begin(self, message: dict[str, Any]) -> None:
        if self._message:
            return
        self._message = message
        blocks = [_Block(block) for block in reply_objects(message, "content")]
        self._blocks = dict(enumerate(blocks))
        self._update({}, message)

    def _update(self, members: Json, owner: Json) -> None:
        """Update the message, and the usage with that of `owner`.

        Counts of tokens are totals; some servers send 0 instead of repeating one.
        """
        self._message.update({name: value for name, value in members.items() if value is not None})
        usage = reply_member(owner, "usage", dict) or {}
        for name, value in usage.items():
            is_count = value is not None and (name == "output_tokens" or name not in self._usage)
            if value or is_count:
                self._usage[name] = value
        limit_parts(self._message)
        limit_parts(self._usage)

    def _start(self, data: Json) -> Sequence[Delta]:
        index = _index(data)
        block = _Block(_member(data, "content_block"))
        if index in self._blocks or not self._message:
            raise ProviderError(
                f"the reply begins block {index} at the wrong place", kind="invalid_response"
            )
        limit_parts(self._blocks)
        self._blocks[index] = block
        if block.name:
            return (Delta("tool", "", index, block.name),)
        if block.is_text and (text := block.text()):
            return (Delta("text", text, index),)
        return ()

    def _piece(self, data: Json) -> Sequence[Delta]:
        index = _index(data)
        delta = _member(data, "delta")
        block = self._blocks.get(index)
        if block is None:
            raise ProviderError(
                f"the reply continues block {index}, which it did not begin",
                kind="invalid_response",
            )
        delta_type = reply_member(delta, "type", str) or ""
        if delta_type not in _PIECE:
            if "citation" in delta:
                block.cite(delta["citation"])
            return ()
        member, kind = _PIECE[delta_type]
        piece = delta.get(member)
        if not isinstance(piece, str) or (kind == "text" and not block.is_text):
            raise ProviderError(
                f"in the reply, a delta of block {index} has no {member!r}", kind="invalid_response"
            )
        if not piece:
            return ()
        block.add(member, piece)
        if kind is None:
            return ()
        return (Delta(kind, piece, index, block.name),)


def _kind(data: Json, name: str) -> str:
    """Return the kind of an event with a name. Some servers send errors without a type."""
    if data.get("error"):
        return "error"
    return reply_member(data, "type", str) or name


def _index(data: Json) -> int:
    index = reply_member(data, "index", int)
    if index is None:
        raise ProviderError("an event of the reply has no index", kind="invalid_response")
    return index


def _member(data: Json, name: str) -> dict[str, Any]:
    member = reply_member(data, name, dict)
    if member is None:
        raise ProviderError(f"an event of the reply has no {name!r}", kind="invalid_response")
    return member
