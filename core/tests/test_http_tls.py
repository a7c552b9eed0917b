"""TLS: whom the host's HTTP trusts, and what it says when it does not."""

from __future__ import annotations

import ssl
import time
from pathlib import Path

import pytest

from code_commit.http import Connection, HttpProvider
from code_commit.plugin_api import (
    Completion,
    Finish,
    HttpCall,
    Message,
    NotReady,
    ProviderDefinition,
    ProviderError,
    Request,
    Text,
    Usage,
)
from code_commit.retries import TimedCall
from code_commit.testing import Reply, ScriptedServer

CASES = Path(__file__).parent / "cases" / "tls"
DEFINITION = ProviderDefinition("plain", {}, "https://service.invalid", None, None, ("x-key", "{key}"), "u:U", "u:U")
QUESTION = Request((Message("user", (Text("a question"),)),))


class EchoWire:
    def encode(self, request):
        return HttpCall("/ask", {})

    def decode(self, status, headers, body):
        return Completion(Message("assistant", (Text(body.decode()),)), Finish.STOP, "stop", Usage(), "plain-1", {})


@pytest.fixture
def server():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CASES / "server.pem")
    with ScriptedServer([Reply(body=b"hello")], ssl_context=context) as server:
        yield server


def ask(address: str) -> str:
    provider = HttpProvider(DEFINITION, Connection(address, key="sk-some-key"), EchoWire())
    try:
        return provider.complete(QUESTION, TimedCall(time.monotonic() + 30)).text
    finally:
        provider.close()


def test_a_certificate_that_nobody_vouches_for_is_refused(server, monkeypatch):
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    with pytest.raises(ProviderError, match="SSL_CERT_FILE") as caught:
        ask(server.address)
    assert caught.value.kind == "rejected"
    assert server.requests == []


def test_an_authority_of_ones_own_is_trusted(server, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(CASES / "authority.pem"))
    assert ask(server.address) == "hello"


def test_a_certificate_for_another_host_is_refused(server, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(CASES / "authority.pem"))
    with pytest.raises(ProviderError, match="certificate"):
        ask(server.address.replace("127.0.0.1", "127.1"))  # leads to the same host
    assert server.requests == []


def test_a_server_without_tls_says_what_to_check():
    with ScriptedServer() as server, pytest.raises(ProviderError, match="http://") as caught:
        ask(server.address.replace("http://", "https://"))
    assert caught.value.kind == "rejected"


def test_a_missing_authority_file_is_named(server, monkeypatch, tmp_path):
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "absent.pem"))
    with pytest.raises(NotReady, match="SSL_CERT_FILE"):
        ask(server.address)
