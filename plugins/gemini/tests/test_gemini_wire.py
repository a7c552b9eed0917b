"""Specifics of Gemini's protocol. The conformance tests cover what all providers share."""

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
from code_commit_gemini.config import GeminiConfig
from code_commit_gemini.wire import GeminiWire

CASES = Path(__file__).parent / "cases"
HELLO = Message("user", (Text("hello"),))
BILLING = "You exceeded your current quota, please check your plan and billing details."


def wire(**settings) -> GeminiWire:
    return GeminiWire(GeminiConfig(**({"model": "gemini-2.5-pro"} | settings)))


def decode(answer: object, status: int = 200):
    return wire().decode(status, {}, json.dumps(answer).encode())


def recorded(name: str, status: int = 200):
    return wire().decode(status, {}, (CASES / f"{name}.json").read_bytes())


def candidate(*parts: dict, finish: str | None = "STOP") -> dict:
    return {
        "candidates": [{"content": {"role": "model", "parts": list(parts)}, "finishReason": finish}]
    }


# --- recordings


@pytest.mark.parametrize(
    ("name", "finish", "detail", "text", "usage"),
    [
        (
            "googleai__unary-success-basic-reply-long",
            Finish.STOP,
            "STOP",
            "Making professional",
            (9, 1612, None),
        ),
        (
            "googleai__unary-success-thinking-reply-thought-summary",
            Finish.STOP,
            "STOP",
            "Mountain View",
            (14, 26, 24),
        ),
        (
            "googleai__unary-failure-finish-reason-safety",
            Finish.FILTERED,
            "SAFETY",
            "Safety error",
            (7, 20, None),
        ),
        (
            "googleai__unary-failure-only-prompt-feedback",
            Finish.FILTERED,
            "no candidates",
            "",
            (None, None, None),
        ),
        (
            "vertexai__unary-failure-prompt-blocked-safety",
            Finish.FILTERED,
            "SAFETY",
            "",
            (None, None, None),
        ),
        (
            "vertexai__unary-success-empty-part",
            Finish.STOP,
            "STOP",
            "I can certainly help",
            (33, 299, None),
        ),
        (
            "rec__test_google_model_max_tokens",
            Finish.LENGTH,
            "MAX_TOKENS",
            "The capital of France is",
            (15, 5, None),
        ),
    ],
)
def test_recorded_completions(name, finish, detail, text, usage):
    completion = recorded(name)
    assert (completion.finish, completion.finish_detail) == (finish, detail)
    assert completion.text.startswith(text)
    assert bool(completion.text) == bool(text)
    assert (completion.usage.input, completion.usage.output, completion.usage.reasoning) == usage


@pytest.mark.parametrize(
    ("name", "status", "kind"),
    [
        ("googleai__unary-failure-api-key", 400, "auth"),
        ("googleai__unary-failure-unknown-model", 404, "rejected"),
        ("vertexai__unary-failure-quota-exceeded", 429, "quota"),
    ],
)
def test_recorded_errors(name, status, kind):
    with pytest.raises(ProviderError) as caught:
        recorded(name, status)
    assert caught.value.kind == kind
    assert "key1234" not in f"{caught.value} {caught.value.body}"


def test_a_recorded_call_goes_back_with_its_signature():
    completion = recorded(
        "googleai__unary-success-thinking-function-call-thought-summary-signature"
    )
    assert completion.finish is Finish.TOOL_CALLS
    thought, call = completion.message.parts
    assert isinstance(thought, Opaque)
    assert (call.name, call.arguments) == ("now", {})
    result = Message("user", (ToolResult(call.id, call.name, "12:00"),))
    contents = wire().encode(Request((HELLO, completion.message, result))).body["contents"]
    assert contents[1]["parts"] == completion.raw["candidates"][0]["content"]["parts"]
    assert contents[2]["parts"] == [
        {"functionResponse": {"name": "now", "response": {"output": "12:00"}}}
    ]


# --- requests


def test_a_request_in_full():
    tool = ToolSpec("now", "The time.", {"type": "object", "properties": {}})
    call = wire(max_tokens=100, temperature=0.5, thinking_budget_tokens=-1).encode(
        Request((HELLO,), system="Be brief.", tools=(tool,), tool_choice="required", max_tokens=50)
    )
    assert call.path == "/v1beta/models/gemini-2.5-pro:generateContent"
    assert call.headers == {}
    assert call.body == {
        "contents": [{"role": "user", "parts": [{"text": "hello"}]}],
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "now",
                        "description": "The time.",
                        "parametersJsonSchema": {"type": "object", "properties": {}},
                    }
                ]
            }
        ],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
        "generationConfig": {
            "maxOutputTokens": 50,
            "temperature": 0.5,
            "thinkingConfig": {"thinkingBudget": -1},
        },
    }


