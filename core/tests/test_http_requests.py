"""What the host's HTTP sends and for how long it waits: headers, sockets, limits; and questions
about models.
"""

from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from code_commit import __version__
from code_commit.models.http import Endpoint, HttpProvider
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
    reply_error,
    reply_object,
)
from code_commit_testing import Reply, model_call

KEY = "sk-some-key-0123456789"
DEFINITION = ProviderDefinition(
    "plain", {}, "https://x.invalid", None, None, ("X-Key", "Key {key}"), "u:U", "u:U"
)


class Wire:
    """Sends {"q": text} with odd headers, reads {"a": text}; the lists of models have `pages`
    pages.
    """

    pages = 2

    def encode(self, request: Request) -> HttpCall:
        return HttpCall(
            "/ask",
            {"q": request.messages[0].parts[0].text},
            {"X-Own": "1", "Accept": "x", "User-Agent": "x"},
        )

    def decode(self, status: int, headers: Mapping[str, str], body: bytes) -> Completion:
        return Completion(
            Message("assistant", (Text(reply_object(body)["a"]),)),
            Finish.STOP,
            "",
            Usage(),
            "m",
            {},
        )

    def encode_count(self, request: Request) -> HttpCall:
        return HttpCall("/count", self.encode(request).body)

    def decode_count(self, status: int, headers: Mapping[str, str], body: bytes) -> Any:
        if status != 200:
            raise reply_error(status)
        return reply_object(body)["tokens"]

    def encode_models(self, page: bytes = b"") -> HttpCall | None:
        number = reply_object(page)["page"] + 1 if page else 1
        if number > self.pages:
            return None
        return HttpCall(f"/models?page={number}", {"never": "sent"}, method="GET")

    def decode_models(
        self, status: int, headers: Mapping[str, str], body: bytes
    ) -> Mapping[str, int]:
        return reply_object(body)["models"]


class Deaf:
    encode, decode = Wire.encode, Wire.decode


@pytest.fixture
def connect(server):
    opened = []

    def connect(wire: Any = None, **endpoint: Any) -> HttpProvider:
        opened.append(
            HttpProvider(
                DEFINITION, Endpoint(server.address, **({"key": KEY} | endpoint)), wire or Wire()
            )
        )
        return opened[-1]

    yield connect
    for provider in opened:
        provider.close()


def answer(body: bytes = b'{"a": "hello"}', **headers: str) -> Reply:
    return Reply(
        body=body, headers={name.replace("_", "-"): value for name, value in headers.items()}
    )


# --- what is sent


def test_the_headers_are_the_hosts_and_a_wire_adds_its_own(server, connect):
    server.script(answer())
    connect().complete(model_call("hi"))
    [request] = server.requests
    sent = {name: value for name, value in request.headers.items() if name != "host"}
    assert sent == {
        "accept": "application/json",
        "accept-encoding": "gzip",
        "content-type": "application/json",
        "content-length": str(len('{"q":"hi"}')),
        "user-agent": f"code-commit/{__version__}",
        "x-own": "1",
        "x-key": f"Key {KEY}",
    }


def test_the_connection_is_kept_alive_while_a_model_thinks(server, connect, monkeypatch):
    options, set_option = set(), socket.socket.setsockopt

    def recorded(self, *option):
        options.add(option)
        set_option(self, *option)

    monkeypatch.setattr(socket.socket, "setsockopt", recorded)
    server.script(answer())
    connect().complete(model_call("hi"))
    times = [(socket.TCP_KEEPIDLE, 45), (socket.TCP_KEEPINTVL, 45), (socket.TCP_KEEPCNT, 6)]
    expected = {(socket.IPPROTO_TCP, *option) for option in times} | {
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    }
    assert expected <= options


def test_each_step_has_its_own_time(server, connect, monkeypatch):
    timeouts, handle = [], httpx.HTTPTransport.handle_request

    def recorded(self, request):
        timeouts.append(request.extensions["timeout"])
        return handle(self, request)

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", recorded)
    server.script(answer())
    connect(read_timeout=7).complete(model_call("hi"))
    assert timeouts == [{"connect": 30, "read": 7, "write": 120, "pool": 7}]


def test_without_limits_of_its_own_an_address_has_those_of_the_host():
    at = Endpoint("https://x.invalid")
    assert (at.key, at.key_source, at.read_timeout, at.stall_timeout, at.size_cap) == (
        None,
        "",
        900,
        300,
        64 << 20,
    )


# --- what is read

PADDED = b'{"a": "hello"}'.ljust(1000)


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (PADDED, ""),
        (PADDED, "identity"),
        (gzip.compress(PADDED, mtime=0), " GZIP"),
        (gzip.compress(PADDED, mtime=0), "x-gzip"),
    ],
)
def test_a_reply_may_be_as_large_as_the_limit(server, connect, body, encoding):
    server.script(*[answer(body, content_encoding=encoding)] * 2)
    assert connect(size_cap=1000).complete(model_call("hi")).text == "hello"
    with pytest.raises(ProviderError, match="the reply is larger than 999 bytes, the limit"):
        connect(size_cap=999).complete(model_call("hi"))


# --- questions about models


def page(number: int, **models: int) -> Reply:
    return answer(json.dumps({"page": number, "models": models}).encode())


def test_models_are_listed_page_by_page(server, connect):
    server.script(page(1, one=5, two=0), page(2, three=7))
    assert connect().models() == {"one": 5, "two": 0, "three": 7}
    requested = [
        (request.method, request.path, request.body, request.headers["content-length"])
        for request in server.requests
    ]
    assert requested == [("GET", f"/models?page={number}", b"", "0") for number in (1, 2)]


def test_a_list_without_an_end_is_left(server, connect):
    wire = Wire()
    wire.pages = 1000
    server.script(*[page(number, **{f"m{number}": 0}) for number in range(1, 30)])
    assert (len(connect(wire).models()), len(server.requests)) == (20, 20)


def test_a_list_of_nothing_and_no_list_are_errors(server, connect):
    server.script(page(1), page(2))
    with pytest.raises(ProviderError, match=r"^plain lists no models$") as caught:
        connect().models()
    assert caught.value.kind == "invalid_response"
    with pytest.raises(NotReady, match="its plugin cannot ask for models"):
        connect(Deaf()).models()


def test_tokens_are_counted_by_the_service(server, connect):
    server.script(answer(b'{"tokens": "12"}'), Reply(status=429, body=b"{}"))
    provider = connect()
    assert provider.count(model_call("hi")) == 12
    with pytest.raises(ProviderError, match="the service limits the rate of requests"):
        provider.count(model_call("hi"))
    assert [(request.method, request.path, request.json) for request in server.requests] == [
        ("POST", "/count", {"q": "hi"})
    ] * 2


def test_a_count_ends_with_its_call(server, connect):
    server.script(Reply(fault="hang"))
    with pytest.raises(ProviderError, match="the call reached its time limit"):
        connect().count(model_call("hi", seconds=0.1))
