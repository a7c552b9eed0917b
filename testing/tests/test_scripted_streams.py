"""What the scripted server streams, read from the socket by no code of the project."""

from __future__ import annotations

import gzip
import http.client
import json
import threading
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from code_commit.plugin_api import Finish, StreamEvent, ToolCall, Usage
from code_commit_testing import Reply, ScriptedServer, Stream

PATHS = {
    "gemini": "/v1beta/models/gemini-x:streamGenerateContent?alt=sse",
    "openai": "/v1/chat/completions",
    "anthropic": "/v1/messages",
}
ASKED = {
    "gemini": {},
    "openai": {"model": "gpt-x", "stream": True, "stream_options": {"include_usage": True}},
    "anthropic": {"model": "claude-x", "stream": True},
}
PROTOCOLS = sorted(PATHS)


@pytest.fixture
def server():
    with ScriptedServer() as server:
        yield server


@contextmanager
def response(server, protocol="openai", path=None, body=None) -> Iterator[http.client.HTTPResponse]:
    connection = http.client.HTTPConnection(server.address.removeprefix("http://"), timeout=30)
    with closing(connection):
        connection.request(
            "POST", path or PATHS[protocol], json.dumps(ASKED[protocol] if body is None else body)
        )
        with connection.getresponse() as answer:
            yield answer


def arrived(server, protocol="openai", **request) -> bytes:
    """Return what arrived until the connection broke."""
    with response(server, protocol, **request) as answer:
        try:
            return answer.read()
        except http.client.IncompleteRead as error:
            return error.partial
        except ConnectionResetError:
            return b"reset"


def events(body: bytes) -> list[tuple[str, Any]]:
    """Return the name and the document of each event, comments left out."""
    events_read = []
    for block in body.replace(b"\r\n", b"\n").decode().split("\n\n")[:-1]:
        fields = [line.partition(": ") for line in block.split("\n") if not line.startswith(":")]
        values = {name: value for name, _, value in fields}
        if values:
            data = values["data"]
            events_read.append(
                (values.get("event", ""), data if data == "[DONE]" else json.loads(data))
            )
    return events_read


def test_openai_streams_text_usage_and_its_end(server):
    server.script(Reply("Hi there", usage=Usage(7, 3)))
    *chunks, usage, end = [document for _, document in events(arrived(server))]
    assert [chunk["choices"][0]["delta"] for chunk in chunks] == [
        {"role": "assistant", "content": ""},
        {"content": "Hi th"},
        {"content": "ere"},
        {},
    ]
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None, None, None, "stop"]
    assert [chunk["usage"] for chunk in chunks] == [None] * 4
    assert (usage["choices"], usage["usage"]["prompt_tokens"], end) == ([], 7, "[DONE]")


def test_openai_sends_usage_only_if_it_is_asked_for(server):
    server.script(Reply("Hi"))
    assert b"usage" not in arrived(server, body={"model": "m", "stream": True})


def test_openai_streams_reasoning_refusals_and_calls_in_pieces(server):
    calls = (ToolCall("c1", "read_file", {"path": "a.txt"}), ToolCall("c2", "now", {}))
    server.script(Reply(thinking="hm", tool_calls=calls), Reply("No.", finish=Finish.REFUSED))
    deltas = [document["choices"][0]["delta"] for _, document in events(arrived(server))[:-2]]
    assert deltas[1] == {"reasoning_content": "hm"}
    pieces = [piece for delta in deltas for piece in delta.get("tool_calls", ())]
    starts = [piece for piece in pieces if "id" in piece]
    assert [(start["index"], start["id"], start["function"]) for start in starts] == [
        (0, "c1", {"name": "read_file", "arguments": ""}),
        (1, "c2", {"name": "now", "arguments": ""}),
    ]
    written = "".join(piece["function"]["arguments"] for piece in pieces if piece["index"] == 0)
    assert json.loads(written) == {"path": "a.txt"}
    assert len(pieces) > 5
    refused = [document["choices"][0]["delta"] for _, document in events(arrived(server))[:-2]]
    assert refused == [{"role": "assistant", "content": None}, {"refusal": "No."}, {}]