def test_a_plain_request_sets_nothing():
    assert wire().encode(Request((HELLO,))).body == {
        "contents": [{"role": "user", "parts": [{"text": "hello"}]}]
    }


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("models/gemini-x", "/v1beta/models/gemini-x:generateContent"),
        ("tunedModels/mine", "/v1beta/tunedModels/mine:generateContent"),
        ("odd?model#1", "/v1beta/models/odd%3Fmodel%231:generateContent"),
    ],
)
def test_the_path_contains_the_model(model, path):
    assert wire(model=model).encode(Request((HELLO,))).path == path


def test_results_are_in_one_turn_in_the_order_of_their_calls():
    calls = Message(
        "assistant", (ToolCall("c1", "read", {"path": "a"}), ToolCall("c2", "read", {"path": "b"}))
    )
    late = Message(
        "user",
        (
            Text("And?"),
            ToolResult("c2", "read", "of b", is_error=True),
            ToolResult("c1", "read", "of a"),
        ),
    )
    contents = (
        wire()
        .encode(Request((HELLO, calls, late, Message("user", (Text("Well?"),)))))
        .body["contents"]
    )
    assert [content["role"] for content in contents] == ["user", "model", "user"]
    assert contents[2]["parts"] == [
        {"functionResponse": {"name": "read", "response": {"output": "of a"}}},
        {"functionResponse": {"name": "read", "response": {"error": "of b"}}},
        {"text": "And?"},
        {"text": "Well?"},
    ]


def test_an_id_of_the_service_goes_back():
    call = decode(candidate({"functionCall": {"id": "given-7", "name": "now", "args": {}}})).message
    result = Message("user", (ToolResult("given-7", "now", "12:00"),))
    contents = wire().encode(Request((HELLO, call, result))).body["contents"]
    assert contents[1]["parts"][0]["functionCall"]["id"] == "given-7"
    assert contents[2]["parts"][0]["functionResponse"]["id"] == "given-7"


@pytest.mark.parametrize(
    ("model", "signature"), [("gemini-2.5-pro", None), ("gemini-3.1-pro-preview", "skip")]
)
def test_calls_of_another_provider_get_a_required_signature(model, signature):
    calls = Message("assistant", (ToolCall("c1", "read", {}), ToolCall("c2", "read", {})))
    first, second = wire(model=model).encode(Request((HELLO, calls))).body["contents"][1]["parts"]
    assert first.get("thoughtSignature", "")[:4] == (signature or "")
    assert "thoughtSignature" not in second


def test_a_signature_on_text_goes_back_after_it():
    completion = decode(candidate({"text": "hi", "thoughtSignature": "c2ln"}))
    assert completion.text == "hi"
    parts = wire().encode(Request((HELLO, completion.message))).body["contents"][1]["parts"]
    assert parts == [{"text": "hi"}, {"text": "", "thoughtSignature": "c2ln"}]


def test_an_empty_message_is_dropped():
    empty = Message("assistant", (Text(""),))
    contents = (
        wire().encode(Request((HELLO, empty, Message("user", (Text("again"),))))).body["contents"]
    )
    assert contents == [{"role": "user", "parts": [{"text": "hello"}, {"text": "again"}]}]


def test_levels_and_budgets_cannot_be_used_together():
    assert wire(thinking_level="low").encode(Request((HELLO,))).body["generationConfig"] == {
        "thinkingConfig": {"thinkingLevel": "low"}
    }
    with pytest.raises(ValueError, match="cannot be used together"):
        GeminiConfig(model="gemini-3", thinking_level="low", thinking_budget_tokens=0)


# --- answers


@pytest.mark.parametrize(
    ("word", "finish"),
    [
        *(
            (word, Finish.FILTERED)
            for word in ("RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII")
        ),
        *((word, Finish.FILTERED) for word in ("MODEL_ARMOR", "IMAGE_SAFETY")),
        *(
            (word, Finish.CUT)
            for word in ("OTHER", "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL")
        ),
        *(
            (word, Finish.CUT)
            for word in ("TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE", "MALFORMED_RESPONSE")
        ),
        ("FINISH_REASON_UNSPECIFIED", Finish.CUT),
        (None, Finish.STOP),
    ],
)
def test_finish_reasons(word, finish):
    completion = decode(candidate({"text": "so far"}, finish=word))
    assert completion.finish is finish
    assert completion.finish_detail == (word or "")


