"""Parrot's protocol: POST /replies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from code_commit.plugin_api import (
    Completion,
    Finish,
    HttpCall,
    Json,
    Message,
    Part,
    ProviderError,
    Request,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
    finish_of,
    read_arguments,
    reply_error,
    reply_member,
    reply_object,
    reply_objects,
    token_count,
)

from code_commit_parrot.config import ParrotConfig
from code_commit_parrot.stream import ParrotDecoder

FINISH = {
    "done": Finish.STOP,
    "calls": Finish.TOOL_CALLS,
    "too_long": Finish.LENGTH,
    "declined": Finish.REFUSED,
    "blocked": Finish.FILTERED,
}


class ParrotWire:
    """A `Wire`."""

    def __init__(self, config: ParrotConfig) -> None:
        self._config = config

    def encode(self, request: Request) -> HttpCall:
        """Translate `request`; the host adds the key."""
        body: dict[str, Any] = {
            "model": self._config.model,
            "instructions": request.system,
            "turns": [turn for message in request.messages for turn in _turns(message)],
        }
        limit = request.max_tokens or self._config.max_tokens
        if limit is not None:
            body["limit"] = limit
        if self._config.mood is not None:
            body["mood"] = self._config.mood
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
            body["tool_choice"] = request.tool_choice
        return HttpCall("/replies", body)

    def decode(self, status: int, headers: Mapping[str, str], body: bytes) -> Completion:
        """Translate the reply, or raise a `ProviderError`."""
        reply = reply_object(body, status, headers)
        if status >= 400:
            raise reply_error(status, words=str(reply.get("problem", "")))
        if not reply.keys() & {"say", "calls", "ending"}:
            raise ProviderError("the reply has none of its members", kind="invalid_response")
        parts = tuple(_parts(reply))
        ending = reply_member(reply, "ending", str) or ""
        tokens = reply_member(reply, "tokens", dict) or {}
        return Completion(
            message=Message("assistant", parts),
            finish=finish_of(ending, parts, FINISH),
            finish_detail=ending,
            usage=Usage(input=token_count(tokens, "in"), output=token_count(tokens, "out")),
            model=reply_member(reply, "model", str) or self._config.model,
            raw=reply,
        )

    def encode_stream(self, request: Request) -> HttpCall:
        """Translate `request` to a call with a streamed reply."""
        call = self.encode(request)
        return replace(call, body={**call.body, "stream": True})

    def stream(self) -> ParrotDecoder:
        """Return the decoder of one streamed reply."""
        return ParrotDecoder(self.decode)


def _turns(message: Message) -> list[dict[str, Any]]:
    """Return the turns of a message. Tool results are separate turns, right after the calls."""
    results = [
        {"by": "tool", "call": part.call_id, "failed": part.is_error, "say": part.text}
        for part in message.parts
        if isinstance(part, ToolResult)
    ]
    turn: dict[str, Any] = {}
    if text := "".join(part.text for part in message.parts if isinstance(part, Text)):
        turn["say"] = text
    if calls := [_call(part) for part in message.parts if isinstance(part, ToolCall)]:
        turn["calls"] = calls
    speaker = "model" if message.role == "assistant" else "user"
    return [*results, {"by": speaker, **turn}] if turn else results


def _call(call: ToolCall) -> dict[str, Any]:
    # Send malformed arguments back unchanged.
    arguments = call.raw if call.arguments is None else dict(call.arguments)
    return {"id": call.id, "tool": call.name, "arguments": arguments}


def _tool(tool: ToolSpec) -> dict[str, Any]:
    return {"name": tool.name, "about": tool.description, "schema": dict(tool.parameters)}


def _parts(reply: Json) -> list[Part]:
    parts: list[Part] = []
    if text := reply_member(reply, "say", str):
        parts.append(Text(text))
    for call in reply_objects(reply, "calls"):
        arguments, raw = read_arguments(call.get("arguments"))
        name = reply_member(call, "tool", str) or ""
        parts.append(ToolCall(reply_member(call, "id", str) or "", name, arguments, raw))
    return parts
