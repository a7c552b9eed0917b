"""The conformance tests on a service that replies in lines of JSON, and cannot be forced to call a tool."""

from __future__ import annotations

import json
from typing import ClassVar

import pytest

from code_commit.plugin_api import (
    Completion,
    Finish,
    HttpCall,
    Message,
    ProviderDefinition,
    ProviderError,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    finish_of,
    generated_id,
    read_arguments,
    reply_error,
    reply_member,
    reply_object,
    reply_objects,
    token_count,
)
from code_commit_testing import Reply
from code_commit_testing.conformance import ProviderConformance

LINES = ProviderDefinition(
    name="lines",
    models={"lines-1": ()},
    base_url="https://lines.example.org",
    base_url_variable=None,
    key_variable="LINES_API_KEY",
    key_header=("authorization", "Bearer {key}"),
    config="code_commit_testing.scripted_provider:ScriptedConfig",
    factory="unused:the_fixture_makes_it",
)
ENDINGS = {"stop": Finish.STOP, "length": Finish.LENGTH, "tools": Finish.TOOL_CALLS}


class LinesWire:
    def encode(self, request) -> HttpCall:
        turns = [_turn(part) for message in request.messages for part in message.parts]
        body = {"system": request.system, "turns": [turn for turn in turns if turn], "limit": request.max_tokens}
        if request.tool_choice != "none":
            body["tools"] = [[tool.name, tool.description, dict(tool.parameters)] for tool in request.tools]
        return HttpCall("/chat", body)

    def decode(self, status, headers, body) -> Completion:
        lines = [reply_object(line, status, headers) for line in body.splitlines() if line.strip()]
        if status >= 400:
            raise reply_error(status, words=str(lines[0].get("error")) if lines else "no reply")
        if not lines or not lines[-1].keys() & {"say", "calls", "done"}:
            raise ProviderError("the reply has no last line", kind="invalid_response")
        parts = [Text(text) for line in lines if (text := reply_member(line, "say", str))]
        for index, call in enumerate(call for line in lines for call in reply_objects(line, "calls")):
            arguments, raw = read_arguments(call.get("arguments"))
            name = reply_member(call, "name", str) or ""
            parts.append(ToolCall(generated_id(body, index), name, arguments, raw))
        word = reply_member(lines[-1], "done", str) or ""
        usage = Usage(token_count(lines[-1], "in"), token_count(lines[-1], "out"))
        finish = finish_of(word, ENDINGS, parts)
        return Completion(Message("assistant", tuple(parts)), finish, word, usage, "lines-1", {"lines": lines})


def _turn(part) -> dict | None:
    match part:
        case Text():
            return {"say": part.text}
        case ToolCall():
            return {"call": part.id, "name": part.name, "arguments": part.arguments_object}
        case ToolResult():
            return {"result": part.call_id, "failed": part.is_error, "say": part.text}
    return None


class TestLines(ProviderConformance):
    definition = LINES
    settings: ClassVar = {"model": "lines-1"}
    unspoken: ClassVar = [Finish.PAUSED, Finish.REFUSED, Finish.FILTERED]
    tool_choices: ClassVar = ["auto", "none"]
    thinks = False
    reports_cache = False

    @pytest.fixture
    def wire(self):
        return LinesWire()

    def answer(self, reply: Reply):
        if reply.status >= 400:
            return reply.status, reply.headers, json.dumps({"error": reply.text}).encode()
        finish = reply.finish
        if finish is None:
            finish = Finish.TOOL_CALLS if reply.tool_calls else Finish.STOP
        calls = [{"name": call.name, "arguments": call.raw or json.dumps(call.arguments)} for call in reply.tool_calls]
        words = {known: word for word, known in ENDINGS.items()} | {Finish.UNKNOWN: "a new word"}
        last: dict[str, object] = {"calls": calls, "done": words[finish] if isinstance(finish, Finish) else finish}
        if reply.usage is not None:
            last |= {"in": reply.usage.input, "out": reply.usage.output}
        lines = [*({"say": line} for line in reply.text.splitlines(keepends=True)), last]
        return reply.status, reply.headers, b"\n".join(json.dumps(line).encode() for line in lines)
