"""Streamed replies from a server that sends raw bytes: what arrives, and each fault on the way."""

from __future__ import annotations

import base64
import gzip
import json
import threading
from collections.abc import Mapping, Sequence
from queue import SimpleQueue

import pytest

from code_commit.models.http import Endpoint, HttpProvider
from code_commit.plugin_api import (
    Completion,
    Delta,
    Finish,
    HttpCall,
    Message,
    PartialReply,
    ProviderDefinition,
    ProviderError,
    Request,
    StreamEvent,
    Text,
    Usage,
    reply_error,
    reply_object,
)
from code_commit_testing import Reply, ScriptedServer, model_call
from code_commit_testing.raw_server import RawServer, Step

KEY = "sk-a/key+with=odd%chars"
DEFINITION = ProviderDefinition(
    "plain", {}, "https://service.invalid", None, None, ("x-key", "{key}"), "u:U", "u:U"
)
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n"
OPEN_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
END = b"0\r\n\r\n"


class PlainWire:
    """Events are {"t": text}, {"error": …, "kind": …} and {"end": true}; a whole reply is {"a":
    text}.
    """

    def encode(self, request: Request) -> HttpCall:
        return HttpCall("/ask", {"q": "".join(part.text for part in request.messages[0].parts)})

    def encode_stream(self, request: Request) -> HttpCall:
        call = self.encode(request)
        return HttpCall(
            "/ask", {**call.body, "stream": True, "stream_usage": True}, optional=("stream_usage",)
        )

    def decode(self, status: int, headers: Mapping[str, str], body: bytes) -> Completion:
        reply = reply_object(body, status, headers)
        if status != 200:
            raise reply_error(status, words=reply["error"])
        return Completion(
            Message("assistant", (Text(reply["a"]),)),
            Finish.STOP,
            "stop",
            Usage(),
            "plain-1",
            reply,
        )

    def stream(self) -> PlainDecoder:
        return PlainDecoder()


class PlainDecoder:
    def __init__(self) -> None:
        self.text, self.ended = "", False

    def feed(self, event: StreamEvent) -> list[Delta]:
        piece = reply_object(event.data)
        if "error" in piece:
            raise ProviderError(piece["error"][:400], kind=piece.get("kind", "server"))
        self.ended = self.ended or "end" in piece
        self.text += piece.get("t", "")
        return [Delta("text", piece["t"])] if "t" in piece else []

    def finish(self) -> Completion:
        if not self.ended:
            raise ProviderError("the reply broke off", kind="network")
        return PlainWire().decode(200, {}, json.dumps({"a": self.text}).encode())

    def partial(self) -> PartialReply:
        return PartialReply(self.text)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(**piece) -> bytes:
    return b"data: %s\n\n" % json.dumps(piece).encode()


def whole(status: str, kind: str = "application/json", more: str = "", **body) -> bytes:
    data = json.dumps(body).encode()
    head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nconnection: close\r\n{more}content-length: {len(data)}\r\n\r\n"
    return head.encode() + data


HELLO = event(t="hel") + event(t="lo")
GOOD = [HEAD + chunk(HELLO + event(end=True)) + END]


class Asked:
    """What one call gave: its text or its error, what arrived, and the warnings."""

    def __init__(self, provider: HttpProvider, seconds: float = 30, *, stream: bool = True) -> None:
        self.arrived: list[StreamEvent | Delta] = []
        self.warnings: list[str] = []
        self.text, self.error = None, None
        fields = {"stream": stream, "progress": self.arrived.append, "warn": self.warnings.append}
        try:
            self.text = provider.complete(model_call("a question", seconds=seconds, **fields)).text
        except ProviderError as error:
            self.error = error

    @property
    def deltas(self) -> str:
        return "".join(piece.text for piece in self.arrived if isinstance(piece, Delta))


@pytest.fixture
def ask():
    opened = []

    def ask(
        server: RawServer, *, wire=None, seconds: float = 30, stream: bool = True, **endpoint
    ) -> Asked:
        if not opened:
            opened.append(
                HttpProvider(
                    DEFINITION, Endpoint(server.address, KEY, **endpoint), wire or PlainWire()
                )
            )
        return Asked(opened[0], seconds, stream=stream)

    yield ask
    for provider in opened:
        provider.close()


# --- what arrives


