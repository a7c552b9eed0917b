"""The protocol of the service. This one is made up: POST /replies. Replace its names by yours."""

from __future__ import annotations

from collections.abc import Mapping
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

from code_commit_new_name.config import NewNameConfig

FIRST_ERROR = 400  # HTTP status
# The service's reasons for the end of a reply.
FINISH = {
    "done": Finish.STOP,
    "calls": Finish.TOOL_CALLS,
    "too_long": Finish.LENGTH,
    "declined": Finish.REFUSED,
    "blocked": Finish.FILTERED,
}


class NewNameWire:
    """A `Wire`: two pure functions. The host does the HTTP, adds the key, and retries.

    If the service can stream its replies, add `encode_stream` and `stream`: see "Streaming" on the page of providers.
    """

    def __init__(self, config: NewNameConfig) -> None:
        self._config = config

    def encode(self, request: Request) -> HttpCall:
        """Translate a request to the service's protocol."""
        body: dict[str, Any] = {
            "model": self._config.model,
            "instructions": request.system,
            "turns": [turn for message in request.messages for turn in _turns(message)],
        }
        limit = request.max_tokens or self._config.max_tokens
        if limit is not None:
            body["limit"] = limit
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
            body["tool_choice"] = request.tool_choice
        return HttpCall("/replies", body)

    def decode(self, status: int, headers: Mapping[str, str], body: bytes) -> Completion:
        """Translate the service's answer.

        Raises:
            ProviderError: it is an error, or no answer of this service.
        """
        answer = reply_object(body, status, headers)
        if status >= FIRST_ERROR:
            raise reply_error(status, words=str(answer.get("problem", "")))
        if not answer.keys() & {"text", "calls", "finish"}:
            raise ProviderError("the answer contains no reply", kind="invalid_response")
        parts = tuple(_parts(answer))
        finish = reply_member(answer, "finish", str) or ""
        tokens = reply_member(answer, "tokens", dict) or {}
        return Completion(
            message=Message("assistant", parts),
            finish=finish_of(finish, parts, FINISH),
            finish_detail=finish,
            usage=Usage(input=token_count(tokens, "in"), output=token_count(tokens, "out")),
            model=reply_member(answer, "model", str) or self._config.model,
            raw=answer,
        )


def _turns(message: Message) -> list[dict[str, Any]]:
    """Return the turns of a message: first the results of tools, then the text and the calls."""
    turns: list[dict[str, Any]] = [
        {"by": "tool", "call": part.call_id, "failed": part.is_error, "text": part.text}
        for part in message.parts
        if isinstance(part, ToolResult)
    ]
    turn: dict[str, Any] = {}
    if text := "".join(part.text for part in message.parts if isinstance(part, Text)):
        turn["text"] = text
    if calls := [_call(part) for part in message.parts if isinstance(part, ToolCall)]:
        turn["calls"] = calls
    if turn:
        turns.append({"by": "model" if message.role == "assistant" else "user", **turn})
    return turns


def _call(call: ToolCall) -> dict[str, Any]:
    # Malformed arguments go back as the model wrote them.
    arguments = call.raw if call.arguments is None else dict(call.arguments)
    return {"id": call.id, "tool": call.name, "arguments": arguments}


def _tool(tool: ToolSpec) -> dict[str, Any]:
    return {"name": tool.name, "about": tool.description, "schema": dict(tool.parameters)}


def _parts(answer: Json) -> list[Part]:
    parts: list[Part] = []
    if text := reply_member(answer, "text", str):
        parts.append(Text(text))
    for call in reply_objects(answer, "calls"):
        arguments, raw = read_arguments(call.get("arguments"))
        name = reply_member(call, "tool", str) or ""
        parts.append(ToolCall(reply_member(call, "id", str) or "", name, arguments, raw))
    return parts
