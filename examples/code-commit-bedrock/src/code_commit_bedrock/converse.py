"""The bodies of Bedrock's Converse API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from code_commit.plugin_api import (
    Completion,
    Json,
    Message,
    Opaque,
    Part,
    ProviderError,
    ProviderErrorKind,
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

from code_commit_bedrock.config import BedrockConfig

KINDS: dict[str, ProviderErrorKind] = {
    "ServiceQuotaExceededException": "quota",
    "ModelErrorException": "server",
}
EXPIRED = {"ExpiredToken", "ExpiredTokenException"}


class CredentialsExpired(ProviderError):
    """The service no longer accepts the credentials."""


def path_of(config: BedrockConfig, *, stream: bool) -> str:
    """Return the path of a call."""
    return f"/model/{quote(config.model, safe='')}/{'converse-stream' if stream else 'converse'}"


def body_of(request: Request, config: BedrockConfig) -> dict[str, Any]:
    """Return the body of a request."""
    body: dict[str, Any] = {
        "messages": [
            {
                "role": message.role,
                "content": [block for part in message.parts for block in _blocks(part)],
            }
            for message in request.messages
        ]
    }
    if request.system:
        body["system"] = [{"text": request.system}]
    limit = request.max_tokens or config.max_tokens
    if limit is not None:
        body["inferenceConfig"] = {"maxTokens": limit}
    if request.tools:
        # The service has no choice "none", and needs the tools while a conversation has calls.
        body["toolConfig"] = {
            "tools": [{"toolSpec": _tool(tool)} for tool in request.tools],
            "toolChoice": {"any" if request.tool_choice == "required" else "auto": {}},
        }
    return body


def _tool(tool: ToolSpec) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": {"json": dict(tool.parameters)},
    }


def _blocks(part: Part) -> list[dict[str, Any]]:
    match part:
        case Text() if part.text:
            return [{"text": part.text}]
        case ToolCall():
            return [
                {
                    "toolUse": {
                        "toolUseId": part.id,
                        "name": part.name,
                        "input": part.arguments_object,
                    }
                }
            ]
        case ToolResult():
            status = "error" if part.is_error else "success"
            return [
                {
                    "toolResult": {
                        "toolUseId": part.call_id,
                        "content": [{"text": part.text}],
                        "status": status,
                    }
                }
            ]
        case Opaque(provider="bedrock"):
            return [dict(part.data)]
    return []


def completion_of(reply: Json, config: BedrockConfig) -> Completion:
    """Return the completion of a whole reply."""
    message = reply_member(reply_member(reply, "output", dict) or {}, "message", dict)
    if message is None:
        raise ProviderError("the reply has no message", kind="invalid_response")
    parts = tuple(_part(block) for block in reply_objects(message, "content"))
    reason = reply_member(reply, "stopReason", str) or ""
    return Completion(
        message=Message("assistant", parts),
        finish=finish_of(reason, parts),
        finish_detail=reason,
        usage=_usage(reply_member(reply, "usage", dict) or {}),
        model=config.model,
        raw=reply,
    )


def error_of(status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
    """Return the error of a reply with a status of 400 or more."""
    name = headers.get("x-amzn-errortype", "").partition(":")[0]
    words = str(reply_object(body, status, headers).get("message", ""))
    wait = headers.get("retry-after", "")
    retry_after = float(wait) if wait.isdecimal() else None
    error = reply_error(
        status, kind=KINDS.get(name), words=words, reason=name, retry_after=retry_after
    )
    return CredentialsExpired(str(error), kind=error.kind) if name in EXPIRED else error


def _part(block: Json) -> Part:
    if (text := reply_member(block, "text", str)) is not None:
        return Text(text)
    if (call := reply_member(block, "toolUse", dict)) is not None:
        arguments, raw = read_arguments(call.get("input"))
        name = reply_member(call, "name", str) or ""
        return ToolCall(reply_member(call, "toolUseId", str) or "", name, arguments, raw)
    return Opaque("bedrock", block)  # thinking, and whatever comes


def _usage(usage: Json) -> Usage:
    fresh = token_count(usage, "inputTokens")
    read, written = (
        token_count(usage, name) for name in ("cacheReadInputTokens", "cacheWriteInputTokens")
    )
    total = None if fresh is None else fresh + (read or 0) + (written or 0)
    return Usage(total, token_count(usage, "outputTokens"), cache_read=read, cache_write=written)