def test_events_and_deltas_arrive_before_the_reply_ends(ask):
    seen = threading.Event()
    with RawServer(
        [HEAD + chunk(HELLO), lambda _: seen.wait(60), chunk(event(end=True)) + END]
    ) as server:
        provider = HttpProvider(DEFINITION, Endpoint(server.address, KEY), PlainWire())
        arrived = []

        def progress(item):
            arrived.append(item)
            if item == Delta("text", "lo"):
                seen.set()

        completion = provider.complete(model_call("?", stream=True, progress=progress))
        provider.close()
    kinds = [type(piece).__name__ for piece in arrived]
    assert (completion.text, kinds) == (
        "hello",
        ["StreamEvent", "Delta", "StreamEvent", "Delta", "StreamEvent"],
    )
    assert b'"stream":true,"stream_usage":true' in server.requests[0]
    sent = server.requests[0].lower()
    assert b"\r\naccept: text/event-stream, application/x-ndjson, application/json\r\n" in sent
    assert b"\r\naccept-encoding: identity\r\n" in sent  # compression could hold pieces back


@pytest.mark.parametrize(
    "script",
    [
        [HEAD, *(chunk(b"%c" % byte) for byte in HELLO + event(end=True)), END],
        [
            OPEN_HEAD,
            b"\xef\xbb\xbf\r\n: hello\r\n\r\n" + (HELLO + event(end=True)).replace(b"\n", b"\r\n"),
        ],
        [b"HTTP/1.1 200 OK\r\n\r\n", HELLO + event(end=True)],
        [
            b"HTTP/1.1 200 OK\r\ncontent-type: Text/Plain ; charset=utf-8\r\n\r\n",
            HELLO + event(end=True),
        ],
        *(
            [
                f"HTTP/1.1 200 OK\r\ncontent-type: application/{name}\r\n\r\n".encode(),
                b'{"t": "hello"}\n\n{"end": true}',
            ]
            for name in ("x-ndjson", "ndjson", "jsonl", "x-jsonlines")
        ),
        [
            OPEN_HEAD.replace(b"\r\n\r\n", b"\r\ncontent-encoding: gzip\r\n\r\n"),
            gzip.compress(HELLO + event(end=True)),
        ],
    ],
    ids=[
        "bytewise",
        "CRLF and a mark",
        "no type",
        "text",
        "x-ndjson",
        "ndjson",
        "jsonl",
        "x-jsonlines",
        "gzip",
    ],
)
def test_a_stream_is_read_in_all_its_forms(ask, script):
    with RawServer(script) as server:
        outcome = ask(server)
    assert (outcome.error, outcome.text, outcome.deltas) == (None, "hello", "hello")


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream", "text/plain"])
def test_a_whole_reply_instead_of_a_stream_is_read(ask, kind):
    with RawServer([whole("200 OK", kind, a="hello")]) as server:
        outcome = ask(server)
    assert (outcome.text, outcome.arrived, outcome.warnings) == ("hello", [], [])


def test_an_error_instead_of_a_stream_is_read(ask):
    with RawServer(
        [whole("429 Slow", "text/event-stream", "retry-after: 7\r\n", error="too fast")]
    ) as server:
        error = ask(server).error
    assert (error.kind, error.retry_after, error.body) == ("rate", 7.0, '{"error": "too fast"}')


def test_one_connection_serves_stream_after_stream(ask, monkeypatch):
    monkeypatch.setattr("code_commit.models.http.streamed_reply._CLOSING_SECONDS", 60)
    stream = Reply(body=HELLO + event(end=True), headers={"content-type": "text/event-stream"})
    with ScriptedServer([stream, stream]) as server:
        assert [ask(server).text, ask(server).text] == ["hello", "hello"]
    first, second = server.requests
    assert first.port == second.port


# --- servers that refuse to stream

REFUSED = whole("400 Bad Request", error="unknown field: stream_usage")


def test_a_server_that_does_not_know_an_option_streams_without_it(ask):
    with RawServer([REFUSED], GOOD, GOOD) as server:
        outcomes = [ask(server), ask(server)]
    assert [outcome.text for outcome in outcomes] == ["hello", "hello"]
    assert [b"stream_usage" in request for request in server.requests] == [True, False, False]
    assert [outcome.warnings for outcome in outcomes] == [
        ["plain refused an option of streaming"],
        [],
    ]


