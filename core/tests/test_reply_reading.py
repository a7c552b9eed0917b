"""What every wire uses to read an answer."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_commit.plugin_api import (
    Finish,
    Opaque,
    ProviderError,
    StreamEvent,
    Text,
    ToolCall,
    event_object,
    finish_of,
    kind_of_error,
    limit_parts,
    read_arguments,
    reply_error,
    reply_member,
    reply_object,
    reply_objects,
    service_error,
    token_count,
    with_ids,
)
from code_commit.plugin_api.finish_words import FINISH_WORDS

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


@pytest.mark.slow
@given(st.dictionaries(st.text(max_size=5), JSON, max_size=3), st.booleans())
def test_an_object_comes_through(value, escaped):
    assert reply_object(json.dumps(value, ensure_ascii=escaped).encode()) == value


@given(st.binary())
def test_any_bytes_give_an_object_or_garbled(body):
    kind = "an object"
    try:
        answer = reply_object(body)
    except ProviderError as error:
        kind, answer = error.kind, {}
    assert kind in {"an object", "invalid_response"}
    assert isinstance(answer, dict)


@pytest.mark.parametrize(
    ("bodies", "says"),
    [
        ((b"", b" \n"), "the reply is empty, not JSON"),
        (
            (b"\n <!DOCTYPE html>", b"<HTML>", b"<head>", b"<body>", b"<?xml ?>"),
            "the reply is a web page, not JSON",
        ),
        ((b'{"a": 1', b"[1"), "the reply is invalid or truncated, not JSON"),
        ((b"data: {}", b"event: x"), "the reply is a stream of events, not JSON"),
        ((b"hello", b"1" * 5000, b"<p>"), "the reply is something else, not JSON"),
        ((b"[]", b"[{}, {}]"), "the reply is a JSON list, not an object"),
        ((b"null", b"[null]"), "the reply is a JSON null, not an object"),
        ((b"7", b"[7]"), "the reply is a JSON number, not an object"),
        ((b"true",), "the reply is a JSON boolean, not an object"),
        ((b'"words"',), "the reply is a JSON string, not an object"),
    ],
)
def test_what_is_no_object_is_named(bodies, says):
    for body in bodies:
        with pytest.raises(ProviderError) as caught:
            reply_object(body)
        assert (str(caught.value), caught.value.kind) == (says, "invalid_response")


def test_a_reply_that_is_no_object_has_the_kind_of_its_status():
    errors = []
    for status in (200, 399, 400, 503):
        with pytest.raises(ProviderError) as caught:
            reply_object(b"-", status, {"content-type": "text/event-stream; charset=utf-8"})
        errors.append((caught.value.kind, str(caught.value)))
    fault = "the reply is a stream of events, not JSON"
    assert errors == [
        *[("invalid_response", fault)] * 2,
        ("rejected", f'the service rejected the request (HTTP 400): "{fault}"'),
        ("server", f'the service failed (HTTP 503): "{fault}"'),
    ]


def test_a_list_of_one_object_is_that_object():
    assert reply_object(b'[{"error": 1}]') == {"error": 1}


def test_lone_surrogates_are_kept():
    body = rb'{"\ud800": ["\udc00x", {"deep": "\ud83d\ude42"}]}'
    assert reply_object(body) == {"\ud800": ["\udc00x", {"deep": "🙂"}]}


def test_members_are_checked():
    answer = {"text": "x", "none": None, "list": [{"a": 1}], "mixed": [{}, 1]}
    assert reply_member(answer, "text", str) == "x"
    assert reply_member(answer, "none", str) is None
    assert reply_member(answer, "absent", str) is None
    assert reply_objects(answer, "list") == [{"a": 1}]
    assert reply_objects(answer, "none") == []
    for read, fault in (
        (lambda: reply_member(answer, "text", dict), "'text' has the unexpected JSON type string"),
        (lambda: reply_objects(answer, "mixed"), "'mixed' contains an item that is not an object"),
    ):
        with pytest.raises(ProviderError, match=f"^in the reply, {fault}$") as caught:
            read()
        assert caught.value.kind == "invalid_response"


@pytest.mark.parametrize(
    ("told", "tokens"), [(7, 7), (0, 0), (-1, None), (True, None), ("7", None), (1.5, None)]
)
def test_a_token_count_is_a_count_or_not_told(told, tokens):
    assert token_count({"n": told}, "n") == tokens
    assert token_count({}, "n") is None


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ('{"a": 1}', {"a": 1}),
        ({"a": 1}, {"a": 1}),
        ("", {}),
        (" ", {}),
        (None, {}),
        ("[1]", None),
        ('{"a": 1', None),
        ("[" * 100_000, None),
        (7, None),
        ([1], None),
        (r'{"a": "\ud83d"}', None),
        ({"a": "\ud83d"}, None),
    ],
)
def test_arguments_are_an_object_or_malformed(written, arguments):
    arguments_read, raw = read_arguments(written)
    assert arguments_read == arguments
    raw.encode()  # it goes back to the service


def test_arguments_that_came_as_an_object_keep_their_letters():
    assert read_arguments({"a": "é"}) == ({"a": "é"}, '{"a": "é"}')
    assert read_arguments('{"a": "é\ud83d"}') == (None, '{"a": "é\\ud83d"}')  # as JSON escapes it


@given(st.text())
def test_malformed_arguments_keep_what_was_written(written):
    arguments, raw = read_arguments(written)
    assert raw == written
    assert arguments is None or isinstance(arguments, dict)


def test_long_words_are_shortened_and_kept_on_one_line():
    rejected = "the service rejected the request (HTTP 400)"
    assert (
        str(reply_error(400, words="line\n  two " + "x" * 491))
        == f'{rejected}: "line two {"x" * 491}"'
    )
    assert (
        str(reply_error(400, words="line\n  two " + "x" * 492))
        == f'{rejected}: "line two {"x" * 490}…"'
    )


@pytest.mark.parametrize(
    ("kind", "meaning", "statuses"),
    [
        ("auth", "the service rejected the key", (401,)),
        ("auth", "the key does not have permission for this", (403,)),
        ("quota", "the account's quota or credit is used up", (402,)),
        ("rate", "the service limits the rate of requests", (429,)),
        ("server", "the service failed", (408, 409, 500, 503, 529)),
        ("rejected", "the service rejected the request", (400, 404, 407, 410, 422, 428, 430, 499)),
    ],
)
def test_a_status_has_a_kind_and_a_meaning(kind, meaning, statuses):
    for status in statuses:
        error = reply_error(status, retry_after=1.5)
        assert (error.kind, str(error), error.retry_after) == (
            kind,
            f"{meaning} (HTTP {status})",
            1.5,
        )


@pytest.mark.parametrize(
    ("status", "reason", "says"),
    [
        (401, "invalid_api_key", "the service rejected the key (HTTP 401): invalid_api_key"),
        (400, "API_KEY_INVALID", "the service rejected the key (HTTP 400): API_KEY_INVALID"),
        (
            403,
            "SERVICE_DISABLED",
            "the key does not have permission for this (HTTP 403): SERVICE_DISABLED",
        ),
        (403, "", "the key does not have permission for this (HTTP 403)"),
        (401, "sk-123", "the service rejected the key (HTTP 401)"),
        (401, "two words", "the service rejected the key (HTTP 401)"),
    ],
)
def test_an_authentication_error_shows_only_status_and_reason(status, reason, says):
    assert str(reply_error(status, kind="auth", words="key sk-123", reason=reason)) == says


def test_an_error_in_a_successful_reply_shows_no_status():
    assert (
        str(reply_error(200, kind="server", words="overloaded"))
        == 'the service failed: "overloaded"'
    )
    assert str(reply_error(200)) == "the service failed"
    assert str(reply_error(200, kind="network")) == "the service could not be reached"
    assert str(reply_error(200, kind="invalid_response")) == "the reply cannot be parsed"


def test_a_401_is_about_the_key_unless_it_tells_of_a_quota():
    assert [reply_error(401, kind=kind).kind for kind in (None, "server", "rejected", "quota")] == [
        "auth",
        "auth",
        "auth",
        "quota",
    ]


@pytest.mark.parametrize(
    ("status", "words", "kind"),
    [
        (429, "You hit the Spend Cap of this project", "quota"),
        (403, "insufficient funds", "quota"),
        (400, "The billing account is disabled", "quota"),
        (401, "credit balance is too low", "auth"),
        (429, "too many requests", "rate"),
    ],
)
def test_words_about_used_up_credit_decide_unless_the_key_is_rejected(status, words, kind):
    assert reply_error(status, words=words).kind == kind


CALL, TEXT = ToolCall("", "read", {}, "{}"), Text("words")


@pytest.mark.parametrize(
    ("word", "parts", "finish"),
    [
        ("stop", (TEXT,), Finish.STOP),
        ("stop", (TEXT, CALL), Finish.TOOL_CALLS),
        ("calls", (None, CALL), Finish.TOOL_CALLS),
        ("calls", (TEXT,), Finish.CUT),
        ("length", (CALL,), Finish.LENGTH),
        ("?", (CALL,), Finish.CUT),
        ("", (TEXT,), Finish.STOP),
        (None, (TEXT,), Finish.STOP),
        (" ", (CALL,), Finish.TOOL_CALLS),
        ("tool_use", (), Finish.CUT),
        # Words of services, and words that nobody knows.
        ("end_turn", (TEXT,), Finish.STOP),
        ("MAX_TOKENS", (TEXT,), Finish.LENGTH),
        ("RECITATION", (TEXT,), Finish.FILTERED),
        ("insufficient_system_resource", (TEXT,), Finish.CUT),
        ("network_error", (TEXT,), Finish.CUT),
        ("abort", (TEXT,), Finish.CUT),
        ("OTHER", (TEXT,), Finish.CUT),
        ("MALFORMED_RESPONSE", (TEXT,), Finish.CUT),
        ("request_timeout", (TEXT,), Finish.CUT),
        ("maxTokensReached", (TEXT,), Finish.LENGTH),
        ("too-many-max-tokens", (TEXT,), Finish.LENGTH),
        ("prompt_length", (TEXT,), Finish.LENGTH),
        ("out_of_context", (TEXT,), Finish.LENGTH),
        ("window_full", (TEXT,), Finish.LENGTH),
        ("output_filter", (TEXT,), Finish.FILTERED),
        ("safety_stop", (TEXT,), Finish.FILTERED),
        ("sensitive_words", (TEXT,), Finish.FILTERED),
        ("brand_new", (TEXT,), Finish.CUT),
    ],
)
def test_a_finish_reason_is_read_with_the_parts(word, parts, finish):
    assert finish_of(word, parts, {"calls": Finish.TOOL_CALLS}) is finish


@given(st.text(max_size=30))
def test_only_known_words_mean_a_whole_reply(word):
    is_known = not word.strip() or any(word.lower() == finish_word for finish_word in FINISH_WORDS)
    assert is_known or finish_of(word, (TEXT,)) not in {Finish.STOP, Finish.TOOL_CALLS}


@pytest.mark.parametrize(
    ("status", "names", "kind"),
    [
        (200, (), "server"),
        (200, ("nobody_knows_it",), "server"),
        (200, ("server_is_overloaded", "service_unavailable_error"), "server"),
        (200, ("model_overloaded",), "server"),
        (200, ("429",), "rate"),
        (200, ("429", "api_error"), "rate"),
        (200, ("502", "odd"), "server"),
        (200, ("400", "odd"), "rejected"),
        (200, ("1305",), "server"),
        (200, ("1211",), "rejected"),
        (200, ("rate_limit_exceeded", "invalid_request_error"), "rate"),
        (200, ("500", "invalid_request_error"), "rejected"),
        (200, ("499", "CANCELLED"), "server"),
        (200, ("ThrottlingException",), "rate"),
        (200, ("permission_denied",), "auth"),
        (200, ("context_length_exceeded",), "rejected"),
        (200, ("content_filter",), "rejected"),
        (200, ("billing_not_active",), "quota"),
        (404, ("api_error",), "rejected"),
        (400, ("server_error",), "server"),
        (400, ("rate_limit_error",), "rate"),
        (429, ("server_error",), "rate"),
        (503, ("invalid_request_error",), "server"),
        (403, ("api_error",), "auth"),
    ],
)
def test_an_error_is_retried_unless_its_names_are_permanent(status, names, kind):
    assert kind_of_error(status, names) == kind


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ({"error": {"code": "1305", "message": "too busy"}}, 'the service failed: "too busy"'),
        ({"error": {"code": "1305"}}, 'the service failed: "1305"'),
        ({"error": "slow down"}, 'the service failed: "slow down"'),
        ({"error": {"code": 502, "message": "gone"}}, 'the service failed (HTTP 502): "gone"'),
        (
            {"error": {"type": "authentication_error"}},
            "the service rejected the key: authentication_error",
        ),
        ({"error": {"code": 401}}, "the service rejected the key (HTTP 401)"),
        ({"error": {"message": None, "type": None}}, "the service failed"),
        (
            {"object": "error", "message": "odd", "code": 500},
            'the service failed (HTTP 500): "odd"',
        ),
    ],
)
def test_an_error_in_a_reply_has_the_words_of_the_service(reply, says):
    assert str(service_error(200, reply)) == says


@pytest.mark.parametrize(
    ("name", "data", "value"),
    [
        ("", b'{"a": 1}', {"a": 1}),
        ("error", b'{"code": 500}', {"error": {"code": 500}}),
        ("error", b'{"error": {"code": 500}}', {"error": {"code": 500}}),
        ("error", b"slow down", {"error": "slow down"}),
        ("", b'{"a": "cut', "network"),
        ("", b'{"a": [1', "network"),
        ("", b"slow down", "invalid_response"),
        ("", b"{a: 1}", "invalid_response"),
        ("", b"", "invalid_response"),
    ],
)
def test_an_event_is_an_object_or_broke_off(name, data, value):
    try:
        outcome: object = event_object(StreamEvent(name, data))
    except ProviderError as error:
        outcome = error.kind
    assert outcome == value


def test_calls_without_an_id_get_one_that_depends_on_the_reply_alone():
    with_id, thought = ToolCall("c7", "read", {}, "{}"), Opaque("plain", {})
    parts = [with_ids((thought, CALL, with_id, TEXT, CALL), reply) for reply in ("r1", "r1", "r2")]
    first, second = (parts[0][at].id for at in (1, 4))
    assert (
        parts[0]
        == parts[1]
        == (thought, ToolCall(first, *("read", {}, "{}")), with_id, TEXT, parts[0][4])
    )
    assert (first[:5], len(first), first[-2:], second) == ("call_", 23, "_1", f"{first[:-1]}4")
    assert parts[2][1].id[:21] != first[:21]
    assert with_ids((CALL, ToolCall("", "write", {}, "{}")), "r1")[0].id[:21] != first[:21]
    assert with_ids((ToolCall("", "read", None, "\ud83d"),), "r1")[0].id.startswith("call_")


@pytest.mark.parametrize("limit", [(), (3,)])
def test_the_parts_of_a_stream_are_limited(limit):
    most = limit[0] if limit else 10_000
    limit_parts(range(most - 1), *limit)
    with pytest.raises(ProviderError, match=r"^the reply has too many parts$") as caught:
        limit_parts(range(most), *limit)
    assert caught.value.kind == "invalid_response"
