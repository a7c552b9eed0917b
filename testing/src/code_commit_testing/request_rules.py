"""What the services of the three protocols refuse in a request, by their API references."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from code_commit.plugin_api import HttpCall
from code_commit_testing.scripted_replies import Protocol

_ANTHROPIC_ID = re.compile(r"[a-zA-Z0-9_-]+")
_GEMINI_PATH = re.compile(r"/v1beta/models/[^/:]+:(generateContent|streamGenerateContent\?alt=sse)")


def refusals(protocol: Protocol, call: HttpCall, *, stream: bool = False) -> list[str]:
    """Return why the service refuses or misreads `call`; nothing if it does not.

    `stream` is whether the reply should be streamed.
    """
    rules = {"openai": _openai, "anthropic": _anthropic, "gemini": _gemini}
    try:
        return [text for text, wrong in rules[protocol](call, stream) if wrong]
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        return [f"a member is missing or of the wrong type: {error!r}"]


_ANTHROPIC_MEMBERS = {
    "body": "model max_tokens messages system tools tool_choice temperature output_config thinking"
    " stream stop_sequences metadata top_k top_p service_tier container context_management",
    "text": "type text cache_control citations",
    "tool_use": "type id name input cache_control",
    "tool_result": "type tool_use_id content is_error cache_control",
}
_GEMINI_MEMBERS = {
    "body": "contents systemInstruction tools toolConfig generationConfig safetySettings"
    " cachedContent labels",
    "functionCall": "id name args",
    "functionResponse": "id name response",
}


def _unknown(members: Mapping[str, str], kind: str, given: Mapping[str, Any]) -> bool:
    """Return whether an object has a member that the service does not know, which it refuses."""
    return kind in members and bool(given.keys() - set(members[kind].split()))


_Rules = Iterator[tuple[str, bool]]
"""Faults, each with whether the request has it."""


def _openai(call: HttpCall, stream: bool) -> _Rules:  # noqa: FBT001 - as `refusals`
    body = call.body
    yield "the path", call.path != "/chat/completions"
    yield "the model", not isinstance(body["model"], str)
    yield "stream", bool(body.get("stream")) is not stream
    yield "tool_choice", body.get("tool_choice", "auto") not in {"auto", "none", "required"}
    for tool in body.get("tools", ()):
        yield "a tool", tool["type"] != "function" or not tool["function"]["name"]
        yield "a schema", tool["function"]["parameters"]["type"] != "object"
    unanswered: list[str] = []
    for message in body["messages"]:
        role = message["role"]
        if role == "tool":
            yield "a result without its call", message["tool_call_id"] not in unanswered
            unanswered.remove(message["tool_call_id"])
            continue
        yield "a call without its result", bool(unanswered)
        yield "a role", role not in {"system", "user", "assistant"}
        calls = message.get("tool_calls", ())
        yield "a message without content", not (message["content"] or calls)
        yield "calls of another role", bool(calls) and role != "assistant"
        for sent in calls:
            function = sent["function"]
            yield "a call", sent["type"] != "function" or not function["name"]
            yield "arguments", not isinstance(json.loads(function["arguments"]), dict)
        unanswered = [sent["id"] for sent in calls]


def _anthropic(call: HttpCall, stream: bool) -> _Rules:  # noqa: FBT001 - as `refusals`
    body = call.body
    yield "the path", call.path != "/v1/messages"
    yield "an unknown member", _unknown(_ANTHROPIC_MEMBERS, "body", body)
    yield "the version", call.headers["anthropic-version"] != "2023-06-01"
    yield "the model", not isinstance(body["model"], str)
    yield "max_tokens", body["max_tokens"] < 1
    yield "stream", bool(body.get("stream")) is not stream
    choice = body.get("tool_choice", {"type": "auto"})
    yield "tool_choice", choice["type"] not in {"auto", "none", "any", "tool"}
    for tool in body.get("tools", ()):
        yield "a schema", not tool["name"] or tool["input_schema"]["type"] != "object"
    unanswered: list[str] = []
    for message in body["messages"]:
        role = message["role"]
        blocks = message["content"]
        yield "a role", role not in {"user", "assistant"}
        yield "an empty message", not blocks
        kinds = [block["type"] for block in blocks]
        for kind, block in zip(kinds, blocks, strict=True):
            yield f"an unknown member of {kind}", _unknown(_ANTHROPIC_MEMBERS, kind, block)
        results = [block for block in blocks if block["type"] == "tool_result"]
        calls = [block for block in blocks if block["type"] == "tool_use"]
        answered = [result["tool_use_id"] for result in results]
        yield "results and calls do not match", sorted(answered) != sorted(unanswered)
        yield "text before results", "tool_result" in kinds[len(results) :]
        yield "results of another role", bool(results) and role != "user"
        yield "calls of another role", bool(calls) and role != "assistant"
        yield "a blank text", any(not block.get("text", "x").strip() for block in blocks)
        yield "the input of a call", not all(isinstance(sent["input"], dict) for sent in calls)
        unanswered = [sent["id"] for sent in calls]
        yield "an id", not all(map(_ANTHROPIC_ID.fullmatch, unanswered))


def _gemini(call: HttpCall, stream: bool) -> _Rules:  # noqa: FBT001 - as `refusals`
    body = call.body
    path = _GEMINI_PATH.fullmatch(call.path)
    yield "the path", path is None
    yield "an unknown member", _unknown(_GEMINI_MEMBERS, "body", body)
    yield "stream", path is not None and path[1].startswith("stream") is not stream
    system = body.get("systemInstruction", {"parts": [{"text": "x"}]})
    yield "the system text", not system["parts"][0]["text"]
    mode = body.get("toolConfig", {"functionCallingConfig": {"mode": "AUTO"}})
    yield "the mode", mode["functionCallingConfig"]["mode"] not in {"AUTO", "NONE", "ANY"}
    for declaration in _declarations(body):
        schema = declaration.get("parametersJsonSchema") or declaration["parameters"]
        yield "a schema", not declaration["name"] or schema["type"] != "object"
    unanswered: list[str] = []
    for turn in body["contents"]:
        role = turn["role"]
        parts = turn["parts"]
        for kind, sent in (member for part in parts for member in part.items()):
            yield f"an unknown member of {kind}", _unknown(_GEMINI_MEMBERS, kind, sent)
        yield "a role", role not in {"user", "model"}
        yield "an empty turn", not parts
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        results = [part["functionResponse"] for part in parts if "functionResponse" in part]
        yield "results and calls do not match", [sent["name"] for sent in results] != unanswered
        yield "results of another role", bool(results) and role != "user"
        yield "calls of another role", bool(calls) and role != "model"
        yield "arguments", not all(isinstance(sent["args"], dict) for sent in calls)
        yield "a response", not all(isinstance(sent["response"], dict) for sent in results)
        unanswered = [sent["name"] for sent in calls]


def _declarations(body: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    tools: Sequence[Mapping[str, Any]] = body.get("tools", ())
    return [declaration for tool in tools for declaration in tool["functionDeclarations"]]
