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
            declarations = [_declaration(tool) for tool in request.tools]
            body["tools"] = [{"functionDeclarations": declarations}]
            if request.tool_choice != "auto":
                mode = _MODES[request.tool_choice]
                body["toolConfig"] = {"functionCallingConfig": {"mode": mode}}
        generation = self._generation(request)
        if generation:
            body["generationConfig"] = generation
        return HttpCall(self._path("generateContent"), body)

    def encode_models(self, page: bytes = b"") -> HttpCall | None:
        """See `ListingWire.encode_models`."""
        path = "/v1beta/models?pageSize=1000"
        if page:
            token = reply_member(reply_object(page), "nextPageToken", str)
            if not token:
                return None
            path += f"&pageToken={quote(token, safe='')}"
        return HttpCall(path, {}, method="GET")

    def decode_models(self, status: int, headers: Mapping[str, str], body: bytes) -> dict[str, int]:
        """See `ListingWire.decode_models`. Models for other uses are left out."""
        reply = reply_object(body, status, headers)
        if status >= FIRST_ERROR or reply.get("error"):
            raise failure(status, reply)
        windows = {}
        for model in reply_objects(reply, "models"):
            methods = reply_member(model, "supportedGenerationMethods", list) or ()
            if "generateContent" in methods:
                name = reply_member(model, "name", str) or ""
                window = token_count(model, "inputTokenLimit") or 0
                windows[name.removeprefix("models/")] = window
        return windows

    def encode_stream(self, request: Request) -> HttpCall:
        """See `StreamingWire.encode_stream`."""
        path = self._path("streamGenerateContent?alt=sse")
        return replace(self.encode(request), path=path)

    def stream(self) -> GeminiStream:
        """See `StreamingWire.stream`."""
        return GeminiStream(self)

    @property
    def _name(self) -> str:
        model = self._config.model
        return model if "/" in model else f"models/{model}"

    def _path(self, method: str) -> str:
        return f"/v1beta/{quote(self._name)}:{method}"

    def encode_count(self, request: Request) -> HttpCall:
        """See `CountingWire.encode_count`."""
        body = {"model": self._name, **self.encode(request).body}
        return HttpCall(self._path("countTokens"), {"generateContentRequest": body})

    def decode_count(self, status: int, headers: Mapping[str, str], body: bytes) -> int:
        """See `CountingWire.decode_count`."""
        reply = reply_object(body, status, headers)
        tokens = token_count(reply, "totalTokens")
        if status >= FIRST_ERROR or tokens is None:
            raise ProviderError("the service counted no tokens", kind="invalid_response")
        return tokens

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
            finish = Finish.FILTERED
            word = blocked or "no candidates"
        else:
            seed = f"{reply_member(reply, 'responseId', str)} {usage}"
            parts = with_ids(_parts(candidates[0]), seed)
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
        sent = token_count(usage, "promptTokenCount")
        if sent is not None:
            sent += token_count(usage, "toolUsePromptTokenCount") or 0
        thoughts = token_count(usage, "thoughtsTokenCount")
        received = token_count(usage, "candidatesTokenCount")
        if received is not None or thoughts is not None:
            received = (received or 0) + (thoughts or 0)
        else:
            total = token_count(usage, "totalTokenCount")
            if sent is not None and total is not None and total >= sent:
                received = total - sent
        return Usage(
            input=sent,
            output=received,
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
    """Return the turns.

    Neighbors of one role are merged, because all results of a turn's calls must be together.
    """
    contents: list[dict[str, Any]] = []
    service_ids: set[str] = set()  # of calls; others have an id of the host
    order: dict[str, int] = {}
    for message in request.messages:
        if message.role == "assistant":
            calls = [part for part in message.parts if isinstance(part, ToolCall)]
            order = {call.id: number for number, call in enumerate(calls)}
            service_ids.update(call.id for call in calls if _has_service_id(call))
            role = "model"
            parts = _model_parts(message, signs=signs)
        else:
            role = "user"
            parts = _user_parts(message, order, service_ids)
        if contents and contents[-1]["role"] == role:
            contents[-1]["parts"] += parts
        elif parts:
            contents.append({"role": role, "parts": parts})
    return contents


def _user_parts(
    message: Message,
    order: Mapping[str, int],
    service_ids: set[str],
) -> list[dict[str, Any]]:
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    results.sort(key=lambda result: order.get(result.call_id, len(order)))
    texts = [part.text for part in message.parts if isinstance(part, Text)]
    return [
        *(_function_response(result, service_ids) for result in results),
        *({"text": text} for text in texts if text),
    ]


def _function_response(result: ToolResult, service_ids: set[str]) -> dict[str, Any]:
    outcome = "error" if result.is_error else "output"
    response: dict[str, Any] = {"name": result.name, "response": {outcome: result.text}}
    if result.call_id in service_ids:
        response["id"] = result.call_id
    return {"functionResponse": response}


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
    function: dict[str, Any] = {"name": call.name, "args": call.arguments_object}
    if _has_service_id(call):
        function["id"] = call.id
    part: dict[str, Any] = {"functionCall": function}
    signature = _own_echo(call).get("thoughtSignature")
    if signature:
        part["thoughtSignature"] = signature
    elif sign:
        part["thoughtSignature"] = _FOREIGN_SIGNATURE
    return part


def _has_service_id(call: ToolCall) -> bool:
    return bool(_own_echo(call).get("id") == call.id)


def _own_echo(call: ToolCall) -> Json:
    if call.echo is None or call.echo.provider != _PROVIDER:
        return {}
    return call.echo.data


def _parts(candidate: Json) -> list[Part]:
    content = reply_member(candidate, "content", dict) or {}
    received = Parts()
    for part in reply_objects(content, "parts"):
        received.add(part)
    parts: list[Part] = []
    for part in received.merged():
        call = reply_member(part, "functionCall", dict)
        text = part.get("text")
        if call is not None:
            parts.append(_tool_call(part, call))
        elif text is None or part.get("thought"):
            parts.append(Opaque(_PROVIDER, part))
        else:
            if text:
                parts.append(Text(text))
            if signature := part.get("thoughtSignature"):
                # The service also sends a signature as a separate part.
                parts.append(Opaque(_PROVIDER, {"text": "", "thoughtSignature": signature}))
    return parts


def _tool_call(part: Json, call: Json) -> ToolCall:
    arguments, raw = read_arguments(call.get("args"))
    service_id = reply_member(call, "id", str)
    echo = {"id": service_id, "thoughtSignature": part.get("thoughtSignature")}
    echo = {name: value for name, value in echo.items() if value}
    return ToolCall(
        id=service_id or "",
        name=reply_member(call, "name", str) or "",
        arguments=arguments,
        raw=raw,
        echo=Opaque(_PROVIDER, echo) if echo else None,
    )
