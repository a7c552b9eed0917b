"""Parrot's streamed replies, put together to the whole reply."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from io import StringIO

from code_commit.plugin_api import (
    Completion,
    Delta,
    Json,
    PartialReply,
    ProviderError,
    StreamEvent,
    event_object,
    limit_parts,
    reply_member,
)

Decode = Callable[[int, Mapping[str, str], bytes], Completion]
MEMBERS = {"say": "say", "call": "id", "end": "ending"}  # what an event must have


class ParrotDecoder:
    """A `StreamDecoder`. `decode` reads the whole reply."""

    def __init__(self, decode: Decode) -> None:
        self._decode = decode
        self._say = StringIO()
        # By id: the number, the tool and the arguments.
        self._calls: dict[str, tuple[int, str, StringIO]] = {}
        self._end: Json | None = None

    def feed(self, event: StreamEvent) -> list[Delta]:
        """Take the next event, and return what it adds."""
        piece = event_object(event)
        if event.name == "problem":
            raise ProviderError(f"the service failed: {piece.get('problem')}", kind="server")
        if event.name in MEMBERS and MEMBERS[event.name] not in piece:
            raise ProviderError(
                f"the event {event.name!r} lacks its member", kind="invalid_response"
            )
        if event.name == "say":
            text = reply_member(piece, "say", str) or ""
            self._say.write(text)
            return [Delta("text", text)]
        if event.name == "call":
            return [self._call(piece)]
        if event.name == "end":
            self._end = piece
        return []  # ignore new kinds of events

    def finish(self) -> Completion:
        """Return the completion, if the whole reply has arrived."""
        if self._end is None:
            raise ProviderError("the reply broke off", kind="network")
        calls = [
            {"id": id_, "tool": tool, "arguments": arguments.getvalue()}
            for id_, (_, tool, arguments) in self._calls.items()
        ]
        whole = {"say": self._say.getvalue(), "calls": calls, **self._end}
        return self._decode(200, {}, json.dumps(whole).encode())

    def partial(self) -> PartialReply:
        """Return what has arrived so far."""
        return PartialReply(self._say.getvalue())

    def _call(self, piece: Json) -> Delta:
        id_ = reply_member(piece, "id", str) or ""
        if id_ not in self._calls:
            limit_parts(self._calls)
            self._calls[id_] = (
                len(self._calls),
                reply_member(piece, "tool", str) or "",
                StringIO(),
            )
        number, tool, arguments = self._calls[id_]
        text = reply_member(piece, "arguments", str) or ""
        arguments.write(text)
        return Delta("tool", text, index=number, name=tool)
