"""What every wire uses to read an answer."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_commit.plugin_api import (
    ProviderError,
    read_arguments,
    reply_error,
    reply_member,
    reply_object,
    reply_objects,
    token_count,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


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
    ("body", "says"),
    [
        (b"", "empty"),
        (b"<html>", "web page"),
        (b'{"a": 1', "truncated"),
        (b"data: {}", "stream"),
        (b"hello", "something else"),
        (b"[]", "JSON list"),
        (b"null", "JSON null"),
        (b"7", "JSON number"),
        (b"1" * 5000, "something else"),
    ],
)
def test_garbage_is_named(body, says):
    with pytest.raises(ProviderError, match=says):
        reply_object(body)


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
    with pytest.raises(ProviderError, match="'text' has the unexpected JSON type string"):
        reply_member(answer, "text", dict)
    with pytest.raises(ProviderError, match="'mixed'"):
        reply_objects(answer, "mixed")


@pytest.mark.parametrize(("told", "tokens"), [(7, 7), (0, 0), (-1, None), (True, None), ("7", None), (1.5, None)])
def test_a_token_count_is_a_count_or_not_told(told, tokens):
    assert token_count({"n": told}, "n") == tokens
    assert token_count({}, "n") is None


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ('{"a": 1}', {"a": 1}),
        ({"a": 1}, {"a": 1}),
        ("", {}),
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
    found, raw = read_arguments(written)
    assert found == arguments
    raw.encode()  # it goes back to the service


def test_arguments_that_came_as_an_object_keep_their_letters():
    assert read_arguments({"a": "é"}) == ({"a": "é"}, '{"a": "é"}')


@given(st.text())
def test_malformed_arguments_keep_what_was_written(written):
    arguments, raw = read_arguments(written)
    assert raw == written
    assert arguments is None or isinstance(arguments, dict)


def test_long_words_are_shortened_and_kept_on_one_line():
    message = str(reply_error(400, words="line\n  two " + "x" * 10_000))
    assert "line two xxx" in message
    assert len(message) < 800


@pytest.mark.parametrize(
    ("status", "reason", "says"),
    [
        (401, "invalid_api_key", "the service rejected the key (HTTP 401): invalid_api_key"),
        (400, "API_KEY_INVALID", "the service rejected the key (HTTP 400): API_KEY_INVALID"),
        (403, "SERVICE_DISABLED", "the key does not have permission for this (HTTP 403): SERVICE_DISABLED"),
        (403, "", "the key does not have permission for this (HTTP 403)"),
        (401, "sk-123", "the service rejected the key (HTTP 401)"),
        (401, "two words", "the service rejected the key (HTTP 401)"),
    ],
)
def test_an_authentication_error_shows_only_status_and_reason(status, reason, says):
    assert str(reply_error(status, kind="auth", words="key sk-123", reason=reason)) == says


def test_an_error_in_a_successful_reply_shows_no_status():
    assert str(reply_error(200, kind="server", words="overloaded")) == 'the service failed: "overloaded"'


def test_a_401_is_about_the_key_unless_it_tells_of_a_quota():
    assert [reply_error(401, kind=kind).kind for kind in (None, "server", "rejected", "quota")] == [
        "auth",
        "auth",
        "auth",
        "quota",
    ]
