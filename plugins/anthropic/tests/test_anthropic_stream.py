"""Streamed replies of Anthropic. The cases are independent of the decoder."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_commit.plugin_api import (
    Completion,
    Delta,
    Finish,
    Message,
    ProviderError,
    Request,
    StreamEvent,
    Text,
    ToolResult,
    Usage,
)
from code_commit_anthropic.config import AnthropicConfig
from code_commit_anthropic.wire import AnthropicWire

CASES = Path(__file__).parent / "cases"
HELLO = Message("user", (Text("hello"),))
WIRE = AnthropicWire(AnthropicConfig(model="claude-sonnet-4-5"))
STOP = {"type": "message_stop"}


def event(data: dict) -> StreamEvent:
    return StreamEvent(str(data.get("type", "")), json.dumps(data).encode())


def streamed(*events: StreamEvent | dict) -> tuple[Completion, list[Delta]]:
    decoder = WIRE.stream()
    deltas: list[Delta] = []
    for sent in events:
        deltas += decoder.feed(sent if isinstance(sent, StreamEvent) else event(sent))
    return decoder.finish(), deltas


def begin(**members: object) -> dict:
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": "claude-made-up",
    }
    return {
        "type": "message_start",
        "message": message | {"stop_reason": None, "usage": {"input_tokens": 3}} | members,
    }


def start(index: int, **block: object) -> dict:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, **members: object) -> dict:
    return {"type": "content_block_delta", "index": index, "delta": members}


def text(index: int, words: str) -> dict:
    return delta(index, type="text_delta", text=words)


def end(reason: str | None = "end_turn", **usage: int) -> tuple[dict, dict]:
    return {
        "type": "message_delta",
        "delta": {"stop_reason": reason, "stop_sequence": None},
        "usage": usage,
    }, STOP


def recorded(name: str) -> list[StreamEvent]:
    """Return the events of a case, which is as the service sends it."""
    events = []
    for block in (CASES / name).read_text().strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        events.append(StreamEvent(fields["event"], fields["data"].encode()))
    return events


@pytest.mark.parametrize(
    ("name", "finish", "words", "thinking", "called", "usage"),
    [
        ("stream__text.sse", Finish.STOP, "Two plus two is four.", "", [], Usage(14, 9, 0, 0)),
        (
            "stream__thinking_and_calls.sse",
            Finish.TOOL_CALLS,
            "Reading.",
            "Which file?",
            ["a.txt", None],
            Usage(57, 61, 40, 2, 20),
        ),
        ("stream__redacted_thinking.sse", Finish.STOP, "Four.", "", [], Usage(14, 30, 0, 0)),
        ("stream__refusal.sse", Finish.REFUSED, "", "", [], Usage(14, 2, 0, 0)),
        (
            "stream__citations.sse",
            Finish.LENGTH,
            "It is four, they say",
            "",
            [],
            Usage(90, 12, 0, 0),
        ),
        ("stream__counts_at_the_end.sse", Finish.STOP, "Four.", "", [], Usage(21, 3, 8)),
    ],
)
def test_streams_as_the_service_sends_them(name, finish, words, thinking, called, usage):
    completion, deltas = streamed(*recorded(name))
    assert (completion.finish, completion.text, completion.usage) == (finish, words, usage)
    for kind, expected in (("text", words), ("thinking", thinking)):
        assert "".join(delta.text for delta in deltas if delta.kind == kind) == expected
    assert [call.arguments_object.get("path") for call in completion.tool_calls] == called
    assert completion.model == "claude-made-up"
    assert WIRE.decode(200, {}, json.dumps(completion.raw).encode()) == completion


def test_thinking_of_a_stream_goes_back_unchanged():
    completion, _ = streamed(*recorded("stream__thinking_and_calls.sse"))
    results = Message(
        "user", tuple(ToolResult(call.id, call.name, "x") for call in completion.tool_calls)
    )
    sent = WIRE.encode(Request((HELLO, completion.message, results))).body["messages"][1]["content"]
    assert sent == [
        {"type": "thinking", "thinking": "Which file?", "signature": "c2lnLTE="},
        {"type": "text", "text": "Reading."},
        {
            "type": "tool_use",
            "id": "toolu_made_up_1",
            "name": "read_file",
            "input": {"path": "a.txt"},
        },
        {"type": "tool_use", "id": "toolu_made_up_2", "name": "now", "input": {}},
    ]


def test_citations_are_kept():
    completion, _ = streamed(*recorded("stream__citations.sse"))
    assert [block.get("citations") for block in completion.raw["content"]] == [
        None,
        [
            {
                "type": "char_location",
                "cited_text": "4",
                "document_index": 0,
                "start_char_index": 0,
                "end_char_index": 1,
            }
        ],
    ]


def test_a_stream_is_asked_for():
    request = Request((HELLO,), max_tokens=50)
    call, whole = WIRE.encode_stream(request), WIRE.encode(request)
    assert (call.path, call.headers) == (whole.path, whole.headers)
    assert call.body == {**whole.body, "stream": True}


def test_deltas_tell_the_parts_apart():
    _, deltas = streamed(
        begin(),
        start(0, type="thinking", thinking="", signature=""),
        delta(0, type="thinking_delta", thinking="hm"),
        start(1, type="text", text=""),
        text(1, "a"),
        text(1, ""),
        text(1, "b"),
        start(2, type="tool_use", id="t1", name="now", input={}),
        delta(2, type="input_json_delta", partial_json='{"zone":'),
        delta(2, type="input_json_delta", partial_json=' "UTC"}'),
        *end("tool_use"),
    )
    assert deltas == [
        Delta("thinking", "hm", 0),
        Delta("text", "a", 1),
        Delta("text", "b", 1),
        Delta("tool", "", 2, "now"),
        Delta("tool", '{"zone":', 2, "now"),
        Delta("tool", ' "UTC"}', 2, "now"),
    ]


@pytest.mark.parametrize(
    "events",
    [
        [start(0, type="text", text=""), text(0, "Hi"), *end()],
        [start(0, type="text", text="H"), text(0, "i"), *end()],
        [start(0, type="text", text="Hi"), *end()],
        [start(0, type="text"), text(0, "Hi"), {"type": "content_block_stop", "index": 0}, *end()],
        [{"type": "ping"}, start(1, type="text", text=""), {"type": "news"}, text(1, "Hi"), *end()],
        [start(1, type="text", text="i"), start(0, type="text", text="H"), *end()],
        [
            start(0, type="text", text=""),
            delta(0, type="news_delta", news=1),
            text(0, "Hi"),
            *end(),
            text(0, "!"),
        ],
        [begin(usage={"input_tokens": 99}), start(0, type="text", text=""), text(0, "Hi"), *end()],
        [start(0, type="text", text=""), text(0, "Hi"), end()[0], *end()],
        [start(0, type="text", text="Hi"), *end(input_tokens=0)],
    ],
)
def test_other_orders_and_kinds_of_events(events):
    completion, _ = streamed(begin(), *events)
    assert (completion.text, completion.finish, completion.usage.input) == ("Hi", Finish.STOP, 3)


def test_the_kind_of_an_event_may_be_its_name_alone():
    events = [begin(), start(0, type="text", text="Hi"), *end()]
    named = [
        StreamEvent(
            data["type"],
            json.dumps({name: value for name, value in data.items() if name != "type"}).encode(),
        )
        for data in events
    ]
    assert streamed(*named)[0].text == "Hi"


@pytest.mark.parametrize(
    "events",
    [
        (),
        (STOP,),
        (begin(),),
        (begin(), start(0, type="text", text=""), text(0, "half")),
        (begin(), start(0, type="text", text="half"), end()[0]),
    ],
)
def test_a_reply_without_its_end_broke_off(events):
    with pytest.raises(ProviderError) as caught:
        streamed(*events)
    assert caught.value.kind == "network"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"type": "overloaded_error", "message": "Overloaded"}, "server"),
        ({"type": "api_error", "message": ""}, "server"),
        ({"type": "rate_limit_error", "message": ""}, "rate"),
        ({"type": "invalid_request_error", "message": "no"}, "rejected"),
        ({"type": "odd"}, "server"),
        ("slow down", "server"),
    ],
)
@pytest.mark.parametrize("members", [{"type": "error"}, {}])
def test_an_error_in_the_middle(error, kind, members):
    with pytest.raises(ProviderError) as caught:
        streamed(begin(), start(0, type="text", text="half"), {**members, "error": error}, *end())
    assert caught.value.kind == kind


def test_output_that_is_filtered_in_the_middle():
    error = {
        "type": "invalid_request_error",
        "message": "Output blocked by content filtering policy",
    }
    completion, _ = streamed(
        begin(), start(0, type="text", text="half"), {"type": "error", "error": error}
    )
    assert (completion.finish, completion.text) == (Finish.FILTERED, "")


def test_what_arrived_is_told():
    decoder = WIRE.stream()
    assert (decoder.partial().text, decoder.partial().usage, decoder.partial().model) == (
        "",
        None,
        None,
    )
    for data in (
        begin(),
        start(0, type="thinking", thinking="hm"),
        start(1, type="text", text="so"),
        text(1, " far"),
    ):
        decoder.feed(event(data))
    arrived = decoder.partial()
    assert (arrived.text, arrived.usage, arrived.model) == ("so far", Usage(3), "claude-made-up")
    assert not decoder.ended
    for data in (text(1, "!"), *end(output_tokens=4)):
        decoder.feed(event(data))
    assert (decoder.finish().text, decoder.ended) == ("so far!", True)
    assert decoder.partial().usage == Usage(3, 4)


HOSTILE = [
    b"",
    b"no JSON",
    b"null",
    b"[]",
    b"7",
    b"{}",
    b'{"type": 7}',
    b'{"type": "message_start"}',
    b'{"type": "message_start", "message": []}',
    b'{"type": "message_delta", "delta": 7}',
    b'{"type": "message_delta", "delta": {}, "usage": []}',
    b'{"type": "content_block_start", "index": 9}',
    b'{"type": "content_block_start", "content_block": {"type": "text"}}',
    b'{"type": "content_block_start", "index": "9", "content_block": {"type": "text"}}',
    b'{"type": "content_block_start", "index": 0, "content_block": {"type": "text"}}',
    b'{"type": "content_block_start", "index": 9, "content_block": {"type": "text", "text": 7}}',
    b'{"type": "content_block_start", "index": 9, "content_block": {"type": "tool_use", "name": []}}',
    b'{"type": "content_block_delta", "index": 9, "delta": {"type": "text_delta", "text": "x"}}',
    b'{"type": "content_block_delta", "index": null, "delta": {"type": "text_delta", "text": "x"}}',
    b'{"type": "content_block_delta", "index": 0}',
    b'{"type": "content_block_delta", "index": 0, "delta": {"type": 7}}',
    b'{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta"}}',
    b'{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": null}}',
    b'{"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "x"}}',
    b'{"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": {}}}',
    b'{"type": "error"}',
    b'{"a":' * 100_000,
]


@pytest.mark.parametrize("data", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_event_is_an_invalid_response(data):
    decoder = WIRE.stream()
    decoder.feed(event(begin()) if b"message_start" not in data else event({"type": "ping"}))
    if b"message_start" not in data:
        decoder.feed(event(start(0, type="text", text="half")))
        decoder.feed(event(start(1, type="tool_use", id="t1", name="now", input={})))
    with pytest.raises(ProviderError) as caught:
        decoder.feed(StreamEvent("", data))
    assert caught.value.kind == "invalid_response"
    assert decoder.partial().text == ("" if b"message_start" in data else "half")


def test_a_huge_index_needs_no_memory():
    starts = [start(index, type="text", text="x") for index in (10**9, 10**30, -1)]
    assert streamed(begin(), *starts, *end())[0].text == "xxx"


NAMES = [
    "type",
    "index",
    "text",
    "thinking",
    "partial_json",
    "name",
    "input",
    "citations",
    "signature",
    "usage",
]
words = st.text(max_size=9)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | words,
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(NAMES), inner),
    max_leaves=12,
)


@given(values, values)
def test_no_event_crashes(value, other):
    for events in (
        [{"type": "message_start", "message": value}, *end()],
        [
            begin(),
            start(0, type="text", text="", citations=other),
            delta(0, type="x_delta", citation=value),
            *end(),
        ],
        [begin(), {"type": "content_block_start", "index": 0, "content_block": value}, *end()],
        [begin(content=value, usage=other), *end()],
        [begin(), {"type": "message_delta", "delta": value, "usage": other}, STOP],
    ):
        decoder = WIRE.stream()
        try:
            for data in events:
                decoder.feed(event(data))
            decoder.finish()
        except ProviderError:
            pass
        decoder.partial()


@pytest.mark.parametrize(
    "chunk_of",
    [
        lambda number: start(number + 1, type="text", text=""),
        lambda number: delta(0, type="citations_delta", citation={}),
        lambda number: {"type": "message_delta", "delta": {f"m{number}": 1}},
        lambda number: {"type": "message_delta", "usage": {f"m{number}": 1}},
    ],
)
def test_a_flood_of_parts_is_an_invalid_response(chunk_of):
    with pytest.raises(ProviderError, match="too many parts") as caught:
        streamed(begin(), start(0, type="text", text=""), *map(chunk_of, range(10_100)))
    assert caught.value.kind == "invalid_response"


def test_small_pieces_need_no_memory_of_their_own():
    events = [event(text(0, f"{number:03} ")) for number in range(1000)]
    decoder = WIRE.stream()
    for first in (begin(), start(0, type="text", text="")):
        decoder.feed(event(first))
    tracemalloc.start()
    for _ in range(20):
        for sent in events:
            decoder.feed(sent)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(decoder.partial().text) == 80_000
    assert peak < 500_000
