"""Gemini's generateContent protocol.

Sources: the Gemini API reference (generateContent, Candidate.FinishReason, BlockReason, thought
signatures, function calling), the error model of Google APIs (google.rpc.ErrorInfo, QuotaFailure,
RetryInfo).
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
    finish_of,
    read_arguments,
    reply_member,
    reply_object,
    reply_objects,
    token_count,
    with_ids,
)
from code_commit_gemini.config import GeminiConfig
from code_commit_gemini.failures import FIRST_ERROR, failure
from code_commit_gemini.stream import GeminiStream, Parts

_PROVIDER: Final = "gemini"
_MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY"}

# From version 3 on, the service refuses a turn whose first call has no signature. This one is
# documented for calls of another model.
_REQUIRES_SIGNATURES = re.compile(r"(models/)?gemini-([3-9]|\d\d)")
_FOREIGN_SIGNATURE = "skip_thought_signature_validator"

_REPLY_MEMBERS = frozenset(
    {"candidates", "promptFeedback", "usageMetadata", "modelVersion", "responseId"}
)


class GeminiWire:
    """A `Wire` for `POST {base_url}/v1beta/models/{model}:generateContent`."""

    def __init__(self, config: GeminiConfig) -> None:
        self._config = config

    def encode(self, request: Request) -> HttpCall:
        """See `Wire.encode`. Results match calls by name and order."""
        signs = _REQUIRES_SIGNATURES.match(self._config.model) is not None
        body: dict[str, Any] = {"contents": _contents(request, signs=signs)}
        if request.system:
            body["systemInstruction"] = {"parts": [{"text": request.system}]}
        if request.tools:
            body["tools"] = [
                {"functionDeclarations": [_declaration(tool) for tool in request.tools]}
            ]
            if request.tool_choice != "auto":
                body["toolConfig"] = {
                    "functionCallingConfig": {"mode": _MODES[request.tool_choice]}
                }
        generation = self._generation(request)
        if generation:
            body["generationConfig"] = generation
        return HttpCall(f"/v1beta/{quote(self._name)}:generateContent", body)

    def encode_models(self, page: bytes = b"") -> HttpCall | None:
        """See `ListingWire.encode_models`."""
        token = reply_member(reply_object(page), "nextPageToken", str) if page else None
        if page and not token:
            return None
        after = f"&pageToken={quote(token, safe='')}" if token else ""
        return HttpCall(f"/v1beta/models?pageSize=1000{after}", {}, method="GET")

    def decode_models(self, status: int, headers: Mapping[str, str], body: bytes) -> dict[str, int]:
        """See `ListingWire.decode_models`. Models for other uses are left out."""
        reply = reply_object(body, status, headers)
        if status >= FIRST_ERROR or reply.get("error"):
            raise failure(status, reply)
        found = {}
        for model in reply_objects(reply, "models"):
            if "generateContent" in (reply_member(model, "supportedGenerationMethods", list) or ()):
                name = (reply_member(model, "name", str) or "").removeprefix("models/")
                found[name] = token_count(model, "inputTokenLimit") or 0
        return found

    def encode_stream(self, request: Request) -> HttpCall:
        """See `StreamingWire.encode_stream`."""
        call = self.encode(request)
        return replace(
            call, path=f"{call.path.removesuffix(':generateContent')}:streamGenerateContent?alt=sse"
        )

    def stream(self) -> GeminiStream:
        """See `StreamingWire.stream`."""
        return GeminiStream(self)

    @property
    def _name(self) -> str:
        return self._config.model if "/" in self._config.model else f"models/{self._config.model}"

    def encode_count(self, request: Request) -> HttpCall:
        """See `CountingWire.encode_count`."""
        body = {"model": self._name, **self.encode(request).body}
        return HttpCall(
            f"/v1beta/{quote(self._name)}:countTokens", {"generateContentRequest": body}
        )

    def decode_count(self, status: int, headers: Mapping[str, str], body: bytes) -> int:
        """See `CountingWire.decode_count`."""
        reply = reply_object(body, status, headers)
        if status >= FIRST_ERROR or (count := token_count(reply, "totalTokens")) is None:
            raise ProviderError("the service counted no tokens", kind="invalid_response")
        return count

    def decode(self, status: int, headers: Mapping[str, str], body: bytes) -> Completion:
        """See `Wire.decode`.

        Calls without an id get one; thoughts and signatures are kept, to be sent back.
        """
        reply = reply_object(body, status, headers)
        if status >= FIRST_ERROR or reply.get("error"):
            raise failure(status, reply)
        return self.completion(reply)

    def completion(self, reply: dict[str, Any]) -> Completion:
        """Read a whole reply, which may have been streamed.

        Raises:
            ProviderError: it cannot be read.
        """
        if not reply.keys() & _REPLY_MEMBERS:
            raise ProviderError("the reply has no candidates", kind="invalid_response")
        candidates = reply_objects(reply, "candidates")
        feedback = reply_member(reply, "promptFeedback", dict) or {}
        blocked = reply_member(feedback, "blockReason", str) or ""
        parts: tuple[Part, ...] = ()
        usage = self.usage(reply_member(reply, "usageMetadata", dict) or {})
        if blocked or not candidates:
            # There is no candidate only if the prompt was blocked.
            finish, word = Finish.FILTERED, blocked or "no candidates"
        else:
            parts = with_ids(
                _parts(candidates[0]), f"{reply_member(reply, 'responseId', str)} {usage}"
            )
            word = reply_member(candidates[0], "finishReason", str) or ""
            finish = finish_of(word, parts)
        return Completion(
            message=Message("assistant", parts),
            finish=finish,
            finish_detail=word,
            usage=usage,
            model=reply_member(reply, "modelVersion", str) or self._config.model,
            raw=reply,
        )

    @staticmethod
    def usage(usage: Json) -> Usage:
        """Return the tokens in a reply's `usageMetadata`."""
        prompt = token_count(usage, "promptTokenCount")
        tools = token_count(usage, "toolUsePromptTokenCount") or 0
        words = token_count(usage, "candidatesTokenCount")
        thoughts = token_count(usage, "thoughtsTokenCount")
        total = token_count(usage, "totalTokenCount")
        spent = None if prompt is None else prompt + tools
        output = None if words is None and thoughts is None else (words or 0) + (thoughts or 0)
        if output is None and spent is not None and total is not None and total >= spent:
            output = total - spent
        return Usage(
            input=spent,
            output=output,
            cache_read=token_count(usage, "cachedContentTokenCount"),
            reasoning=thoughts,
        )

    def _generation(self, request: Request) -> dict[str, Any]:
        config = self._config
        generation: dict[str, Any] = {}
        max_tokens = request.max_tokens or config.max_tokens
        if max_tokens is not None:
            generation["maxOutputTokens"] = max_tokens
        if config.temperature is not None:
            generation["temperature"] = config.temperature
        if config.thinking_budget_tokens is not None:
            generation["thinkingConfig"] = {"thinkingBudget": config.thinking_budget_tokens}
        if config.thinking_level is not None:
            generation["thinkingConfig"] = {"thinkingLevel": config.thinking_level}
        return generation


