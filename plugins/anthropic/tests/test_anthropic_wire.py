"""Specifics of Anthropic's protocol. The conformance tests cover what all providers share."""

from __future__ import annotations

import json

import pytest

from code_commit.plugin_api import (
    Finish,
    Message,
    ProviderError,
    Request,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
)
from code_commit_anthropic.config import AnthropicConfig
from code_commit_anthropic.wire import AnthropicWire

HELLO = Message("user", (Text("hello"),))
TOOL = ToolSpec("now", "The time.", {"type": "object", "properties": {}})


def wire(**settings) -> AnthropicWire:
    return AnthropicWire(AnthropicConfig(**({"model": "claude-sonnet-4-5"} | settings)))


def decode(answer: object, status: int = 200):
    return wire().decode(status, {}, json.dumps(answer).encode())


def message(*content: dict, stop: str | None = "end_turn", **fields) -> dict:
    return {
        "type": "message",
        "role": "assistant",
        "content": list(content),
        "stop_reason": stop,
    } | fields


def text(words: str) -> dict:
    return {"type": "text", "text": words}


# --- requests


def test_a_request_in_full():
    sent = wire(temperature=0.5, effort="high").encode(
        Request((HELLO,), system="Be brief.", tools=(TOOL,), tool_choice="none", max_tokens=50)
    )
    assert sent.path == "/v1/messages"
    assert sent.headers == {"anthropic-version": "2023-06-01"}
    assert sent.body == {
        "model": "claude-sonnet-4-5",
        "max_tokens": 50,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hello"}]}],
        "system": "Be brief.",
        "tools": [
            {
                "name": "now",
                "description": "The time.",
                "input_schema": {"type": "object", "properties": {}},
            }
        ],
        "tool_choice": {"type": "none"},
        "temperature": 0.5,
        "output_config": {"effort": "high"},
    }


@pytest.mark.parametrize(
    ("model", "limit"),
    [
        ("claude-sonnet-4-5", 32000),
        ("claude-opus-9", 32000),
        ("claude-3-7-sonnet-latest", 32000),
        ("claude-3-5-haiku-latest", 8192),
        ("claude-3-haiku-20240307", 4096),
    ],
)
def test_every_request_has_max_tokens(model, limit):
    assert wire(model=model).encode(Request((HELLO,))).body["max_tokens"] == limit
    assert wire(model=model, max_tokens=7).encode(Request((HELLO,))).body["max_tokens"] == 7


def test_results_come_before_text():
    calls = Message(
        "assistant",
        (ToolCall("functions.read:0", "read", None, raw="{"), ToolCall("c2", "read", {"a": 1})),
    )
    results = Message(
        "user",
        (
            Text("Well?"),
            ToolResult("functions.read:0", "read", "no JSON", is_error=True),
            ToolResult("c2", "read", ""),
        ),
    )
    _, assistant, user = wire().encode(Request((HELLO, calls, results))).body["messages"]
    assert assistant["content"] == [
        {"type": "tool_use", "id": "functions_read_0", "name": "read", "input": {"malformed": "{"}},
        {"type": "tool_use", "id": "c2", "name": "read", "input": {"a": 1}},
    ]
    assert user["content"] == [
        {
            "type": "tool_result",
            "tool_use_id": "functions_read_0",
            "content": "no JSON",
            "is_error": True,
        },
        {"type": "tool_result", "tool_use_id": "c2", "content": ""},
        {"type": "text", "text": "Well?"},
    ]


def test_at_most_four_prefixes_are_marked_for_the_cache():
    messages = tuple(
        Message("user", (Text(f"part {number}", cache_here=number != 2),)) for number in range(7)
    )
    sent = wire().encode(Request(messages)).body["messages"]
    marked = [part["content"][0]["text"] for part in sent if "cache_control" in part["content"][0]]
    assert marked == ["part 3", "part 4", "part 5", "part 6"]


def test_blank_text_is_dropped():
    blank = Message("assistant", (Text(" \n", cache_here=True),))
    assert len(wire().encode(Request((HELLO, blank, HELLO))).body["messages"]) == 2


def test_thinking_of_all_kinds_goes_back_in_order():
    blocks = [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "b3BhcXVl"},
        text("Let me look."),
        {"type": "tool_use", "id": "c1", "name": "now", "input": {}},
        {"type": "some_later_block", "x": [1]},
    ]
    completion = decode(message(*blocks, stop="tool_use"))
    assert completion.text == "Let me look."
    assert completion.finish is Finish.TOOL_CALLS
    assert (
        wire().encode(Request((HELLO, completion.message))).body["messages"][1]["content"] == blocks
    )