def test_anthropic_streams_blocks(server):
    call = ToolCall("c1", "read_file", {"path": "a"})
    server.script(
        Reply("Hi", thinking="hm", signature="c2ln", tool_calls=(call,), usage=Usage(7, 30))
    )
    sent = events(arrived(server, "anthropic"))
    assert all(name == document["type"] for name, document in sent)
    start, *blocks, delta, stop = [document for _, document in sent]
    assert start["message"] | {"usage": None, "id": None} == {
        "id": None,
        "type": "message",
        "role": "assistant",
        "model": "claude-x",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": None,
    }
    assert (
        start["message"]["usage"]["input_tokens"],
        start["message"]["usage"]["output_tokens"],
    ) == (7, 1)
    assert [block["type"].removeprefix("content_block_") for block in blocks] == [
        *("start", "ping", "delta", "delta", "stop"),
        *("start", "delta", "stop"),
        *("start", "delta", "delta", "delta", "delta", "stop"),
    ]
    assert [block["content_block"] for block in blocks if "content_block" in block] == [
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "text", "text": ""},
        {"type": "tool_use", "id": "c1", "name": "read_file", "input": {}},
    ]
    deltas = [block["delta"] for block in blocks if "delta" in block]
    assert deltas[:3] == [
        {"type": "thinking_delta", "thinking": "hm"},
        {"type": "signature_delta", "signature": "c2ln"},
        {"type": "text_delta", "text": "Hi"},
    ]
    assert deltas[3]["partial_json"] == ""
    assert json.loads("".join(piece["partial_json"] for piece in deltas[3:])) == {"path": "a"}
    assert delta["delta"] == {"stop_reason": "tool_use", "stop_sequence": None}
    assert (delta["usage"], stop) == ({"output_tokens": 30}, {"type": "message_stop"})


def test_gemini_streams_parts(server):
    call = ToolCall("", "read_file", {"path": "a"})
    server.script(
        Reply("Hi there", thinking="hm", signature="c2ln", tool_calls=(call,), usage=Usage(7, 30))
    )
    body = arrived(server, "gemini")
    assert body.count(b"\r\n\r\n") == body.count(b"data: ")
    chunks = [document for _, document in events(body)]
    assert [chunk["candidates"][0]["content"]["parts"] for chunk in chunks] == [
        [{"text": "hm", "thought": True}],
        [{"text": "Hi th"}],
        [{"text": "ere"}],
        [
            {
                "functionCall": {"name": "read_file", "args": {"path": "a"}},
                "thoughtSignature": "c2ln",
            }
        ],
        [{"text": ""}],
    ]
    assert [chunk["candidates"][0].get("finishReason") for chunk in chunks] == [None] * 4 + ["STOP"]
    assert "candidatesTokenCount" not in chunks[0]["usageMetadata"]
    assert chunks[-1]["usageMetadata"]["promptTokenCount"] == 7


def test_gemini_sends_a_list_without_alt_sse(server):
    server.script(Reply("Hi there"))
    with response(server, "gemini", PATHS["gemini"].partition("?")[0]) as answer:
        assert answer.headers["content-type"] == "application/json"
        assert len(json.loads(answer.read())) == 3


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_only_a_request_that_asks_gets_events(server, protocol):
    server.script(
        "one", "two", Reply("three", stream=None), Reply.error(429, "slow down"), Reply(body=b"{}")
    )
    whole = PATHS[protocol].replace(":streamGenerateContent?alt=sse", ":generateContent")
    assert arrived(server, protocol, path=whole, body={"model": "m"}).startswith(b"{")
    with response(server, protocol) as answer:
        assert answer.headers["content-type"] == "text/event-stream"
        assert answer.read().startswith((b"data: ", b"event: "))
    assert b"three" in arrived(server, protocol)
    with response(server, protocol) as answer:
        assert (answer.status, json.loads(answer.read())["error"]["message"]) == (429, "slow down")
    assert arrived(server, protocol) == b"{}"
    assert [request.streams for request in server.requests] == [False, True, True, True, True]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_error_in_the_middle_has_the_format_of_the_protocol(server, protocol):
    server.script(Reply("some words", stream=Stream(after=2, then=Reply.error(529, "Overloaded"))))
    *before, (name, error) = events(arrived(server, protocol))
    assert len(before) == 2
    assert error["error"]["message"] == "Overloaded"
    assert name == ("error" if protocol == "anthropic" else "")


