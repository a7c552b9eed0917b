"""The host's HTTP: what is sent, what is read, and within which bounds.

A plain wire stands in for a provider's.
"""

from __future__ import annotations

import base64
import gzip
import json
import logging
import math
import os
import signal
import socket
import threading
import tracemalloc
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest

from code_commit.models.http import Endpoint, HttpProvider
from code_commit.plugin_api import (
    Completion,
    Finish,
    HttpCall,
    Message,
    ProviderDefinition,
    ProviderError,
    Request,
    Text,
    Usage,
    reply_error,
    reply_object,
)
from code_commit_testing import Reply, model_call

KEY = "sk-a/key+with=odd%chars"
DEFINITION = ProviderDefinition(
    name="plain",
    models={},
    base_url="https://service.invalid",
    base_url_variable=None,
    key_variable=None,
    key_header=("x-plain-key", "{key}"),
    config="unused:Unused",
    factory="unused:Unused",
)
AT = Endpoint("https://service.invalid", read_timeout=5)
QUESTION = Request((Message("user", (Text("a question"),)),))


@dataclass
class PlainWire:
    """Sends the question as {"q": …}, reads the answer from {"a": …}."""

    path: str = "/ask"
    headers: Mapping[str, str] = field(default_factory=dict)

    def encode(self, request: Request) -> HttpCall:
        return HttpCall(
            self.path, {"q": "".join(part.text for part in request.messages[0].parts)}, self.headers
        )

    def decode(self, status: int, headers: Mapping[str, str], body: bytes) -> Completion:
        answer = reply_object(body)
        if status != 200:
            raise reply_error(status, words=answer["error"])
        return Completion(
            Message("assistant", (Text(answer["a"]),)),
            Finish.STOP,
            "stop",
            Usage(),
            "plain-1",
            answer,
        )


def answering(text: str, **fields) -> Reply:
    return Reply(body=json.dumps({"a": text}).encode(), **fields)


def provider_at(address: str, wire: PlainWire | None = None, **connection) -> HttpProvider:
    return HttpProvider(
        DEFINITION, Endpoint(address, **({"key": KEY} | connection)), wire or PlainWire()
    )


@pytest.fixture
def provider(server):
    provider = provider_at(server.address)
    yield provider
    provider.close()


def failure_of(provider: HttpProvider, seconds: float = 30) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        provider.complete(model_call(QUESTION, seconds=seconds))
    assert KEY not in f"{caught.value!r} {caught.value.body}"
    return caught.value


# --- what is sent


def test_sends_one_post_with_the_key_in_its_header(server, provider):
    server.script(answering("hello"))
    assert provider.complete(model_call(QUESTION)).text == "hello"
    (request,) = server.requests
    assert (request.method, request.path, request.json) == ("POST", "/ask", {"q": "a question"})
    assert request.headers["x-plain-key"] == KEY
    assert set(request.headers) == {
        "host",
        "accept",
        "accept-encoding",
        "content-type",
        "content-length",
        "user-agent",
        "x-plain-key",
    }


def test_a_large_question_is_sent_as_it_is(server, provider):
    question = "".join(map(str, range(400_000)))  # more than two pieces of a request
    server.script(answering("hello"))
    provider.complete(model_call(Request((Message("user", (Text(question),)),))))
    assert server.requests[-1].json == {"q": question}


def test_a_path_in_the_base_url_is_kept(server):
    server.script(answering("hello"))
    provider = provider_at(server.address + "/v1/", PlainWire(headers={"X-Version": "2"}))
    provider.complete(model_call(QUESTION))
    provider.close()
    assert server.requests[0].path == "/v1/ask"
    assert server.requests[0].headers["x-version"] == "2"


def test_without_a_key_there_is_no_key_header(server):
    server.script(answering("hello"))
    provider = provider_at(server.address, key=None)
    provider.complete(model_call(QUESTION))
    provider.close()
    assert "x-plain-key" not in server.requests[0].headers


def test_one_connection_serves_call_after_call(server, provider):
    server.script(answering("1"), answering("2", headers={"connection": "close"}), answering("3"))
    assert [provider.complete(model_call(QUESTION)).text for _ in range(3)] == ["1", "2", "3"]
    first, second, third = (request.port for request in server.requests)
    assert first == second != third