@pytest.mark.parametrize("status", ["400 Bad", "404 None", "405 No", "422 What"])
def test_a_server_that_refuses_to_stream_is_asked_for_whole_replies(ask, status):
    refused, good = (
        [whole(status, error="Streaming is not supported")],
        [whole("200 OK", a="hello")],
    )
    with RawServer(refused, refused, good, good) as server:
        outcomes = [ask(server), ask(server)]
    assert [outcome.text for outcome in outcomes] == ["hello", "hello"]
    assert [b'"stream":' in request for request in server.requests] == [True, True, False, False]
    warning = 'plain refused to stream; set stream = "never" to ask for whole replies at once'
    assert [outcome.warnings for outcome in outcomes] == [[warning], []]


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        ("404 None", "no such model", "rejected"),
        ("403 No", "no streaming", "auth"),
        ("500 Oops", "no stream", "server"),
    ],
)
def test_any_other_refusal_is_the_answer(ask, status, error, kind):
    with RawServer([whole(status, error=error)], GOOD) as server:
        outcome = ask(server)
    assert (outcome.error.kind, outcome.warnings, len(server.requests)) == (kind, [], 1)


def test_a_refusal_that_goes_on_without_streaming_is_remembered_by_nobody(ask):
    refused = [whole("404 None", error="no such model for streams")]
    with RawServer(refused, refused, refused, GOOD) as server:
        outcomes = [ask(server), ask(server)]
    assert (outcomes[0].error.kind, outcomes[0].warnings, outcomes[1].text) == (
        "rejected",
        [],
        "hello",
    )


class WholeWire:
    encode = PlainWire.encode
    decode = PlainWire.decode


@pytest.mark.parametrize(("wire", "stream"), [(WholeWire(), True), (PlainWire(), False)])
def test_a_whole_reply_is_asked_for(ask, wire, stream):
    with RawServer([whole("200 OK", a="hello")]) as server:
        outcome = ask(server, wire=wire, stream=stream)
    assert (outcome.text, outcome.warnings, b"stream" in server.requests[0]) == ("hello", [], False)


# --- faults