def test_a_stream_breaks_off_where_the_test_says(server):
    server.script(
        "some words",
        *[Reply("some words", stream=Stream(after_bytes=n, then="end")) for n in (0, 1, 99)],
    )
    whole = arrived(server)
    assert [arrived(server) for _ in range(3)] == [b"", whole[:1], whole[:99]]
    server.script(
        *[Reply("some words", stream=Stream(after=2, then=then)) for then in ("end", "drop")]
    )
    with response(server) as answer:
        assert len(events(answer.read())) == 2
    with response(server) as answer, pytest.raises(http.client.IncompleteRead) as caught:
        answer.read()
    assert len(events(caught.value.partial)) == 2
    server.script(
        Reply("some words", fault="half"), Reply("some words", stream=Stream(after=0, then="reset"))
    )
    assert len(arrived(server)) == len(whole) // 2
    assert arrived(server) == b"reset"


def test_a_gate_sends_one_event_for_each_release(server):
    gate = threading.Semaphore(0)
    server.script(Reply("some words", stream=Stream(gate=gate)))
    with response(server) as answer:
        for expected in ("", "some ", "words"):
            gate.release()
            line = answer.readline()
            assert (
                json.loads(line.removeprefix(b"data: "))["choices"][0]["delta"]["content"]
                == expected
            )
            assert answer.readline() == b"\n"
        gate.release(99)
        assert answer.read().endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize(
    "stream", [Stream(after=1, then="stall"), Stream(gate=threading.Semaphore(1))]
)
def test_a_stream_that_waits_ends_with_the_server(stream):
    with ScriptedServer([Reply("some words", stream=stream)]) as server, response(server) as answer:
        assert answer.readline().startswith(b"data: ")
        threading.Thread(target=server.close).start()
        with pytest.raises((http.client.HTTPException, ConnectionError)):
            answer.read()


def test_keep_alives_are_pings_or_comments(server):
    server.script(*[Reply("Hi", stream=Stream(keep_alives=3)) for _ in range(2)])
    body = arrived(server)
    assert body.count(b": keep-alive\n\n") == 3 * len(events(body))
    assert [name for name, _ in events(arrived(server, "anthropic"))][:4] == ["ping"] * 3 + [
        "message_start"
    ]


def test_a_compressed_stream_is_whole_or_cut(server):
    server.script(
        "some words",
        *[Reply("some words", stream=Stream(gzip=True, after_bytes=n)) for n in (None, 50)],
    )
    plain = arrived(server)
    with response(server) as answer:
        assert answer.headers["content-encoding"] == "gzip"
        assert gzip.decompress(answer.read()) == plain
    assert plain.startswith(zlib.decompressobj(wbits=31).decompress(arrived(server)))


def test_events_and_lines_of_another_protocol(server):
    own = (StreamEvent("word", b"one"), StreamEvent("", b"two\nthree"))
    server.script(
        Reply(stream=Stream(events=own, newline="\r")),
        Reply(stream=Stream(events=own[:1], lines=True)),
    )
    assert arrived(server, path="/own") == b"event: word\rdata: one\r\rdata: two\rdata: three\r\r"
    assert arrived(server, path="/own") == b"one\n"


def test_a_server_refuses_what_it_does_not_know():
    with ScriptedServer(
        ["Hi", "Hi"], refuses=["stream_options", "streamGenerateContent"]
    ) as server:
        with response(server) as answer:
            assert (answer.status, b"'stream_options'" in answer.read()) == (400, True)
        assert arrived(server, body={"stream": True}).startswith(b"data: ")
        with response(server, "gemini") as answer:
            assert (answer.status, b"streamGenerateContent" in answer.read()) == (404, True)
        assert server.unused == 1
