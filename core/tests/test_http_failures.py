"""The errors of the host's HTTP: what they are called and how they read."""

from __future__ import annotations

from dataclasses import replace

import httpx
import pytest

from code_commit.models.http import Endpoint
from code_commit.models.http.connection import HttpReply
from code_commit.models.http.failures import provider_error, redirect_error
from code_commit.plugin_api import ProviderError

AT = Endpoint("https://service.invalid", read_timeout=5)


def test_what_the_wire_reads_about_the_wait_comes_first():
    reply = HttpReply(429, {"retry-after": "7"}, b"")
    errors = [
        provider_error(ProviderError("no", kind="rate", retry_after=wait), "x", AT, reply)
        for wait in (3.0, None)
    ]
    assert [error.retry_after for error in errors] == [3.0, 7.0]


@pytest.mark.parametrize(
    ("error", "kind", "says"),
    [
        (httpx.ConnectTimeout("x"), "network", "no connection within 30 s"),
        (httpx.WriteTimeout("x"), "network", "the service accepted no data for 120 s"),
        (httpx.ReadTimeout("x"), "network", "no reply for 5 s"),
        (
            httpx.ReadError("x"),
            "network",
            "the connection was lost before the end of the reply (ReadError)",
        ),
        (
            httpx.RemoteProtocolError("peer closed connection"),
            "network",
            "the connection was lost before the end",
        ),
        (httpx.ProxyError("x"), "rejected", "the proxy refused the call"),
        (httpx.LocalProtocolError("x"), "rejected", "the request is not valid HTTP"),
        (
            httpx.RemoteProtocolError("Server disconnected"),
            "network",
            "the connection was lost before the end of the reply",
        ),
        (
            httpx.RemoteProtocolError("illegal status line"),
            "invalid_response",
            "the reply is not HTTP",
        ),
        (httpx.ConnectError("[SSL: WRONG_VERSION_NUMBER]"), "rejected", "no TLS connection"),
        (
            httpx.ConnectError("[SSL: UNEXPECTED_EOF_WHILE_READING] EOF"),
            "network",
            "cannot connect",
        ),
        (
            httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED]"),
            "rejected",
            "its certificate is not trusted",
        ),
    ],
)
def test_an_error_of_the_connection_is_described(error, kind, says):
    described = provider_error(error, "plain", AT, None)
    assert described.kind == kind
    assert str(described).startswith(f"plain at service.invalid: {says}")


def test_a_part_of_a_key_is_blotted_out_in_json_too():
    at = replace(AT, key='sk-"quoted"-0123456789')
    error = provider_error(
        ProviderError('you sent sk-\\"quoted…', kind="rejected"), "plain", at, None
    )
    assert str(error).endswith("you sent ***…")


def test_a_long_host_of_a_redirect_is_cut_short():
    host = ".".join(["a" * 60] * 5)
    error = str(redirect_error(HttpReply(302, {"location": f"http://{host}/"}, b""), AT.redactor))
    assert error.startswith(f"HTTP 302 redirects to {host[:255]}, which is not followed; ")


@pytest.mark.parametrize(
    ("status", "location", "says"),
    [
        (
            300,
            "https://elsewhere.invalid:99/x",
            "HTTP 300 redirects to elsewhere.invalid, which is not followed; ",
        ),
        (399, "/login", "HTTP 399 redirects to another path, which is not followed; "),
        (302, "http://broken:port/", "HTTP 302 redirects to another path, which is not followed; "),
        (299, "/login", "no"),
        (400, "/login", "no"),
    ],
)
def test_a_redirect_names_its_host_alone(status, location, says):
    error = ProviderError("no", kind="server")
    wrapped = provider_error(error, "plain", AT, HttpReply(status, {"location": location}, b""))
    assert str(wrapped).startswith(f"plain at service.invalid: {says}")
    assert wrapped.kind == ("server" if says == "no" else "rejected")


@pytest.mark.parametrize(
    ("kind", "key", "source", "body"),
    [
        ("auth", "sk-0123456789", "; the key is from the file k.txt", ""),
        ("auth", None, "", ""),
        ("server", "sk-0123456789", "", "what it said"),
    ],
)
def test_only_an_error_of_the_key_names_its_source_and_keeps_no_body(kind, key, source, body):
    at = replace(
        AT, base_url="https://service.invalid:8443/v1", key=key, key_source="the file k.txt"
    )
    reply = HttpReply(500, {}, b"what it said")
    error = provider_error(ProviderError("no", kind=kind), "plain", at, reply)
    assert (str(error), error.body) == (f"plain at service.invalid:8443: no{source}", body)
    assert (error.kind, error.__cause__) == (kind, None)


def test_a_large_reply_is_kept_by_its_beginning():
    reply = HttpReply(500, {}, b"x" * (1 << 20) + b"y")
    assert provider_error(ProviderError("no", kind="server"), "plain", AT, reply).body == "x" * (
        1 << 20
    )


def test_a_bug_is_the_wires_where_there_is_a_reply_and_else_its_own():
    bug = KeyError("choices")
    error = provider_error(bug, "plain", AT, HttpReply(200, {}, b"{}"))
    says = "plain at service.invalid: its plugin could not read the reply (HTTP 200): KeyError: 'choices'"
    assert (str(error), error.kind, error.__cause__, error.body) == (
        says,
        "invalid_response",
        bug,
        "{}",
    )
    with pytest.raises(KeyError):
        provider_error(bug, "plain", AT, None)
