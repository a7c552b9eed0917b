"""Anthropic's messages protocol.

Source: the API reference of Anthropic (Messages, errors, handling stop reasons, extended thinking,
prompt caching).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote

from code_commit.plugin_api import (
    Completion,
    Finish,
    HttpCall,
    Json,
    Message,
    Opaque,
    Part,
    ProviderError,
    Request,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    cost_of,
    error_details,
    finish_of,
    read_arguments,
    reply_member,
    reply_object,
    reply_objects,
    service_error,
    token_count,
)
from code_commit_anthropic.config import MIN_THINKING_TOKENS, AnthropicConfig
from code_commit_anthropic.models import WRITE, WRITE_FOR_AN_HOUR
from code_commit_anthropic.stream import AnthropicStream

_PROVIDER: Final = "anthropic"
_VERSION = "2023-06-01"
_MAX_CACHE_MARKS = 4
_COUNTED = ("model", "system", "messages", "tools", "tool_choice", "thinking")
_INVALID_ID_CHARACTERS = re.compile(r"[^a-zA-Z0-9_-]")

# The service reports filtered output as an error.
_FIRST_ERROR = 400
_FILTERED = "Output blocked by content filtering policy"


class AnthropicWire:
    """A `Wire` for `POST {base_url}/v1/messages`."""

    def __init__(self, config: AnthropicConfig, *, own_address: bool = False) -> None:
        self._config = config
        # Compatible servers know marks, but may refuse members that were added to them later.
        for_an_hour = own_address and config.cache_ttl == "1h"
        self._cache_mark = {"type": "ephemeral"} | ({"ttl": "1h"} if for_an_hour else {})
        self.cache_write_price = WRITE_FOR_AN_HOUR if for_an_hour else None

    def encode(self, request: Request) -> HttpCall:
        """See `Wire.encode`. Thinking blocks go back unchanged, in their place."""
        config = self._config
        body: dict[str, Any] = {
            "model": config.model,
            "max_tokens": request.max_tokens or config.reply_limit,
            "messages": _messages(request, self._cache_mark),
        }
        if request.system:
            body["system"] = _system(request, self._cache_mark)
        if request.tools:
            body["tools"] = [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "input_schema": dict(tool.parameters),
                }
                for tool in request.tools
            ]
            if request.tool_choice != "auto":
                body["tool_choice"] = {
                    "type": "any" if request.tool_choice == "required" else "none"
                }
        if config.temperature is not None:
            body["temperature"] = config.temperature
        if config.effort is not None:
            body["output_config"] = {"effort": config.effort}
        thinking = self._thinking(request, body["max_tokens"])
        if thinking is not None:
            body["thinking"] = thinking
        return HttpCall("/v1/messages", body, {"anthropic-version": _VERSION})

    def encode_models(self, page: bytes = b"") -> HttpCall | None:
        """See `ListingWire.encode_models`."""
        latest = reply_object(page) if page else {}
        last = reply_member(latest, "last_id", str) if latest.get("has_more") else None
        if page and not last:
            return None
        after = f"&after_id={quote(last, safe='')}" if last else ""
        return HttpCall(
            f"/v1/models?limit=1000{after}", {}, {"anthropic-version": _VERSION}, method="GET"
        )

    def decode_models(self, status: int, headers: Mapping[str, str], body: bytes) -> dict[str, int]:
        """See `ListingWire.decode_models`."""
        reply = reply_object(body, status, headers)
        if status >= _FIRST_ERROR or reply.get("error"):
            self._failed(status, reply)
        models = reply_objects(reply, "data")
        return {
            reply_member(each, "id", str) or "": token_count(each, "max_input_tokens") or 0
            for each in models
        }

    def encode_stream(self, request: Request) -> HttpCall:
        """See `StreamingWire.encode_stream`."""
        call = self.encode(request)
        return replace(call, body={**call.body, "stream": True})

    def stream(self) -> AnthropicStream:
        """See `StreamingWire.stream`."""
        return AnthropicStream(self)

    def decode(self, status: int, headers: Mapping[str, str], body: bytes) -> Completion:
        """See `Wire.decode`.

        The usage includes cached input, which the service reports separately.
        """
        reply = reply_object(body, status, headers)
        if status >= _FIRST_ERROR:
            return self._failed(status, reply)
        return self.completion(reply)

    def completion(self, reply: dict[str, Any]) -> Completion:
        """Read a whole reply, which may have been streamed.

        Raises:
            ProviderError: it is an error, or cannot be read.
        """
        if reply.get("error"):
            return self._failed(200, reply)
        if "content" not in reply:
            raise ProviderError("the reply has no content", kind="invalid_response")
        parts = tuple(_part(block) for block in reply_objects(reply, "content"))
        word = reply_member(reply, "stop_reason", str) or ""
        reported = reply_member(reply, "usage", dict) or {}
        kept = token_count(
            reply_member(reported, "cache_creation", dict) or {}, "ephemeral_1h_input_tokens"
        )
        usage = self.usage(reported)
        model = reply_member(reply, "model", str) or self._config.model
        return Completion(
            message=Message("assistant", tuple(part for part in parts if part is not None)),
            finish=finish_of(word, parts),
            finish_detail=word,
            usage=usage,
            model=model,
            raw=reply,
            cost=_cost(model, usage, kept),
        )

    @staticmethod
    def usage(usage: Json) -> Usage:
        """Return the tokens in a reply's `usage`.

        Raises:
            ProviderError: it cannot be read.
        """
        fresh = token_count(usage, "input_tokens")
        cache_read = token_count(usage, "cache_read_input_tokens")
        cache_write = token_count(usage, "cache_creation_input_tokens")
        details = reply_member(usage, "output_tokens_details", dict) or {}
        return Usage(
            input=None if fresh is None else fresh + (cache_read or 0) + (cache_write or 0),
            output=token_count(usage, "output_tokens"),
            cache_read=cache_read,
            cache_write=cache_write,
            reasoning=token_count(details, "thinking_tokens"),
        )

    def encode_count(self, request: Request) -> HttpCall:
        """See `CountingWire.encode_count`."""
        call = self.encode(request)
        body = {name: call.body[name] for name in _COUNTED if name in call.body}
        return HttpCall("/v1/messages/count_tokens", body, call.headers)

    def decode_count(self, status: int, headers: Mapping[str, str], body: bytes) -> int:
        """See `CountingWire.decode_count`."""
        reply = reply_object(body, status, headers)
        if status >= _FIRST_ERROR or (count := token_count(reply, "input_tokens")) is None:
            raise ProviderError("the service counted no tokens", kind="invalid_response")
        return count

    def _failed(self, status: int, reply: Json) -> Completion:
        words, _ = error_details(reply)
        if _FILTERED in words:
            message, detail = Message("assistant", ()), "content filtering policy"
            return Completion(message, Finish.FILTERED, detail, Usage(), self._config.model, reply)
        raise service_error(status, reply)

    def _thinking(self, request: Request, max_tokens: int) -> dict[str, Any] | None:
        config = self._config
        if config.thinking == "disabled":
            return {"type": "disabled"}
        if request.tools and request.tool_choice == "required":
            return None  # the service refuses forced tool calls with thinking
        if config.thinking == "adaptive":
            return {"type": "adaptive"}
        if config.thinking_budget_tokens is None:
            return None
        # A request may set a lower limit.
        budget = min(config.thinking_budget_tokens, max_tokens - 1)
        return (
            {"type": "enabled", "budget_tokens": budget} if budget >= MIN_THINKING_TOKENS else None
        )


def _system(request: Request, cache_mark: Json) -> str | list[dict[str, Any]]:
    """Return the system prompt, with a mark if the request has one: other conversations may begin
    with it, too.
    """
    if not any(_is_marked(part) for message in request.messages for part in message.parts):
        return request.system
    return [{"type": "text", "text": request.system, "cache_control": cache_mark}]


def _is_marked(part: Part) -> bool:
    return isinstance(part, Text | ToolResult) and part.cache_here


def _messages(request: Request, cache_mark: Json) -> list[dict[str, Any]]:
    messages = []
    marked: list[dict[str, Any]] = []
    for message in request.messages:
        # Results come first, as the service requires.
        parts = sorted(message.parts, key=lambda part: not isinstance(part, ToolResult))
        blocks = []
        for part in parts:
            block = _block(part)
            if block is None:
                continue
            blocks.append(block)
            if _is_marked(part):
                marked.append(block)
        if blocks:
            messages.append({"role": message.role, "content": blocks})
    for block in marked[bool(request.system) - _MAX_CACHE_MARKS :]:
        block["cache_control"] = cache_mark
    return messages


def _block(part: Part) -> dict[str, Any] | None:
    match part:
        case Text(text=text):
            # The service refuses blank blocks.
            return {"type": "text", "text": text} if text.strip() else None
        case ToolCall():
            return {
                "type": "tool_use",
                "id": _id(part.id),
                "name": part.name,
                "input": part.arguments_object,
            }
        case ToolResult():
            block = {"type": "tool_result", "tool_use_id": _id(part.call_id), "content": part.text}
            return block | {"is_error": True} if part.is_error else block
        case Opaque(provider=provider, data=data):
            return dict(data) if provider == _PROVIDER else None


def _id(call_id: str) -> str:
    """Return the id of a tool call, without characters of other providers' ids that this service
    refuses.
    """
    return _INVALID_ID_CHARACTERS.sub("_", call_id)


def _part(block: dict[str, Any]) -> Part | None:
    kind = block.get("type")
    if kind == "text":
        text = reply_member(block, "text", str)
        return Text(text) if text else None
    if kind == "tool_use":
        arguments, raw = read_arguments(block.get("input"))
        name, call_id = reply_member(block, "name", str) or "", reply_member(block, "id", str) or ""
        return ToolCall(id=call_id, name=name, arguments=arguments, raw=raw)
    return Opaque(_PROVIDER, block)  # thinking, redacted_thinking, and future kinds


def _cost(model: str, usage: Usage, kept: int | None) -> float | None:
    """Return the cost in USD of a reply with `kept` tokens cached for an hour, for which
    genai-prices has no price.
    """
    if not kept or not usage.input:
        return None
    cost, uncached = cost_of(model, usage), cost_of(model, Usage(usage.input, 0))
    if cost is None or uncached is None:
        return None
    return cost + uncached * min(kept / usage.input, 1) * (WRITE_FOR_AN_HOUR - WRITE)
