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
    ToolSpec,
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
_HEADERS = {"anthropic-version": "2023-06-01"}
_TOOL_CHOICES = {"required": "any", "none": "none"}
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
        self._cache_mark = {"type": "ephemeral"}
        self.cache_write_price: float | None = None
        # Compatible servers know marks, but may refuse members that were added to them later.
        if own_address and config.cache_ttl == "1h":
            self._cache_mark["ttl"] = "1h"
            self.cache_write_price = WRITE_FOR_AN_HOUR

    def encode(self, request: Request) -> HttpCall:
        """See `Wire.encode`. Thinking blocks go back unchanged, in their place."""
        config = self._config
        max_tokens = request.max_tokens or config.reply_limit
        body: dict[str, Any] = {
            "model": config.model,
            "max_tokens": max_tokens,
            "messages": _messages(request, self._cache_mark),
        }
        if request.system:
            body["system"] = _system(request, self._cache_mark)
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
            if request.tool_choice != "auto":
                body["tool_choice"] = {"type": _TOOL_CHOICES[request.tool_choice]}
        if config.temperature is not None:
            body["temperature"] = config.temperature
        if config.effort is not None:
            body["output_config"] = {"effort": config.effort}
        thinking = self._thinking(request, max_tokens)
        if thinking is not None:
            body["thinking"] = thinking
        return HttpCall("/v1/messages", body, _HEADERS)

    def encode_models(self, page: bytes = b"") -> HttpCall | None:
        """See `ListingWire.encode_models`."""
        path = "/v1/models?limit=1000"
        if page:
            latest = reply_object(page)
            if not latest.get("has_more"):
                return None
            last_id = reply_member(latest, "last_id", str)
            if not last_id:
                return None
            path += f"&after_id={quote(last_id, safe='')}"
        return HttpCall(path, {}, _HEADERS, method="GET")

    def decode_models(self, status: int, headers: Mapping[str, str], body: bytes) -> dict[str, int]:
        """See `ListingWire.decode_models`."""
        reply = reply_object(body, status, headers)
        if status >= _FIRST_ERROR or reply.get("error"):
            self._failed(status, reply)
        windows = {}
        for model in reply_objects(reply, "data"):
            name = reply_member(model, "id", str) or ""
            windows[name] = token_count(model, "max_input_tokens") or 0
        return windows

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
        parts = [_part(block) for block in reply_objects(reply, "content")]
        word = reply_member(reply, "stop_reason", str) or ""
        reported = reply_member(reply, "usage", dict) or {}
        usage = self.usage(reported)
        written = reply_member(reported, "cache_creation", dict) or {}
        for_an_hour = token_count(written, "ephemeral_1h_input_tokens") or 0
        model = reply_member(reply, "model", str) or self._config.model
        return Completion(
            message=Message("assistant", tuple(part for part in parts if part is not None)),
            finish=finish_of(word, parts),
            finish_detail=word,
            usage=usage,
            model=model,
            raw=reply,
            cost=_cost(model, usage, for_an_hour),
        )

    @staticmethod
    def usage(usage: Json) -> Usage:
        """Return the tokens in a reply's `usage`.

        Raises:
            ProviderError: it cannot be read.
        """
        sent = token_count(usage, "input_tokens")
        cache_read = token_count(usage, "cache_read_input_tokens")
        cache_write = token_count(usage, "cache_creation_input_tokens")
        if sent is not None:
            sent += (cache_read or 0) + (cache_write or 0)
        details = reply_member(usage, "output_tokens_details", dict) or {}
        return Usage(
            input=sent,
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
        tokens = token_count(reply, "input_tokens")
        if status >= _FIRST_ERROR or tokens is None:
            raise ProviderError("the service counted no tokens", kind="invalid_response")
        return tokens

    def _failed(self, status: int, reply: Json) -> Completion:
        words, _ = error_details(reply)
        if _FILTERED not in words:
            raise service_error(status, reply)
        return Completion(
            message=Message("assistant", ()),
            finish=Finish.FILTERED,
            finish_detail="content filtering policy",
            usage=Usage(),
            model=self._config.model,
            raw=reply,
        )

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
        if budget < MIN_THINKING_TOKENS:
            return None
        return {"type": "enabled", "budget_tokens": budget}


def _tool(tool: ToolSpec) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": dict(tool.parameters),
    }


def _system(request: Request, cache_mark: Json) -> str | list[dict[str, Any]]:
    """Return the system prompt.

    It has a mark if the request has one: other conversations may begin with it, too.
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
    marks = _MAX_CACHE_MARKS
    if request.system:
        marks -= 1
    for block in marked[-marks:]:
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
            return _result(part)
        case Opaque(provider=provider, data=data):
            return dict(data) if provider == _PROVIDER else None


def _result(result: ToolResult) -> dict[str, Any]:
    block: dict[str, Any] = {
        "type": "tool_result",
        "tool_use_id": _id(result.call_id),
        "content": result.text,
    }
    if result.is_error:
        block["is_error"] = True
    return block


def _id(call_id: str) -> str:
    """Return the id of a tool call, without characters that only other services accept."""
    return _INVALID_ID_CHARACTERS.sub("_", call_id)


def _part(block: dict[str, Any]) -> Part | None:
    kind = block.get("type")
    if kind == "text":
        text = reply_member(block, "text", str)
        return Text(text) if text else None
    if kind == "tool_use":
        arguments, raw = read_arguments(block.get("input"))
        return ToolCall(
            id=reply_member(block, "id", str) or "",
            name=reply_member(block, "name", str) or "",
            arguments=arguments,
            raw=raw,
        )
    return Opaque(_PROVIDER, block)  # thinking, redacted_thinking, and future kinds


def _cost(model: str, usage: Usage, for_an_hour: int) -> float | None:
    """Return the cost in USD of a reply with tokens that are cached for an hour.

    genai-prices has no price for these.
    """
    if not for_an_hour or not usage.input:
        return None
    cost = cost_of(model, usage)
    uncached = cost_of(model, Usage(usage.input, 0))
    if cost is None or uncached is None:
        return None
    share = min(for_an_hour / usage.input, 1)
    return cost + uncached * share * (WRITE_FOR_AN_HOUR - WRITE)