@pytest.mark.parametrize(
    "reason", ["SAFETY", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT", "JAILBREAK", "NEW_ONE"]
)
def test_a_blocked_prompt_is_filtered(reason):
    completion = decode(
        {"promptFeedback": {"blockReason": reason}, "usageMetadata": {"promptTokenCount": 7}}
    )
    assert (completion.finish, completion.finish_detail) == (Finish.FILTERED, reason)
    assert completion.usage.input == 7


def test_a_candidate_without_content_has_no_text():
    completion = decode({"candidates": [{"finishReason": "MAX_TOKENS", "index": 0}]})
    assert (completion.finish, completion.text) == (Finish.LENGTH, "")


def test_tokens_are_totals():
    counts = {
        "promptTokenCount": 100,
        "toolUsePromptTokenCount": 20,
        "cachedContentTokenCount": 60,
        "candidatesTokenCount": 5,
        "thoughtsTokenCount": 30,
    }
    assert decode(candidate({"text": "x"}) | {"usageMetadata": counts}).usage == Usage(
        120, 35, 60, None, 30
    )


def test_output_tokens_are_derived_from_the_total():
    counts = {"promptTokenCount": 7, "totalTokenCount": 7}
    assert decode(candidate(finish="SAFETY") | {"usageMetadata": counts}).usage == Usage(7, 0)


def test_generated_ids_differ_and_are_stable_for_an_answer():
    answer = candidate({"functionCall": {"name": "a"}}, {"functionCall": {"name": "a"}})
    first, second = decode(answer).tool_calls
    assert first.id != second.id
    assert first.arguments == {}
    assert (first, second) == decode(answer).tool_calls


# --- errors


def error(status: int, name: str, message: str = "", *details: dict) -> dict:
    return {"error": {"code": status, "message": message, "status": name, "details": list(details)}}


def violation(**fields: str) -> dict:
    return {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [fields]}


@pytest.mark.parametrize(
    ("status", "answer", "kind"),
    [
        (429, error(429, "RESOURCE_EXHAUSTED"), "rate"),
        (
            429,
            error(429, "RESOURCE_EXHAUSTED", "", violation(quotaId="RequestsPerMinutePerProject")),
            "rate",
        ),
        (
            429,
            error(
                429, "RESOURCE_EXHAUSTED", "", violation(quotaId="RequestsPerDayPerProjectPerModel")
            ),
            "quota",
        ),
        (
            429,
            error(429, "RESOURCE_EXHAUSTED", "", violation(quotaId="PerMinute", quotaValue="0")),
            "quota",
        ),
        (429, error(429, "RESOURCE_EXHAUSTED", "Your prepayment credits are depleted."), "quota"),
        (429, error(429, "RESOURCE_EXHAUSTED", BILLING), "quota"),
        (429, error(429, "RESOURCE_EXHAUSTED", BILLING, {"retryDelay": "7s"}), "rate"),
        (
            429,
            error(429, "RESOURCE_EXHAUSTED", BILLING, violation(quotaId="RequestsPerMinute")),
            "rate",
        ),
        (403, error(403, "PERMISSION_DENIED", "", {"reason": "SERVICE_DISABLED"}), "auth"),
        (403, error(403, "PERMISSION_DENIED", "", {"reason": "BILLING_DISABLED"}), "quota"),
        (400, error(400, "INVALID_ARGUMENT", "", {"reason": "API_KEY_INVALID"}), "auth"),
        (400, error(400, "FAILED_PRECONDITION", "User location is not supported."), "rejected"),
        (503, error(503, "UNAVAILABLE", "The model is overloaded."), "server"),
        (500, [error(500, "INTERNAL")], "server"),
        (200, error(503, "UNAVAILABLE"), "server"),
        (200, {"error": {"code": 429}}, "rate"),
        (200, {"error": "boom"}, "server"),
    ],
)
def test_error_kinds(status, answer, kind):
    for read in (wire().decode, wire().decode_models):
        with pytest.raises(ProviderError) as caught:
            read(status, {}, json.dumps(answer).encode())
        assert caught.value.kind == kind


@pytest.mark.parametrize(
    ("delay", "seconds"),
    [("34s", 34.0), ("34.074824224s", 34.074824224), ("soon", None), (5, None)],
)
def test_the_retry_delay_is_read(delay, seconds):
    retry_info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}
    with pytest.raises(ProviderError) as caught:
        decode(error(429, "RESOURCE_EXHAUSTED", "", retry_info), 429)
    assert caught.value.retry_after == seconds