GZIPPED = gzip.compress(b"".join(event(t=str(number)) for number in range(1000)))
FAULTS: dict[str, tuple[Sequence[Step], str, str]] = {
    "dropped": ([HEAD + chunk(HELLO)], "network", "the connection was lost"),
    "no end": ([HEAD + chunk(HELLO) + END], "network", "the reply broke off"),
    "an event without its blank line": (
        [HEAD + chunk(HELLO + event(end=True)[:-1]) + END], "network", "the reply broke off",
    ),
    "nothing": ([HEAD + END], "network", "the reply broke off"),
    "gzip, cut": (
        [OPEN_HEAD.replace(b"\r\n\r\n", b"\r\ncontent-encoding: gzip\r\n\r\n"), GZIPPED[:-100]],
        "network", "the compressed reply is truncated",
    ),
    "gzip, garbled": (
        [OPEN_HEAD.replace(b"\r\n\r\n", b"\r\ncontent-encoding: gzip\r\n\r\n"), GZIPPED[:500], b"x" * 5000],
        "invalid_response", "the compressed reply is corrupt",
    ),
    "an error": ([HEAD + chunk(HELLO + event(error="busy")) + END], "server", "busy"),
    "a limit of the rate before the text": ([HEAD + chunk(event(error="busy", kind="rate")) + END], "rate", "busy"),
    "one after it": ([HEAD + chunk(HELLO + event(error="busy", kind="rate")) + END], "server", "busy"),
    "an invalid event": ([HEAD + chunk(HELLO + b"data: oops\n\n") + END], "invalid_response", "not JSON"),
    "a wire that stumbles": ([HEAD + chunk(event(t=1)) + END], "invalid_response", "could not read the reply"),
    "a large event": ([HEAD + chunk(b"data: " + b"x" * 60_000)], "invalid_response", "larger than 50000 bytes"),
    "a flood of comments": ([HEAD] + [chunk((b": %s\n\n" % (b"ping" * 250)) * 40)] * 120, "invalid_response", "larger than 4000000"),
    "a whole reply that is too large": ([whole("200 OK", a="x" * 100_000)], "invalid_response", "larger than 100000"),
    "one that is labeled as a stream": ([HEAD + chunk(b'{"a": "' + b"x" * 100_000)], "invalid_response", "larger than 100000"),
    "a page": ([b"HTTP/1.1 200 OK\r\n\r\n<html>"], "invalid_response", "a web page"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_an_error_of_its_kind_and_the_next_try_begins_anew(ask, fault):
    script, kind, says = FAULTS[fault]
    with RawServer(script, GOOD) as server:
        failed = ask(server, size_cap=100_000)
        again = ask(server)
    assert (failed.error.kind, says in str(failed.error)) == (kind, True), failed.error
    assert str(failed.error).startswith("plain at 127.0.0.1:")
    assert failed.error.body == "" or not failed.deltas
    assert again.text == again.deltas == "hello"


def test_silence_after_the_first_byte_is_a_stall(ask):
    with RawServer([HEAD + chunk(HELLO), lambda server: server.closing.wait(60)]) as server:
        outcome = ask(server, stall_timeout=0.2)
    assert (outcome.error.kind, "no data for 0.2 s" in str(outcome.error), outcome.deltas) == (
        "network",
        True,
        "hello",
    )


FINISHED = HEAD + chunk(HELLO + event(end=True))


@pytest.mark.parametrize(
    "after",
    [
        [],
        [b"7\r\nhalf"],
        [lambda server: server.closing.wait(60)],
        [chunk(b": ping\n\n" * 20_000)],
        [b"no chunk\r\n"],
    ],
    ids=["dropped", "cut", "stalled", "a flood", "garbage"],
)
def test_a_reply_with_its_own_end_counts_whatever_follows(ask, after):
    with RawServer([FINISHED, *after]) as server:
        outcome = ask(server, stall_timeout=0.2, size_cap=3000)
    assert (outcome.text, len(server.requests), outcome.warnings) == ("hello", 1, [])


def test_a_stream_that_stays_open_after_its_own_end_is_left(ask):
    waits: SimpleQueue[bool] = SimpleQueue()
    with RawServer([FINISHED, lambda server: waits.put(server.closing.wait(60))]) as server:
        outcome = ask(server)
    assert outcome.text == "hello"
    assert waits.get(timeout=60), "the client waited until the server gave up"


def test_silence_before_the_first_byte_has_its_own_limit(ask):
    with RawServer(
        [HEAD, lambda server: server.closing.wait(0.3), GOOD[0].removeprefix(HEAD), END]
    ) as server:
        assert ask(server, stall_timeout=0.05).text == "hello"


def test_pings_do_not_move_the_deadline(ask):
    pings: list[Step] = [chunk(b": ping\n\n"), lambda server: server.closing.wait(0.01)]
    with RawServer([HEAD, *pings * 3000]) as server:
        outcome = ask(server, seconds=0.3)
    assert (outcome.error.kind, "time limit" in str(outcome.error)) == ("network", True)


def test_close_from_another_thread_ends_a_flood(ask):
    with RawServer([HEAD, *[chunk(event(t="x" * 100) * 500)] * 4000]) as server:
        provider = HttpProvider(DEFINITION, Endpoint(server.address, KEY), PlainWire())
        after = []

        def progress(item):
            if not after:
                thread = threading.Thread(target=provider.close)
                thread.start()
                thread.join()
            after.append(item)

        with pytest.raises(ProviderError, match="aborted"):
            provider.complete(model_call("?", stream=True, progress=progress))
    assert len(after) < 2 * 1000, "what is parsed already, at most"


def test_a_stream_that_was_given_up_leaves_no_thread(ask):
    with RawServer([HEAD, *[chunk(event(t="x" * 1000) * 100)] * 400]) as server:
        provider = HttpProvider(DEFINITION, Endpoint(server.address, KEY), PlainWire())

        def stop(_):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            provider.complete(model_call("?", stream=True, progress=stop))
        for thread in threading.enumerate():
            if thread.name == "code-commit plain":
                thread.join(60)
                assert not thread.is_alive()


# --- keys


@pytest.mark.parametrize("filler", [0, 390])
@pytest.mark.parametrize("key", [KEY, base64.b64encode(KEY.encode()).decode()])
def test_a_key_in_an_error_event_is_blotted_out(ask, filler, key):
    with RawServer([HEAD + chunk(HELLO + event(error="x" * filler + key)) + END]) as server:
        error = ask(server).error  # the wire may have cut it
    assert error.kind == "server"
    assert key[:8] not in f"{error!r} {error.body}"


def test_an_error_of_the_run_log_is_not_the_services(ask):
    def full(_):
        raise OSError(28, "No space left on device")

    with RawServer(GOOD) as server:
        provider = HttpProvider(DEFINITION, Endpoint(server.address, KEY), PlainWire())
        with pytest.raises(OSError, match="No space"):
            provider.complete(model_call("?", stream=True, progress=full))
        provider.close()