@pytest.mark.slow
def test_calls_at_the_same_time_get_their_own_answers(server, provider):
    server.script(*[lambda request: answering(request.json["q"].upper())] * 24)
    questions = [f"question {number}" for number in range(24)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(
            pool.map(
                lambda text: (
                    provider.complete(model_call(Request((Message("user", (Text(text),)),)))).text
                ),
                questions,
            )
        )
    assert answers == [text.upper() for text in questions]


def test_no_cookie_is_kept(server, provider):
    server.script(answering("1", headers={"set-cookie": "id=7; Path=/"}), answering("2"))
    provider.complete(model_call(QUESTION))
    provider.complete(model_call(QUESTION))
    assert "cookie" not in server.requests[1].headers


def test_netrc_is_not_read(server, provider, tmp_path, monkeypatch):
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password secret\n")
    (tmp_path / "netrc").chmod(0o600)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    server.script(answering("1"))
    provider.complete(model_call(QUESTION))
    assert "authorization" not in server.requests[0].headers


def test_half_of_a_character_is_not_sent(server, provider):
    server.script(answering("hello"))
    provider.complete(model_call(Request((Message("user", (Text("half: \ud83d"),)),))))
    assert server.requests[0].json == {"q": "half: ?"}


@pytest.mark.parametrize("path", ["@elsewhere.invalid/x", ":1/x", "x", ""])
def test_a_path_leads_nowhere_else(server, path):
    provider = provider_at(server.address, PlainWire(path=path))
    with pytest.raises(ValueError, match="path of a call"):
        provider.complete(model_call(QUESTION))
    assert server.requests == []


def test_a_wire_cannot_set_the_key_header(server):
    provider = provider_at(server.address, PlainWire(headers={"X-Plain-Key": "mine"}))
    with pytest.raises(ValueError, match="key header"):
        provider.complete(model_call(QUESTION))


# --- what is read


def test_the_wires_error_says_where_and_when_to_come_back(server, provider):
    server.script(Reply(status=429, body=b'{"error": "too fast"}', headers={"retry-after": "7"}))
    error = failure_of(provider)
    assert (error.kind, error.retry_after, error.body) == ("rate", 7.0, '{"error": "too fast"}')
    assert str(error).startswith(f"plain at {server.address.removeprefix('http://')}: ")


def test_a_key_in_an_error_is_blotted_out(server, provider):
    server.script(Reply(status=400, body=json.dumps({"error": f"you sent {KEY}!"}).encode()))
    error = failure_of(provider)
    assert f"you sent ***{KEY[-2:]}!" in str(error)
    assert KEY not in error.body


def test_a_part_of_a_key_in_an_error_is_blotted_out_too(server, provider):
    server.script(
        Reply(status=400, body=json.dumps({"error": f"no such key: {KEY[:9]}…"}).encode())
    )
    error = failure_of(provider)
    assert "no such key: ***…" in str(error)
    assert error.body == '{"error": "no such key: ***\\u2026"}'


def test_a_key_is_blotted_out_before_an_error_is_shortened(server, provider):
    encoded = base64.b64encode(KEY.encode()).decode()
    server.script(Reply(status=400, body=json.dumps({"error": "x" * 490 + encoded}).encode()))
    assert encoded[:8] not in str(failure_of(provider))


def test_a_wire_that_stumbles_is_named(server, provider):
    server.script(Reply(body=b'{"b": "no answer"}'))
    error = failure_of(provider)
    assert error.kind == "invalid_response"
    assert "KeyError" in str(error)


@pytest.mark.parametrize("location", ["http://elsewhere.invalid/x", "/login", "", "http://[broken"])
def test_a_redirect_is_an_error(server, provider, location):
    server.script(Reply.redirect(location, status=302))
    error = failure_of(provider)
    assert error.kind == "rejected"
    assert "302" in str(error)
    assert len(server.requests) == 1


def test_a_compressed_answer_is_unpacked(server, provider):
    packed = gzip.compress(b'{"a": "hello"}')
    server.script(Reply(body=packed, headers={"content-encoding": "gzip"}))
    assert provider.complete(model_call(QUESTION)).text == "hello"


@pytest.mark.parametrize(
    ("body", "encoding", "says"),
    [
        (gzip.compress(b"0" * 5_000_000), "gzip", "larger than"),
        (b"0" * 1_000_001, "identity", "larger than"),
        (gzip.compress(b'{"a": "hello"}')[:-9], "gzip", "truncated"),
        (b"not packed", "gzip", "corrupt"),
        (b"whatever", "br", "not requested"),
        (b"whatever", "gzip, gzip", "not requested"),
    ],
    ids=["unpacks to much", "long", "cut short", "not packed", "brotli", "packed twice"],
)
def test_an_answer_out_of_bounds_is_garbled(server, body, encoding, says):
    server.script(Reply(body=body, headers={"content-encoding": encoding}))
    provider = provider_at(server.address, size_cap=1_000_000)
    error = failure_of(provider)
    provider.close()
    assert error.kind == "invalid_response"
    assert says in str(error)


def test_a_small_answer_that_unpacks_to_much_takes_little_memory(server):
    server.script(
        Reply(body=gzip.compress(bytes(60_000_000), 1), headers={"content-encoding": "gzip"})
    )
    provider = provider_at(server.address, size_cap=1_000_000)
    tracemalloc.start()
    try:
        assert "larger than" in str(failure_of(provider))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        provider.close()
    assert peak < 10_000_000


@pytest.mark.parametrize(("listening", "verbose"), [("", "httpcore.http11"), ("httpcore", "")])
def test_nothing_reaches_a_log(server, provider, monkeypatch, listening, verbose):
    # Not caplog: it listens to loggers that propagate nothing as well.
    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    monkeypatch.setattr(handler, "emit", records.append)
    monkeypatch.setattr(logging.getLogger(listening), "handlers", [handler])
    for name in {"", verbose}:
        monkeypatch.setattr(logging.getLogger(name), "level", logging.DEBUG)
        monkeypatch.setattr(logging.getLogger(name), "_cache", {})  # of the levels that are enabled
    server.script(answering("hello"))
    provider.complete(model_call(QUESTION))
    assert records == []


# --- what goes wrong on the way


@pytest.mark.parametrize("fault", ["drop", "reset", "half"])
def test_a_connection_that_breaks_is_a_failure_of_the_network(server, provider, fault):
    server.script(answering("hello" * 100, fault=fault), answering("again"))
    error = failure_of(provider)
    assert error.kind == "network"
    assert "lost before the end of the reply" in str(error)
    assert provider.complete(model_call(QUESTION)).text == "again"


@pytest.mark.parametrize("fault", ["hang", "stall", "trickle"])
def test_the_deadline_ends_a_call_that_does_not_end(server, provider, fault):
    answers = {"a question": answering("hello" * 1000, fault=fault), "again": answering("again")}
    # The first may not even be sent in time.
    server.script(*[lambda request: answers[request.json["q"]]] * 2)
    error = failure_of(provider, 0.2)
    assert error.kind == "network"
    assert "time limit" in str(error)
    assert provider.complete(model_call("again")).text == "again"


def test_a_call_that_was_given_up_leaves_no_thread(server, provider):
    server.script(answering("hello", fault="hang"))
    failure_of(provider, 0.1)
    for thread in threading.enumerate():
        if thread.name == "code-commit plain":
            thread.join(60)
            assert not thread.is_alive()


def test_a_call_that_was_given_up_while_it_connects_is_not_sent(server, provider, monkeypatch):
    server.script(answering("too late"))
    connect, slow = socket.create_connection, threading.Event()

    def connect_slowly(*arguments, **more):
        slow.wait(60)
        return connect(*arguments, **more)

    monkeypatch.setattr(socket, "create_connection", connect_slowly)
    assert "time limit" in str(failure_of(provider, seconds=0.1))
    slow.set()
    for thread in threading.enumerate():
        if thread.name == "code-commit plain":
            thread.join(60)
            assert not thread.is_alive()
    assert server.requests == []


def test_silence_ends_at_the_read_timeout(server):
    server.script(Reply(fault="hang"))
    provider = provider_at(server.address, read_timeout=0.1)
    error = failure_of(provider)
    provider.close()
    assert error.kind == "network"
    assert "no reply for 0.1 s" in str(error)


def test_a_deadline_may_be_infinite(server, provider):
    server.script(answering("hello"))
    assert provider.complete(model_call(QUESTION, deadline=math.inf)).text == "hello"


def test_a_closed_port_says_so():
    with socket.socket() as listener:  # so that nobody else can listen there
        listener.bind(("127.0.0.1", 0))
        provider = provider_at(f"http://127.0.0.1:{listener.getsockname()[1]}")
        error = failure_of(provider)
    provider.close()
    assert error.kind == "network"
    assert "Connection refused" in str(error)


def test_another_protocol_is_garbled():
    def greet(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            while not connection.recv(65536).endswith(b"}"):
                pass
            connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=greet, args=(listener,))
        thread.start()
        provider = provider_at(f"http://127.0.0.1:{listener.getsockname()[1]}")
        error = failure_of(provider)
        provider.close()
        thread.join()
    assert error.kind == "invalid_response"
    assert "not HTTP" in str(error)


def test_close_from_another_thread_ends_a_call(server, provider):
    server.script(
        lambda _request: (threading.Thread(target=provider.close).start(), Reply(fault="hang"))[1]
    )
    error = failure_of(provider)
    assert "aborted" in str(error)
    assert "aborted" in str(failure_of(provider)), "a closed provider takes no more calls"
    assert len(server.requests) == 1


def test_ctrl_c_ends_a_call(server, provider):
    def interrupt(_request) -> Reply:
        os.kill(os.getpid(), signal.SIGINT)
        return Reply(fault="hang")

    server.script(interrupt)
    with pytest.raises(KeyboardInterrupt):
        provider.complete(model_call(QUESTION))
