"""One scripted reply, and its encoding in the three protocols."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from code_commit.plugin_api import Finish, StreamEvent, ToolCall, Usage

Protocol = Literal["gemini", "openai", "anthropic"]
Fault = Literal["drop", "reset", "half", "stall", "trickle", "hang"]
Break = Literal["end", "drop", "reset", "stall"]


@dataclass(frozen=True, slots=True)
class Stream:
    """How a reply is sent to a request that asks to stream.

    Each event has at most `piece` characters of text. With a `gate`, each `release` of it sends one
    event; `seconds` pass before each event. After `after` events, or after `after_bytes` bytes, the
    reply breaks off. What follows is `then`: an error `Reply` as an event, after `after` events;
    "end", the regular end of the body; "drop" or "reset" of the connection; or "stall", until the
    server ends.

    `keep_alives` is the number of pings (Anthropic) or comments before each event. `gzip`
    compresses the reply. `newline` ends a line; "" is the service's own. `events` replaces the
    service's events, on any path and whatever the request asks for; bytes are sent unchanged.
    `lines` sends events as lines of JSON instead of server-sent events.
    """

    piece: int = 5
    gate: threading.Semaphore | None = None
    seconds: float = 0.0
    after: int | None = None
    after_bytes: int | None = None
    then: Break | Reply = "drop"
    keep_alives: int = 0
    gzip: bool = False
    newline: Literal["", "\n", "\r\n", "\r"] = ""
    events: Sequence[StreamEvent | bytes] | None = None
    lines: bool = False

    @property
    def breaks_off(self) -> bool:
        """Whether the reply breaks off."""
        return self.after is not None or self.after_bytes is not None


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer of a service.

    The first fields are the model's output, which each protocol encodes differently. `finish` is a
    `Finish`, the service's own word, or None to derive it from the other fields; "" sends none.
    `usage` None reports none. With a `status` of 400 or more, the answer is an error with the
    message `text` and the machine-readable reason `code`. `body` replaces all of that with bytes.
    The `echo` of a tool call is sent only in its own protocol. `delay` is in seconds.

    A `fault` breaks the delivery: `drop` closes without an answer, `reset` breaks the connection,
    `half` closes after half of the answer, `stall` stops there, `trickle` sends one byte at a time,
    `hang` never answers. `stall` and `hang` end with the server.

    If the request asks to stream, `stream` is how; with None, the service sends this reply as a
    whole.
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    thinking: str = ""
    signature: str = "c2lnbmVk"
    finish: Finish | str | None = None
    usage: Usage | None = field(default_factory=lambda: Usage(input=10, output=5))
    model: str = ""
    status: int = 200
    code: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    delay: float = 0.0
    fault: Fault | None = None
    stream: Stream | None = field(default_factory=Stream)

    @classmethod
    def error(
        cls, status: int, message: str = "scripted error", *, code: str = "", **headers: str
    ) -> Reply:
        """Return a failure.

        Write `headers` with underscores: `Reply.error(429, retry_after="1")`.
        """
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return cls(text=message, status=status, code=code, headers=named)

    @classmethod
    def html(cls, status: int = 200) -> Reply:
        """Return a web page, as from a proxy or a wrong address."""
        page = b"<!DOCTYPE html><html><body><h1>Welcome</h1></body></html>"
        return cls(status=status, headers={"content-type": "text/html"}, body=page)

    @classmethod
    def redirect(cls, location: str, status: int = 307) -> Reply:
        """Return a redirect to `location`."""
        return cls(status=status, headers={"location": location}, body=b"")


def answer_of(
    protocol: Protocol,
    reply: Reply,
    *,
    model: str = "scripted-model",
) -> tuple[int, bytes]:
    """Return status and body of `reply` in `protocol`; `model` is the requested one.

    Raises:
        ValueError: the protocol cannot express this finish.
    """
    if reply.body is not None:
        return reply.status, reply.body
    if protocol == "anthropic" and reply.finish is Finish.FILTERED:
        reply = replace(reply, status=400, text="Output blocked by content filtering policy")
    failed = reply.status >= 400  # noqa: PLR2004 - the HTTP errors
    answer = _ERRORS[protocol](reply) if failed else _ANSWERS[protocol](reply, reply.model or model)
    return reply.status, json.dumps(answer, ensure_ascii=False).encode()


_WORDS: dict[Protocol, dict[Finish, str]] = {
    "openai": {
        Finish.STOP: "stop",
        Finish.TOOL_CALLS: "tool_calls",
        Finish.LENGTH: "length",
        Finish.REFUSED: "stop",
        Finish.FILTERED: "content_filter",
        Finish.CUT: "brand_new_reason",
    },
    "anthropic": {
        Finish.STOP: "end_turn",
        Finish.TOOL_CALLS: "tool_use",
        Finish.LENGTH: "max_tokens",
        Finish.REFUSED: "refusal",
        Finish.PAUSED: "pause_turn",
        Finish.CUT: "brand_new_reason",
    },
    "gemini": {
        Finish.STOP: "STOP",
        Finish.TOOL_CALLS: "STOP",
        Finish.LENGTH: "MAX_TOKENS",
        Finish.FILTERED: "SAFETY",
        Finish.CUT: "BRAND_NEW_REASON",
    },
}


def _finish_word(protocol: Protocol, reply: Reply) -> str | None:
    if isinstance(reply.finish, str):
        return reply.finish or None
    finish = reply.finish or (Finish.TOOL_CALLS if reply.tool_calls else Finish.STOP)
    if finish not in _WORDS[protocol]:
        raise ValueError(f"{protocol} has no word for {finish.value}")
    return _WORDS[protocol][finish]


def _openai_answer(reply: Reply, model: str) -> dict[str, Any]:
    refused = reply.finish is Finish.REFUSED
    message: dict[str, Any] = {
        "role": "assistant",
        "content": None if refused or (reply.tool_calls and not reply.text) else reply.text,
        "refusal": reply.text if refused else None,
    }
    if reply.thinking:
        message["reasoning_content"] = reply.thinking
    if reply.tool_calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": _raw(call)},
            }
            | _echo("openai", call)
            for call in reply.tool_calls
        ]
    choice = {
        "index": 0,
        "message": message,
        "finish_reason": _finish_word("openai", reply),
        "logprobs": None,
    }
    answer: dict[str, Any] = {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": 1,
        "model": model,
    }
    answer["choices"] = [choice]
    if reply.usage is not None:
        answer["usage"] = {
            "prompt_tokens": reply.usage.input,
            "completion_tokens": reply.usage.output,
            "prompt_tokens_details": {
                "cached_tokens": reply.usage.cache_read,
                "cache_write_tokens": reply.usage.cache_write,
            },
            "completion_tokens_details": {"reasoning_tokens": reply.usage.reasoning},
        }
    return answer


def _anthropic_answer(reply: Reply, model: str) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    if reply.thinking:
        content.append(
            {"type": "thinking", "thinking": reply.thinking, "signature": reply.signature}
        )
    if reply.text:
        content.append({"type": "text", "text": reply.text})
    content += [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": _object(call)}
        for call in reply.tool_calls
    ]
    answer: dict[str, Any] = {
        "id": "msg_scripted",
        "type": "message",
        "role": "assistant",
        "model": model,
    }
    answer |= {
        "content": content,
        "stop_reason": _finish_word("anthropic", reply),
        "stop_sequence": None,
    }
    if reply.usage is not None:
        cached = (reply.usage.cache_read or 0) + (reply.usage.cache_write or 0)
        fresh = (reply.usage.input or 0) - cached
        answer["usage"] = {
            "input_tokens": fresh,
            "output_tokens": reply.usage.output,
            "cache_read_input_tokens": reply.usage.cache_read,
            "cache_creation_input_tokens": reply.usage.cache_write,
        }
    return answer


def _gemini_answer(reply: Reply, model: str) -> dict[str, Any]:
    parts: list[dict[str, Any]] = []
    if reply.thinking:
        parts.append({"text": reply.thinking, "thought": True})
    if reply.text:
        parts.append({"text": reply.text})
    for call in reply.tool_calls:
        signed = _echo("gemini", call)
        call_id = {"id": signed.pop("id")} if "id" in signed else {}
        parts.append(
            {"functionCall": {"name": call.name, "args": _object(call)} | call_id} | signed
        )
    if reply.thinking and len(parts) > 1:
        first_call = next((part for part in parts if "functionCall" in part), parts[-1])
        first_call["thoughtSignature"] = reply.signature
    candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
    word = _finish_word("gemini", reply)
    if word is not None:
        candidate["finishReason"] = word
    answer: dict[str, Any] = {
        "candidates": [candidate],
        "modelVersion": model,
        "responseId": "scripted",
    }
    if reply.usage is not None:
        answer["usageMetadata"] = {
            "promptTokenCount": reply.usage.input,
            "candidatesTokenCount": (reply.usage.output or 0) - (reply.usage.reasoning or 0),
            "thoughtsTokenCount": reply.usage.reasoning,
            "cachedContentTokenCount": reply.usage.cache_read,
        }
    return answer


def _openai_error(reply: Reply) -> dict[str, Any]:
    kinds = {
        401: "invalid_request_error",
        429: "rate_limit_exceeded",
        500: "server_error",
        503: "server_error",
    }
    kind = reply.code or kinds.get(reply.status, "invalid_request_error")
    return {
        "error": {"message": reply.text, "type": kind, "param": None, "code": reply.code or None}
    }


def _anthropic_error(reply: Reply) -> dict[str, Any]:
    kinds = {
        401: "authentication_error",
        402: "billing_error",
        403: "permission_error",
        404: "not_found_error",
        413: "request_too_large",
        429: "rate_limit_error",
        500: "api_error",
        529: "overloaded_error",
    }
    kind = reply.code or kinds.get(reply.status, "invalid_request_error")
    return {
        "type": "error",
        "error": {"type": kind, "message": reply.text},
        "request_id": "req_scripted",
    }


def _gemini_error(reply: Reply) -> dict[str, Any]:
    names = {
        401: "UNAUTHENTICATED",
        403: "PERMISSION_DENIED",
        404: "NOT_FOUND",
        429: "RESOURCE_EXHAUSTED",
        500: "INTERNAL",
        503: "UNAVAILABLE",
    }
    error: dict[str, Any] = {"code": reply.status, "message": reply.text}
    error["status"] = names.get(reply.status, "INVALID_ARGUMENT")
    if reply.code:
        detail = {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": reply.code,
            "domain": "googleapis.com",
        }
        error["details"] = [detail]
    return {"error": error}


def _raw(call: ToolCall) -> str:
    return call.raw or json.dumps(call.arguments)


def _object(call: ToolCall) -> Any:
    return call.raw if call.arguments is None else dict(call.arguments)


def _echo(protocol: Protocol, call: ToolCall) -> dict[str, Any]:
    return dict(call.echo.data) if call.echo and call.echo.provider == protocol else {}


_ANSWERS: dict[Protocol, Callable[[Reply, str], dict[str, Any]]] = {
    "openai": _openai_answer,
    "anthropic": _anthropic_answer,
    "gemini": _gemini_answer,
}
_ERRORS: dict[Protocol, Callable[[Reply], dict[str, Any]]] = {
    "openai": _openai_error,
    "anthropic": _anthropic_error,
    "gemini": _gemini_error,
}
