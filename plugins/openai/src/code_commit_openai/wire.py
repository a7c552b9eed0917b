"""OpenAI's chat completions protocol.

Sources: the API reference of OpenAI (Chat Completions, error codes); for differences of other
servers, the documentation of vLLM, llama.cpp, Ollama, OpenRouter, DeepSeek and Azure OpenAI.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

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
    error_details,
    finish_of,
    kind_of_error,
    read_arguments,
    reply_member,
    reply_object,
    reply_objects,
    service_error,
    token_count,
    with_ids,
)
from code_commit_openai.config import OpenAIConfig
from code_commit_openai.models import CACHE_MARKS_SINCE
from code_commit_openai.stream import OpenAIStream

_PROVIDER: Final = "openai"
_VERSION = re.compile(r"gpt-(\d+)(?:\.(\d+))?(?!\w)")
_OPENAI_MODEL = re.compile(r"(ft:)?(gpt-(?!oss)|chatgpt-|o\d)")
_CHECK_BILLING = "check your plan and billing"

# Thinking of other servers, sent back with tool calls, as DeepSeek requires; OpenAI's own API never
# sends any.
_THINKING_FIELDS = ("reasoning_content", "reasoning", "reasoning_details")

# Members of a tool call that have a place in `ToolCall`. Others are sent back.
_READ_OF_CALLS = frozenset({"id", "type", "index", "function"})

_FIRST_ERROR = 400  # HTTP status
_FILTERED_NAMES = frozenset(
    {"content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"}
)


class OpenAIWire:
    """A `Wire` for `POST {base_url}/chat/completions`."""

    def __init__(self, config: OpenAIConfig, *, own_address: bool = False) -> None:
        self._config = config
        self._own_address = own_address

    def encode(self, request: Request) -> HttpCall:
        """See `Wire.encode`. Tool results become separate messages."""
        config = self._config
        marks = self._own_address and _takes_cache_marks(config.model)
        body: dict[str, Any] = {"model": config.model, "messages": _messages(request, marks=marks)}
        if marks:
            # Else the service pays for marks of its own.
            body["prompt_cache_options"] = {"mode": "explicit"}
        if self._own_address and (prefix := _repeated(request)):
            digest = hashlib.sha256(prefix.encode("utf-8", "replace")).hexdigest()
            body["prompt_cache_key"] = digest[:32]
        max_tokens = request.max_tokens or config.max_tokens
        if max_tokens is not None:
            body[self._max_tokens_field()] = max_tokens
        if config.temperature is not None:
            body["temperature"] = config.temperature
        if config.reasoning_effort is not None:
            body["reasoning_effort"] = config.reasoning_effort
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
            if request.tool_choice != "auto":
                body["tool_choice"] = request.tool_choice
        return HttpCall("/chat/completions", body)

    def encode_models(self, page: bytes = b"") -> HttpCall | None:
        """See `ListingWire.encode_models`. There is one page."""
        return None if page else HttpCall("/models", {}, method="GET")

    def decode_models(self, status: int, headers: Mapping[str, str], body: bytes) -> dict[str, int]:
        """See `ListingWire.decode_models`.

        Only some other servers report windows: OpenRouter and vLLM.
        """
        reply = reply_object(body, status, headers)
        if status >= _FIRST_ERROR or reply.get("error"):
            raise _failure(status, reply)
        windows = {}
        for model in reply_objects(reply, "data"):
            name = reply_member(model, "id", str) or ""
            window = token_count(model, "context_length") or token_count(model, "max_model_len")
            windows[name] = window or 0
        return windows

    def encode_stream(self, request: Request) -> HttpCall:
        """See `StreamingWire.encode_stream`. Old servers do not know `stream_options`."""
        call = self.encode(request)
        body = {**call.body, "stream": True, "stream_options": {"include_usage": True}}
        return replace(call, body=body, optional=(*call.optional, "stream_options"))

    def stream(self) -> OpenAIStream:
        """See `StreamingWire.stream`."""
        return OpenAIStream(self)

    def decode(self, status: int, headers: Mapping[str, str], body: bytes) -> Completion:
        """See `Wire.decode`. Only the first choice is used."""
        reply = reply_object(body, status, headers)
        if status >= _FIRST_ERROR:
            return self._failed(status, reply)
        return self.completion(reply)

    def completion(self, reply: dict[str, Any]) -> Completion:
        """Read a whole reply, which may have been streamed.

        Raises:
            ProviderError: it is an error, or cannot be read.
        """
        if reply.get("error") or reply.get("object") == "error":  # the latter is vLLM's
            raise _failure(200, reply)
        choices = reply_objects(reply, "choices")
        if not choices:
            raise ProviderError("the reply has no choices", kind="invalid_response")
        choice = choices[0]
        if choice.get("error"):  # OpenRouter: the upstream model failed
            raise _failure(200, choice)
        message = reply_member(choice, "message", dict)
        if message is None:
            raise ProviderError(
                "the first choice of the reply has no message", kind="invalid_response"
            )
        usage = self.usage(reply_member(reply, "usage", dict) or {})
        parts = with_ids(_parts(message), f"{reply_member(reply, 'id', str)} {usage}")
        word = reply_member(choice, "finish_reason", str) or ""
        finish = finish_of(word, parts)
        if message.get("refusal"):
            word = word or "refusal"
            if finish is not Finish.FILTERED:
                finish = Finish.REFUSED
        return Completion(
            message=Message("assistant", parts),
            finish=finish,
            finish_detail=word,
            usage=usage,
            model=reply_member(reply, "model", str) or self._config.model,
            raw=reply,
        )

    @staticmethod
    def usage(usage: Json) -> Usage:
        """Return the tokens in a reply's `usage`.

        Raises:
            ProviderError: it cannot be read.
        """
        prompt_details = reply_member(usage, "prompt_tokens_details", dict) or {}
        completion_details = reply_member(usage, "completion_tokens_details", dict) or {}
        return Usage(
            input=token_count(usage, "prompt_tokens"),
            output=token_count(usage, "completion_tokens"),
            cache_read=token_count(prompt_details, "cached_tokens"),
            cache_write=token_count(prompt_details, "cache_write_tokens"),
            reasoning=token_count(completion_details, "reasoning_tokens"),
        )

    def _max_tokens_field(self) -> str:
        if self._config.max_tokens_field is not None:
            return self._config.max_tokens_field
        return "max_completion_tokens" if _OPENAI_MODEL.match(self._config.model) else "max_tokens"

    def _failed(self, status: int, reply: Json) -> Completion:
        words, names = error_details(reply)
        filtered = sorted(_FILTERED_NAMES.intersection(names))
        if "invalid_prompt" in names and "usage policy" in words:
            filtered.append("invalid_prompt")
        if status != _FIRST_ERROR or not filtered:
            raise _failure(status, reply)
        # The prompt was filtered, which Azure and OpenAI report as an error without text.
        return Completion(
            message=Message("assistant", ()),
            finish=Finish.FILTERED,
            finish_detail=filtered[0],
            usage=Usage(),
            model=self._config.model,
            raw=reply,
        )


def _takes_cache_marks(model: str) -> bool:
    match = _VERSION.match(model)
    if match is None:
        return False
    version = (int(match[1]), int(match[2] or 0))
    return version >= CACHE_MARKS_SINCE


def _is_marked(part: Part) -> bool:
    return isinstance(part, Text | ToolResult) and part.cache_here


def _repeated(request: Request) -> str:
    """Return the text that requests with the same beginning share; "" without a mark.

    It ends at the first mark.
    """
    texts = []
    for message in request.messages:
        for part in message.parts:
            if isinstance(part, Text | ToolResult):
                texts.append(part.text)
            if _is_marked(part):
                names = [tool.name for tool in request.tools]
                return "\0".join([request.system, *names, *texts])
    return ""


def _messages(request: Request, *, marks: bool) -> list[dict[str, Any]]:
    """Return the messages.

    With `marks`, those of the request are sent, and one after the system prompt.
    """
    messages: list[dict[str, Any]] = []
    parts = [part for message in request.messages for part in message.parts]
    marks = marks and any(_is_marked(part) for part in parts)
    if request.system:
        system = Text(request.system, cache_here=True)
        messages.append({"role": "system", "content": _sent([system], marks=marks)})
    for message in request.messages:
        if message.role == "assistant":
            messages += _assistant(message)
        else:
            messages += _user(message, marks=marks)
    return messages


def _user(message: Message, *, marks: bool) -> list[dict[str, Any]]:
    # Results come first: they must follow their calls.
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    messages = [_result(result, marks=marks) for result in results]
    texts = [part for part in message.parts if isinstance(part, Text)]
    if texts:
        messages.append({"role": "user", "content": _sent(texts, marks=marks)})
    return messages


def _result(result: ToolResult, *, marks: bool) -> dict[str, Any]:
    text = f"Error: {result.text}" if result.is_error else result.text
    content = _sent([Text(text, result.cache_here)], marks=marks)
    return {"role": "tool", "tool_call_id": result.call_id, "content": content}


def _sent(texts: list[Text], *, marks: bool) -> str | list[dict[str, Any]]:
    """Return the content of a message.

    If nothing in it is marked, it is one text, which every server reads.
    """
    if not marks or not any(text.cache_here for text in texts):
        return "".join(text.text for text in texts)
    content = []
    for text in texts:
        if text.text:
            part: dict[str, Any] = {"type": "text", "text": text.text}
            if text.cache_here:
                part["prompt_cache_breakpoint"] = {"mode": "explicit"}
            content.append(part)
    return content


def _assistant(message: Message) -> list[dict[str, Any]]:
    text = "".join(part.text for part in message.parts if isinstance(part, Text))
    calls = [_call(part) for part in message.parts if isinstance(part, ToolCall)]
    if not text and not calls:
        return []
    sent: dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls:
        sent["tool_calls"] = calls
        for part in message.parts:
            if isinstance(part, Opaque) and part.provider == _PROVIDER:
                sent |= part.data
    return [sent]


def _call(call: ToolCall) -> dict[str, Any]:
    text = call.raw
    if not (call.arguments and text):
        # Servers parse the arguments of earlier calls, so malformed ones go back as valid JSON.
        text = json.dumps(call.arguments_object, ensure_ascii=False)
    sent: dict[str, Any] = {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": text},
    }
    if call.echo and call.echo.provider == _PROVIDER:
        sent |= call.echo.data
    return sent


def _tool(tool: ToolSpec) -> dict[str, Any]:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
    }
    return {"type": "function", "function": function}


def _parts(message: Json) -> list[Part]:
    parts: list[Part] = []
    thinking = {name: message[name] for name in _THINKING_FIELDS if message.get(name)}
    if thinking:
        parts.append(Opaque(_PROVIDER, thinking))
    text = _content(message) + (reply_member(message, "refusal", str) or "")
    if text:
        parts.append(Text(text))
    parts += [_tool_call(call) for call in reply_objects(message, "tool_calls")]
    return parts


def _tool_call(call: Json) -> ToolCall:
    function = reply_member(call, "function", dict)
    if function is None:
        raise ProviderError("a tool call of the reply has no function", kind="invalid_response")
    arguments, raw = read_arguments(function.get("arguments"))
    echo = {name: value for name, value in call.items() if name not in _READ_OF_CALLS}
    return ToolCall(
        id=reply_member(call, "id", str) or "",
        name=reply_member(function, "name", str) or "",
        arguments=arguments,
        raw=raw,
        echo=Opaque(_PROVIDER, echo) if echo else None,
    )


def _content(message: Json) -> str:
    content = message.get("content")
    if content is None or isinstance(content, str):
        return content or ""
    # Mistral sends a list of typed parts.
    parts = reply_objects(message, "content")
    texts = [reply_member(part, "text", str) for part in parts if part.get("type") == "text"]
    return "".join(text for text in texts if text)


def _failure(status: int, reply: Json) -> ProviderError:
    words, names = error_details(reply)
    kind = kind_of_error(status, names)
    if "incorrect api key" in words.lower():  # xAI replies with status 400
        kind = "auth"
    if kind == "rate" and _CHECK_BILLING in words.lower():
        kind = "quota"
    return service_error(status, reply, kind=kind)