@pytest.mark.parametrize(
    ("settings", "request_fields", "thinking"),
    [
        ({}, {}, None),
        ({"thinking_budget_tokens": 16000}, {}, {"type": "enabled", "budget_tokens": 16000}),
        (
            {"thinking_budget_tokens": 16000},
            {"max_tokens": 5000},
            {"type": "enabled", "budget_tokens": 4999},
        ),
        ({"thinking_budget_tokens": 16000}, {"max_tokens": 1024}, None),
        ({"thinking_budget_tokens": 16000}, {"tools": (TOOL,), "tool_choice": "required"}, None),
        ({"thinking": "adaptive"}, {"tools": (TOOL,)}, {"type": "adaptive"}),
        ({"thinking": "adaptive"}, {"tools": (TOOL,), "tool_choice": "required"}, None),
        (
            {"thinking": "disabled"},
            {"tools": (TOOL,), "tool_choice": "required"},
            {"type": "disabled"},
        ),
    ],
)
def test_thinking_is_requested_if_possible(settings, request_fields, thinking):
    assert (
        wire(**settings).encode(Request((HELLO,), **request_fields)).body.get("thinking")
        == thinking
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"thinking_budget_tokens": 1000}, "1024"),
        ({"thinking_budget_tokens": 2000, "max_tokens": 2000}, "lower than max_tokens"),
        ({"thinking_budget_tokens": 2000, "thinking": "adaptive"}, "cannot be used together"),
        ({"thinking_budget_tokens": 2000, "temperature": 0.5}, "temperature"),
    ],
)
def test_settings_that_conflict_are_rejected(settings, message):
    with pytest.raises(ValueError, match=message):
        AnthropicConfig(model="claude-sonnet-4-5", **settings)


# --- answers


@pytest.mark.parametrize(
    ("word", "finish"),
    [
        ("end_turn", Finish.STOP),
        ("stop_sequence", Finish.STOP),
        ("max_tokens", Finish.LENGTH),
        ("model_context_window_exceeded", Finish.LENGTH),
        ("pause_turn", Finish.PAUSED),
        ("refusal", Finish.REFUSED),
        ("tool_use", Finish.CUT),
        ("compaction", Finish.CUT),
        (None, Finish.STOP),
    ],
)
def test_stop_reasons(word, finish):
    completion = decode(message(text("so far"), stop=word))
    assert completion.finish is finish
    assert completion.finish_detail == (word or "")


def test_a_paused_turn_goes_back_unchanged():
    blocks = [
        text("Searching."),
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"q": "x"}},
    ]
    completion = decode(message(*blocks, stop="pause_turn"))
    assert (
        wire().encode(Request((HELLO, completion.message))).body["messages"][1]["content"] == blocks
    )


def test_tokens_are_totals():
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 60,
        "cache_creation_input_tokens": 30,
        "output_tokens": 25,
        "output_tokens_details": {"thinking_tokens": 20},
    }
    assert decode(message(text("x"), usage=usage)).usage == Usage(100, 25, 60, 30, 20)


def test_an_empty_turn_is_a_completion():
    completion = decode(message())
    assert (completion.finish, completion.message.parts) == (Finish.STOP, ())


# --- errors


@pytest.mark.parametrize(
    ("status", "kind_of_error", "words", "kind"),
    [
        (401, "authentication_error", "invalid x-api-key", "auth"),
        (403, "permission_error", "", "auth"),
        (402, "billing_error", "", "quota"),
        (
            400,
            "invalid_request_error",
            "Your credit balance is too low to access the Anthropic API.",
            "quota",
        ),
        (
            400,
            "invalid_request_error",
            "You have reached your specified API usage limits.",
            "quota",
        ),
        (400, "invalid_request_error", "max_tokens: too large", "rejected"),
        (404, "not_found_error", "model: claude-x", "rejected"),
        (413, "request_too_large", "", "rejected"),
        (429, "rate_limit_error", "", "rate"),
        (500, "api_error", "", "server"),
        (504, "timeout_error", "", "server"),
        (529, "overloaded_error", "", "server"),
        (200, "overloaded_error", "", "server"),
        (200, "api_error", "", "server"),
        # Gateways send types that are too general: the status decides, and a rejected key is not
        # retried.
        (401, "api_error", "invalid key", "auth"),
        (403, "api_error", "", "auth"),
        (404, "api_error", "", "rejected"),
        (429, "api_error", "", "rate"),
        (400, "rate_limit_error", "", "rate"),
        (200, "invalid_request_error", "", "rejected"),
    ],
)
def test_error_kinds(status, kind_of_error, words, kind):
    with pytest.raises(ProviderError) as caught:
        decode({"type": "error", "error": {"type": kind_of_error, "message": words}}, status)
    assert caught.value.kind == kind


def test_filtered_output_is_not_a_rejected_request():
    words = "Output blocked by content filtering policy"
    completion = decode(
        {"type": "error", "error": {"type": "invalid_request_error", "message": words}}, 400
    )
    assert (completion.finish, completion.text, completion.usage) == (Finish.FILTERED, "", Usage())


def test_an_answer_without_content_is_invalid():
    with pytest.raises(ProviderError) as caught:
        decode({"type": "message", "stop_reason": "end_turn"})
    assert caught.value.kind == "invalid_response"
