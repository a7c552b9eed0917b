"""Specifics of OpenAI's protocol and its servers.

The conformance tests cover what all providers share.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from code_commit.plugin_api import (
    Finish,
    Message,
    Opaque,
    ProviderError,
    Request,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
)
from code_commit_openai.config import OpenAIConfig
from code_commit_openai.wire import OpenAIWire

CASES = Path(__file__).parent / "cases"
HELLO = Message("user", (Text("hello"),))


def wire(**settings) -> OpenAIWire:
    return OpenAIWire(OpenAIConfig(**({"model": "gpt-5"} | settings)))


def decode(answer: object, status: int = 200):
    return wire().decode(status, {}, json.dumps(answer).encode())


def recorded(name: str, status: int = 200):
    return wire().decode(status, {}, (CASES / f"{name}.json").read_bytes())


def choice(message: dict, finish: str | None = "stop", **fields) -> dict:
    return {
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant"} | message,
                "finish_reason": finish,
                **fields,
            }
        ]
    }


def call(**fields) -> dict:
    return {"id": "c1", "type": "function", "function": {"name": "now", "arguments": "{}"}} | fields


# --- recordings


@pytest.mark.parametrize(
    ("name", "finish", "text", "usage"),
    [
        (
            "rec__otel_test_chat_completion_with_content",
            Finish.STOP,
            "This is a test.",
            Usage(12, 5, 0, None, 0),
        ),
        (
            "rec__otel_test_chat_completion_multiple_choices",
            Finish.STOP,
            "This is a test. How can I assist",
            Usage(12, 24, 0, None, 0),
        ),
        (
            "rec__test_reasoning_model_with_temperature",
            Finish.STOP,
            "The capital of",
            Usage(13, 238, 0, None, 192),
        ),
        ("shape__200_refusal", Finish.REFUSED, "I can't help with that.", Usage(10, 5, 0, None, 0)),
        (
            "shape__200_finish_length_truncated",
            Finish.LENGTH,
            "^^^src/a.py",
            Usage(10, 5, 0, None, 0),
        ),
        ("shape__200_reasoning_ate_budget_empty", Finish.LENGTH, "", Usage(10, 5, 0, None, 5)),
    ],
)
def test_recorded_completions(name, finish, text, usage):
    completion = recorded(name)
    assert completion.finish is finish
    assert completion.text.startswith(text)
    assert bool(completion.text) == bool(text)
    assert completion.text.count("This is a test") <= 1, "only the first choice"
    assert completion.usage == usage


@pytest.mark.parametrize(
    ("name", "status", "kind"),
    [
        ("rec__otel_test_chat_completion_404", 404, "rejected"),
        ("rec__test_invalid_response", 200, "invalid_response"),
        ("rec__test_openrouter_errors_raised", 200, "rate"),
        ("shape__401_invalid_api_key", 401, "auth"),
        ("shape__429_insufficient_quota", 429, "quota"),
    ],
)
def test_recorded_errors(name, status, kind):
    with pytest.raises(ProviderError) as caught:
        recorded(name, status)
    assert caught.value.kind == kind
    assert "sk-inval" not in f"{caught.value} {caught.value.body}"


# --- requests


def test_a_request_in_full():
    tool = ToolSpec("now", "The time.", {"type": "object", "properties": {}})
    sent = wire(temperature=1, reasoning_effort="high", max_tokens=100).encode(
        Request((HELLO,), system="Be brief.", tools=(tool,), tool_choice="required", max_tokens=50)
    )
    assert sent.path == "/chat/completions"
    assert sent.headers == {}
    assert sent.body == {
        "model": "gpt-5",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "hello"},
        ],
        "max_completion_tokens": 50,
        "temperature": 1,
        "reasoning_effort": "high",
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "now",
                    "description": "The time.",
                    "parameters": {"type": "object", "properties": {}},
                },
            }
        ],
        "tool_choice": "required",
    }


def test_a_plain_request_sets_nothing():
    assert wire().encode(Request((HELLO,))).body == {
        "model": "gpt-5",
        "messages": [{"role": "user", "content": "hello"}],
    }


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"model": "gpt-5"}, "max_completion_tokens"),
        ({"model": "o3"}, "max_completion_tokens"),
        ({"model": "ft:gpt-4o:mine"}, "max_completion_tokens"),
        ({"model": "gpt-oss:20b"}, "max_tokens"),
        ({"model": "qwen3-coder"}, "max_tokens"),
        ({"model": "openai/gpt-5"}, "max_tokens"),
        (
            {"model": "my-deployment", "max_tokens_field": "max_completion_tokens"},
            "max_completion_tokens",
        ),
    ],
)
def test_the_limit_has_the_field_name_of_the_server(settings, name):
    body = wire(**settings, max_tokens=9).encode(Request((HELLO,))).body
    assert {field: value for field, value in body.items() if field.startswith("max")} == {name: 9}


def test_calls_and_results():
    calls = Message(
        "assistant",
        (ToolCall("c1", "read", {"a": 1}, raw='{"a":1}'), ToolCall("c2", "read", None, raw="{")),
    )
    results = Message(
        "user",
        (
            Text("Well?"),
            ToolResult("c1", "read", "one"),
            ToolResult("c2", "read", "two", is_error=True),
        ),
    )
    _, assistant, *messages = wire().encode(Request((HELLO, calls, results))).body["messages"]
    assert assistant["content"] is None
    assert [sent["function"]["arguments"] for sent in assistant["tool_calls"]] == [
        '{"a":1}',
        '{"malformed": "{"}',
    ]
    assert messages == [
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "tool", "tool_call_id": "c2", "content": "Error: two"},
        {"role": "user", "content": "Well?"},
    ]


def test_thinking_goes_back_only_with_calls():
    thinking = Opaque("openai", {"reasoning_content": "hm"})
    with_call = Message("assistant", (thinking, ToolCall("c1", "now", {})))
    without = Message("assistant", (thinking, Text("hi")))
    sent = wire().encode(Request((HELLO, with_call, without))).body["messages"]
    assert sent[1]["reasoning_content"] == "hm"
    assert sent[2] == {"role": "assistant", "content": "hi"}


def test_extra_fields_of_a_call_go_back():
    extra = {"google": {"thought_signature": "c2ln"}}
    message = decode(choice({"tool_calls": [call(extra_content=extra, index=0)]})).message
    sent = wire().encode(Request((HELLO, message))).body["messages"][1]["tool_calls"][0]
    assert sent == call(extra_content=extra)


def test_an_empty_message_is_dropped():
    assert (
        len(wire().encode(Request((HELLO, Message("assistant", ()), HELLO))).body["messages"]) == 2
    )


# --- answers


@pytest.mark.parametrize(
    ("message", "word", "finish"),
    [
        ({"content": "x"}, "stop", Finish.STOP),
        ({"content": "x"}, "eos", Finish.STOP),
        ({"content": "x"}, "length", Finish.LENGTH),
        ({"content": "x"}, "model_length", Finish.LENGTH),
        ({"content": "x"}, "content_filter", Finish.FILTERED),
        ({"content": None, "refusal": "no"}, "content_filter", Finish.FILTERED),
        ({"content": None, "refusal": "no"}, "stop", Finish.REFUSED),
        ({"content": "x"}, "tool_calls", Finish.CUT),
        ({"content": "x"}, "function_call", Finish.CUT),
        ({"content": "x"}, "insufficient_system_resource", Finish.CUT),
        ({"content": "x"}, "abort", Finish.CUT),
        ({"content": "x"}, "max_tokens", Finish.LENGTH),
        ({"content": "x"}, None, Finish.STOP),
        ({"content": "x"}, "", Finish.STOP),
        ({"tool_calls": [call()]}, None, Finish.TOOL_CALLS),
        ({"tool_calls": [call()]}, "stop", Finish.TOOL_CALLS),
        ({"tool_calls": [call()]}, "tool_calls", Finish.TOOL_CALLS),
        ({"tool_calls": [call()]}, "length", Finish.LENGTH),
    ],
)
def test_finish_reasons(message, word, finish):
    completion = decode(choice(message, word))
    assert completion.finish is finish
    assert completion.finish_detail == (word or "")


def test_content_may_be_a_list_of_parts():
    parts = [
        {"type": "thinking", "thinking": []},
        {"type": "text", "text": "hel"},
        {"type": "text", "text": "lo"},
    ]
    assert decode(choice({"content": parts})).text == "hello"


def test_a_call_may_lack_id_and_arguments():
    bare = {"function": {"name": "now", "arguments": ""}}
    first, second = decode(choice({"tool_calls": [bare, bare]})).tool_calls
    assert (first.name, first.arguments) == ("now", {})
    assert first.id
    assert first.id != second.id


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_thinking_of_a_server_is_not_text(name):
    completion = decode(choice({"content": "hi", name: "hm"}))
    assert completion.text == "hi"
    assert completion.message.parts[0] == Opaque("openai", {name: "hm"})


# --- errors


def error(message: str = "", **fields) -> dict:
    return {"error": {"message": message} | fields}


@pytest.mark.parametrize(
    ("status", "answer", "kind"),
    [
        (429, error("slow down", type="tokens", code="rate_limit_exceeded"), "rate"),
        (429, error("", type="insufficient_quota", code="project_spend_limit_exceeded"), "quota"),
        (429, error("", code="billing_not_active"), "quota"),
        (
            429,
            error("You exceeded your current quota, please check your plan and billing details."),
            "quota",
        ),
        (403, error("no", code="content_filter"), "auth"),
        (402, error("Insufficient Balance"), "quota"),
        (401, error("who are you", type="server_error"), "auth"),
        (403, error("who are you", type="server_error"), "auth"),
        (429, error("slow down", type="server_error"), "rate"),
        (400, error("", type="server_error"), "server"),
        (400, error("context is too long", code="context_length_exceeded"), "rejected"),
        (400, {"error": "Incorrect API key provided: xa***12"}, "auth"),
        (400, [error("API key not valid", code=400)], "rejected"),
        (404, {"detail": "Not Found"}, "rejected"),
        (500, {"error": "model runner has stopped"}, "server"),
        (422, {"detail": [{"loc": ["body"], "msg": "field required"}]}, "rejected"),
        (200, error("upstream", code=502), "server"),
        (200, error("who are you", code=401), "auth"),
        (200, error("overloaded", type="overloaded_error"), "server"),
        (200, error("odd"), "server"),
        (
            200,
            error("busy", type="service_unavailable_error", code="server_is_overloaded"),
            "server",
        ),
        (200, error("busy", code="1305"), "server"),
        (200, error("busy", type="engine_overloaded_error"), "server"),
        (200, error("slow down", code="429"), "rate"),
        (200, error("hm", type="api_error"), "server"),
        (
            200,
            {"object": "error", "message": "busy", "type": "InternalServerError", "code": 500},
            "server",
        ),
        (
            200,
            {"object": "error", "message": "no", "type": "BadRequestError", "code": 400},
            "rejected",
        ),
        (200, error("no", type="invalid_request_error"), "rejected"),
        (200, error("no", code="model_not_found"), "rejected"),
        (200, error("no", code="1301"), "rejected"),
        (200, error("no", code="1113"), "quota"),
        (200, error("no", type="insufficient_quota"), "quota"),
        (200, error("no", type="authentication_error"), "auth"),
        (200, choice({"content": ""}, "error") | {"error": None}, None),
        (
            200,
            choice({"content": "so f"}, "error", error={"code": 502, "message": "broke off"}),
            "server",
        ),
        (200, {"choices": []}, "invalid_response"),
        (200, {"choices": [{"finish_reason": "stop"}]}, "invalid_response"),
    ],
)
def test_error_kinds(status, answer, kind):
    if kind is None:
        assert decode(answer, status).finish is Finish.CUT
        return
    with pytest.raises(ProviderError) as caught:
        decode(answer, status)
    assert caught.value.kind == kind
    assert "xa***12" not in f"{caught.value} {caught.value.body}"


@pytest.mark.parametrize(("status", "kind"), [(401, "auth"), (503, "server"), (200, "server")])
def test_an_error_in_place_of_the_models(status, kind):
    with pytest.raises(ProviderError) as caught:
        wire().decode_models(status, {}, json.dumps({"error": {"message": "no"}}).encode())
    assert caught.value.kind == kind


@pytest.mark.parametrize(
    "fields",
    [
        {"code": "content_filter", "message": "The response was filtered"},
        {"code": None, "innererror": {"code": "ResponsibleAIPolicyViolation"}},
        {"code": "content_policy_violation"},
        {"code": "invalid_prompt", "message": "flagged as potentially violating our usage policy"},
    ],
)
def test_a_filtered_prompt_is_not_a_rejected_one(fields):
    completion = decode({"error": fields}, 400)
    assert completion.finish is Finish.FILTERED
    assert completion.finish_detail
    assert completion.usage == Usage()


def test_an_invalid_prompt_is_rejected():
    with pytest.raises(ProviderError) as caught:
        decode({"error": {"code": "invalid_prompt", "message": "no messages"}}, 400)
    assert caught.value.kind == "rejected"


def test_a_rejected_key_has_its_reason():
    with pytest.raises(ProviderError, match=r"\(HTTP 401\): invalid_api_key$"):
        decode({"error": {"code": "invalid_api_key", "message": "who are you"}}, 401)


def test_only_typed_parts_of_text_are_text():
    content = [{"type": "thinking", "text": "hm"}, {"type": "text", "text": "hi"}]
    assert decode(choice({"content": content})).text == "hi"