def _declaration(tool: ToolSpec) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "parametersJsonSchema": dict(tool.parameters),
    }


def _contents(request: Request, *, signs: bool) -> list[dict[str, Any]]:
    """Return the turns; merge neighbors of one role, because all results of a turn's calls must be
    together.
    """
    contents: list[dict[str, Any]] = []
    given_ids: set[str] = set()
    order: dict[str, int] = {}
    for message in request.messages:
        if message.role == "assistant":
            calls = [part for part in message.parts if isinstance(part, ToolCall)]
            order = {call.id: number for number, call in enumerate(calls)}
            given_ids.update(call.id for call in calls if _own_echo(call).get("id") == call.id)
            role, parts = "model", _model_parts(message, signs=signs)
        else:
            role, parts = "user", _user_parts(message, order, given_ids)
        if contents and contents[-1]["role"] == role:
            contents[-1]["parts"] += parts
        elif parts:
            contents.append({"role": role, "parts": parts})
    return contents


def _user_parts(
    message: Message, order: Mapping[str, int], given_ids: set[str]
) -> list[dict[str, Any]]:
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    results.sort(key=lambda result: order.get(result.call_id, len(order)))
    parts: list[dict[str, Any]] = []
    for result in results:
        response: dict[str, Any] = {"name": result.name}
        response["response"] = {"error" if result.is_error else "output": result.text}
        if result.call_id in given_ids:
            response["id"] = result.call_id
        parts.append({"functionResponse": response})
    parts += [{"text": part.text} for part in message.parts if isinstance(part, Text) and part.text]
    return parts


def _model_parts(message: Message, *, signs: bool) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    unsigned = signs
    for part in message.parts:
        match part:
            case Text(text=text):
                if text:
                    parts.append({"text": text})
            case ToolCall():
                parts.append(_function_call(part, sign=unsigned))
                unsigned = False
            case Opaque(provider=provider, data=data):
                if provider == _PROVIDER:
                    parts.append(dict(data))
            case ToolResult():
                pass
    return parts


def _function_call(call: ToolCall, *, sign: bool) -> dict[str, Any]:
    echo = _own_echo(call)
    function: dict[str, Any] = {"name": call.name, "args": call.arguments_object}
    if echo.get("id") == call.id:
        function["id"] = call.id
    part: dict[str, Any] = {"functionCall": function}
    signature = echo.get("thoughtSignature") or (_FOREIGN_SIGNATURE if sign else None)
    if signature:
        part["thoughtSignature"] = signature
    return part


def _own_echo(call: ToolCall) -> Json:
    return call.echo.data if call.echo and call.echo.provider == _PROVIDER else {}


def _parts(candidate: Json) -> list[Part]:
    content = reply_member(candidate, "content", dict) or {}
    received = Parts()
    for part in reply_objects(content, "parts"):
        received.add(part)
    parts: list[Part] = []
    for part in received.merged():
        call = reply_member(part, "functionCall", dict)
        if call is not None:
            parts.append(_tool_call(part, call))
        elif part.get("text") is not None and not part.get("thought"):
            if part["text"]:
                parts.append(Text(part["text"]))
            if part.get("thoughtSignature"):
                # The service also sends a signature as a separate part.
                parts.append(
                    Opaque(_PROVIDER, {"text": "", "thoughtSignature": part["thoughtSignature"]})
                )
        else:
            parts.append(Opaque(_PROVIDER, part))
    return parts


def _tool_call(part: Json, call: Json) -> ToolCall:
    arguments, raw = read_arguments(call.get("args"))
    given_id = reply_member(call, "id", str)
    fields = {"id": given_id, "thoughtSignature": part.get("thoughtSignature")}
    echo = {name: value for name, value in fields.items() if value}
    return ToolCall(
        id=given_id or "",
        name=reply_member(call, "name", str) or "",
        arguments=arguments,
        raw=raw,
        echo=Opaque(_PROVIDER, echo) if echo else None,
    )
