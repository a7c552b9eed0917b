"""The conformance tests on a service that offers no tools, and sends every reply as server-sent
events.
"""

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
    Text,
    Usage,
    finish_of,
    reply_error,
    reply_member,
    reply_object,
    token_count,
)
from code_commit_testing import Reply
from code_commit_testing.conformance import ProviderConformance

ENDINGS = {"eos": Finish.STOP, "length": Finish.LENGTH}


class TextWire:
    def encode(self, request) -> HttpCall:
        texts = [
            f"{message.role}: {part.text}"
            for message in request.messages
            for part in message.parts
            if isinstance(part, Text)
        ]
        return HttpCall(
            "/generate", {"inputs": [request.system, *texts], "limit": request.max_tokens}
        )

    def decode(self, status, headers, body) -> Completion:
        if status >= 400:
            raise reply_error(status, words=str(reply_object(body, status, headers).get("error")))
        data_lines = [
            line.removeprefix(b"data:") for line in body.splitlines() if line.startswith(b"data:{")
        ]
        events = [reply_object(line) for line in data_lines or [b""]]
        text = "".join(reply_member(event, "token", str) or "" for event in events)
        parts = [Text(text)] if text else []
        word = reply_member(events[-1], "end", str) or ""
        usage = Usage(token_count(events[-1], "in"), token_count(events[-1], "out"))
        finish = finish_of(word, parts, ENDINGS)
        raw = {"events": events}
        return Completion(Message("assistant", parts), finish, word or "none", usage, "text-1", raw)


class TestText(ProviderConformance):
    definition = ProviderDefinition(
        name="text",
        models={"text-1": ()},
        base_url="https://text.example.org",
        base_url_variable=None,
        key_variable="TEXT_API_KEY",
        key_header=("authorization", "Bearer {key}"),
        config="code_commit_testing.scripted_provider:ScriptedConfig",
        factory="unused:the_fixture_makes_it",
    )
    settings: ClassVar = {"model": "text-1"}
    unspoken = frozenset({Finish.PAUSED, Finish.REFUSED, Finish.FILTERED})
    tools = False
    thinks = False
    reports_cache = False

    @pytest.fixture
    def wire(self):
        return TextWire()

    def answer(self, reply: Reply):
        if reply.status >= 400:
            return reply.status, reply.headers, json.dumps({"error": reply.text}).encode()
        finish = Finish.STOP if reply.finish is None else reply.finish
        words = {finish: word for word, finish in ENDINGS.items()} | {Finish.CUT: "a new word"}
        last: dict[str, object] = {"end": words[finish] if isinstance(finish, Finish) else finish}
        if reply.usage is not None:
            last |= {"in": reply.usage.input, "out": reply.usage.output}
        events = [*({"token": token} for token in reply.text.splitlines(keepends=True)), last]
        return (
            200,
            reply.headers,
            b"".join(b"data:%b\n\n" % json.dumps(event).encode() for event in events),
        )


def test_a_tool_that_is_not_sent_is_found_where_the_service_offers_tools():
    class Offers(TestText):
        tools = True

    test = Offers().test_request_contains_system_tools_and_limit
    with pytest.raises(AssertionError):
        test(TextWire())


def test_a_crash_on_an_event_of_a_whole_reply_is_found():
    class Crashes(TextWire):
        def decode(self, status, headers, body):
            [
                json.loads(line[5:]).get("token", "") + ""
                for line in body.splitlines()
                if line.startswith(b"data:")
            ]
            return super().decode(status, headers, body)

    with pytest.raises((TypeError, AttributeError)):
        TestText().test_a_value_of_the_wrong_type_does_not_crash(Crashes())


def test_text_that_is_no_string_of_json_has_no_half_characters():
    class Hidden(TestText):
        def answer(self, reply):
            status, headers, body = super().answer(reply)
            return status, headers, body.replace(b'"M"', b'"TQ=="')

    with pytest.raises(pytest.skip.Exception):
        Hidden().test_half_of_a_character_is_kept(TextWire())
