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
    told = [provider_error(ProviderError("no", kind="rate", retry_after=wait), "x", AT, reply) for wait in (3.0, None)]
    assert [each.retry_after for each in told] == [3.0, 7.0]


@pytest.mark.parametrize(
    ("error", "kind", "says"),
    [
        (httpx.ConnectTimeout("x"), "network", "no connection within 30 s"),
        (httpx.WriteTimeout("x"), "network", "the service accepted no data for 120 s"),
        (httpx.ReadTimeout("x"), "network", "no reply for 5 s"),
        (httpx.ProxyError("x"), "rejected", "the proxy refused the call"),
        (httpx.LocalProtocolError("x"), "rejected", "the request is not valid HTTP"),
        (
            httpx.RemoteProtocolError("Server disconnected"),
            "network",
            "the connection was lost before the end of the reply",
        ),
        (httpx.RemoteProtocolError("illegal status line"), "invalid_response", "the reply is not HTTP"),
        (httpx.ConnectError("[SSL: WRONG_VERSION_NUMBER]"), "rejected", "no TLS connection"),
        (httpx.ConnectError("[SSL: UNEXPECTED_EOF_WHILE_READING] EOF"), "network", "cannot connect"),
        (httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED]"), "rejected", "its certificate is not trusted"),
    ],
)
def test_an_error_of_the_connection_is_described(error, kind, says):
    described = provider_error(error, "plain", AT, None)
    assert described.kind == kind
    assert str(described).startswith(f"plain at service.invalid: {says}")


def test_a_part_of_a_key_is_blotted_out_in_json_too():
    at = replace(AT, key='sk-"quoted"-0123456789')
    told = provider_error(ProviderError('you sent sk-\\"quoted…', kind="rejected"), "plain", at, None)
    assert str(told).endswith("you sent ***…")


def test_a_long_host_of_a_redirect_is_cut_short():
    host = ".".join(["a" * 60] * 5)
    assert len(str(redirect_error(HttpReply(302, {"location": f"http://{host}/"}, b""), AT.redactor))) < 350
