"""By which way a service is reached: whom the host's HTTP trusts, and what it lets a proxy see."""

from __future__ import annotations

import socket
import ssl
import threading
from pathlib import Path

import httpx
import pytest

from code_commit.models.http import Endpoint, HttpProvider
from code_commit.models.http.connection import proxy_for
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
from code_commit_testing import Reply, ScriptedServer, model_call

CASES = Path(__file__).parent / "cases" / "tls"
KEY = "sk-some-key"
DEFINITION = ProviderDefinition(
    "plain", {}, "https://service.invalid", None, None, ("x-key", "{key}"), "u:U", "u:U"
)
PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
QUESTION = Request((Message("user", (Text("a question"),)),))


class EchoWire:
    def encode(self, request):
        return HttpCall("/ask", {})

    def decode(self, status, headers, body):
        return Completion(
            Message("assistant", (Text(body.decode()),)),
            Finish.STOP,
            "stop",
            Usage(),
            "plain-1",
            {},
        )


@pytest.fixture
def server():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CASES / "server.pem")
    with ScriptedServer([Reply(body=b"hello")], ssl_context=context) as server:
        yield server


@pytest.fixture(autouse=True)
def no_proxy_of_the_machine(monkeypatch):
    for name in PROXY_VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def ask(address: str) -> str:
    provider = HttpProvider(DEFINITION, Endpoint(address, key=KEY), EchoWire())
    try:
        return provider.complete(model_call(QUESTION)).text
    finally:
        provider.close()


# --- certificates


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
    with pytest.raises(
        NotReady, match=r"in SSL_CERT_FILE or .* cannot be loaded: No such file"
    ) as caught:
        ask(server.address)
    assert caught.value.hint == "fix the variable, or unset it"


# --- proxies


def test_a_proxy_never_sees_a_call_to_loopback(monkeypatch):
    with ScriptedServer([Reply(body=b"hello")]) as server, ScriptedServer() as proxy:
        for name in PROXY_VARIABLES[:3]:
            monkeypatch.setenv(name, proxy.address)
        assert ask(server.address) == "hello"
        assert proxy.requests == []


def test_a_proxy_gets_a_tunnel_without_the_key(monkeypatch):
    heads: list[bytes] = []

    def refuse(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            heads.append(connection.recv(65536))
            connection.sendall(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        monkeypatch.setenv("https_proxy", f"127.0.0.1:{listener.getsockname()[1]}")
        thread = threading.Thread(target=refuse, args=(listener,))
        thread.start()
        with pytest.raises(ProviderError, match="proxy"):
            ask("https://service.invalid")
        thread.join()
    assert heads[0].startswith(b"CONNECT service.invalid:443 ")
    assert KEY.encode() not in heads[0]
    assert b"x-key" not in heads[0].lower()


@pytest.mark.parametrize(
    ("address", "variables", "expected"),
    [
        ("https://service.invalid", {"https_proxy": "http://proxy.invalid:3128"}, "proxy.invalid"),
        ("https://service.invalid", {"all_proxy": "proxy.invalid:3128"}, "proxy.invalid"),
        (
            "https://service.invalid",
            {"https_proxy": "http://proxy.invalid", "no_proxy": ".invalid"},
            None,
        ),
        ("https://127.0.0.1:8443", {"https_proxy": "http://proxy.invalid"}, None),
        ("https://[::1]:8443", {"https_proxy": "http://proxy.invalid"}, None),
        ("https://localhost", {"https_proxy": "http://proxy.invalid"}, None),
        (
            "http://service.invalid",
            {"http_proxy": "http://proxy.invalid", "all_proxy": "http://proxy.invalid"},
            None,
        ),
    ],
)
def test_which_calls_go_through_a_proxy(monkeypatch, address, variables, expected):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    proxy = proxy_for(httpx.URL(address))
    assert (proxy.url.host if proxy else None) == expected


def test_a_proxy_that_is_none_is_named(monkeypatch):
    monkeypatch.setenv("https_proxy", "gopher://me:secret@proxy.invalid")
    with pytest.raises(NotReady, match="HTTPS_PROXY") as caught:
        proxy_for(httpx.URL("https://service.invalid"))
    assert "secret" not in str(caught.value)
    assert caught.value.hint == "fix the variable, or add the host of the service to NO_PROXY"
