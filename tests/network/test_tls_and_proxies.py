"""Whom a run trusts with a call: certificates, and proxies between it and the service."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from code_commit_testing import Reply, ScriptedServer

GOOD = Reply("^^^a.txt\nnew\n^^^end\n")
ONCE = {"CODE_COMMIT_HTTP__RETRIES": "0"}
TLS = Path(__file__).parents[2] / "core/tests/cases/tls"
CERTIFICATE, AUTHORITY = TLS / "server.pem", TLS / "authority.pem"


@pytest.fixture
def tls_server() -> Iterator[ScriptedServer]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    with ScriptedServer([GOOD], ssl_context=context) as server:
        yield server


def test_an_untrusted_certificate_ends_the_run_before_a_request(commit, tls_server) -> None:
    finished = commit(tls_server)
    assert tls_server.requests == []
    assert (finished.exit_code, "certificate is not trusted" in finished.stderr) == (4, True)
    assert "call.retried" not in [event["kind"] for event in finished.events]


def test_an_authority_from_the_environment_is_trusted(commit, tls_server) -> None:
    assert commit(tls_server, SSL_CERT_FILE=str(AUTHORITY)).exit_code == 0


def test_tls_on_one_side_only_is_exit_4(commit, tls_server) -> None:
    with ScriptedServer() as plain:
        finished = commit(OPENAI_BASE_URL=plain.url("openai").replace("http:", "https:"), **ONCE)
        assert (finished.exit_code, plain.requests) == (4, [])
    finished = commit(OPENAI_BASE_URL=tls_server.url("openai").replace("https:", "http:"), **ONCE)
    assert (finished.exit_code, tls_server.requests) == (4, [])


@contextmanager
def proxy(target: tuple[str, int] | None) -> Iterator[tuple[str, list[bytes]]]:
    """Run a proxy that connects every CONNECT to `target` or refuses it; yield its address and all
    bytes it receives.
    """
    seen: list[bytes] = []
    threads: list[threading.Thread] = []

    def pump(source: socket.socket, sink: socket.socket, notes: list[bytes]) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                notes.append(data)
                sink.sendall(data)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def serve(client: socket.socket) -> None:
        with client:
            head = client.recv(65536)
            seen.append(head)
            if target is None or not head.startswith(b"CONNECT "):
                client.sendall(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")
                return
            with socket.create_connection(target) as service:
                client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                back = threading.Thread(target=pump, args=(service, client, []))
                back.start()
                pump(client, service, seen)
                back.join()

    def accept(listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                threads.append(threading.Thread(target=serve, args=(listener.accept()[0],)))
                threads[-1].start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threads.append(threading.Thread(target=accept, args=(listener,)))
        threads[0].start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", seen
        listener.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()


def test_a_call_over_plain_http_uses_no_proxy(commit, project) -> None:
    with ScriptedServer([GOOD, GOOD]) as server, proxy(None) as (address, seen):
        everywhere = dict.fromkeys(
            ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"), address
        )
        assert commit(server, **everywhere).exit_code == 0
        # An address that is not loopback but reaches this machine.
        project.git("checkout", "-q", ".")
        base_url = server.url("openai").replace("127.0.0.1", "0.0.0.0")  # noqa: S104 - to call, not to listen
        project.write(
            {
                "agent-config/config.toml": f'[providers.openai.default]\nbase_url = "{base_url}"\nallow_http = true\n'
            }
        )
        assert commit(**everywhere).exit_code == 0
        assert len(server.requests) == 2
    assert seen == []


def test_a_refusing_proxy_is_reported_and_gets_no_key(commit, key) -> None:
    with proxy(None) as (address, seen):
        finished = commit(OPENAI_BASE_URL="https://service.invalid/v1", https_proxy=address)
    assert (finished.exit_code, "HTTPS_PROXY" in finished.stderr) == (4, True)
    assert seen[0].startswith(b"CONNECT service.invalid:443 ")
    assert key.encode() not in b"".join(seen)
    assert b"authorization" not in b"".join(seen).lower()


def test_https_uses_a_tunnel_that_hides_the_key(commit, key, tls_server) -> None:
    host, port = tls_server.address.removeprefix("https://").split(":")
    with proxy((host, int(port))) as (address, seen):
        service = {"OPENAI_BASE_URL": "https://service.invalid/v1", "HTTPS_PROXY": address}
        assert commit(**service, SSL_CERT_FILE=str(AUTHORITY)).exit_code == 0
    assert [request.headers["authorization"] for request in tls_server.requests] == [
        f"Bearer {key}"
    ]
    assert seen[0].startswith(b"CONNECT service.invalid:443 ")
    assert key.encode() not in b"".join(seen)
