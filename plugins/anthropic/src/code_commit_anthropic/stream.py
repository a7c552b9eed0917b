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
    event_object,
    limit_parts,
    read_arguments,
    reply_member,
    reply_objects,
)

if TYPE_CHECKING:
    from code_commit_anthropic.wire import AnthropicWire

# The member of a delta that has the next piece, and what it adds for a person.
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
        return self._pieces["text"].getvalue() if "text" in self._pieces else self._first

    def whole(self) -> dict[str, Any]:
        """Return the block of a whole reply."""
        block = self._start | {member: pieces.getvalue() for member, pieces in self._pieces.items()}
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
        kind = "error" if data.get("error") else reply_member(data, "type", str) or event.name
        match kind:
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
                self._filtered, self.ended = self._wire.completion({"error": error}), True
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
        content = [block.whole() for _, block in sorted(self._blocks.items())]
        usage = {"usage": self._usage} if self._usage else {}
        return self._wire.completion(self._message | {"content": content} | usage)

    def partial(self) -> PartialReply:
        """See `StreamDecoder.partial`."""
        blocks = [block for _, block in sorted(self._blocks.items()) if block.is_text]
        try:
            usage = self._wire.usage(self._usage) if self._usage else None
        except ProviderError:
            usage = None
        model = self._message.get("model")
        return PartialReply(
            "".join(block.text() for block in blocks),
            usage,
            model if isinstance(model, str) else None,
        )

    def _begin(self, message: dict[str, Any]) -> None:
        if not self._message:
            self._message = message
            self._blocks = dict(
                enumerate(_Block(block) for block in reply_objects(message, "content"))
            )
            self._update({}, message)

    def _update(self, members: Json, owner: Json) -> None:
        """Update the message.

        Counts of tokens are totals; some servers send 0 instead of repeating one.
        """
        self._message.update({name: value for name, value in members.items() if value is not None})
        usage = reply_member(owner, "usage", dict) or {}
        for name, value in usage.items():
            if value or (
                value is not None and (name == "output_tokens" or name not in self._usage)
            ):
                self._usage[name] = value
        limit_parts(self._message)
        limit_parts(self._usage)

    def _start(self, data: Json) -> Sequence[Delta]:
        index, block = _index(data), _Block(_member(data, "content_block"))
        if index in self._blocks or not self._message:
            raise ProviderError(
                f"the reply begins block {index} at the wrong place", kind="invalid_response"
            )
        limit_parts(self._blocks)
        self._blocks[index] = block
        if block.name:
            return (Delta("tool", "", index, block.name),)
        return (Delta("text", text, index),) if block.is_text and (text := block.text()) else ()

    def _piece(self, data: Json) -> Sequence[Delta]:
        index, delta = _index(data), _member(data, "delta")
        block = self._blocks.get(index)
        if block is None:
            raise ProviderError(
                f"the reply continues block {index}, which it did not begin",
                kind="invalid_response",
            )
        found = _PIECE.get(reply_member(delta, "type", str) or "")
        if found is None:
            if "citation" in delta:
                block.cite(delta["citation"])
            return ()
        member, kind = found
        piece = delta.get(member)
        if not isinstance(piece, str) or (kind == "text" and not block.is_text):
            raise ProviderError(
                f"in the reply, a delta of block {index} has no {member!r}", kind="invalid_response"
            )
        if not piece:
            return ()
        block.add(member, piece)
        return () if kind is None else (Delta(kind, piece, index, block.name),)


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
