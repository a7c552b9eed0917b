"""Streamed replies of OpenAI and its servers. The cases are independent of the decoder."""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_commit.plugin_api import (
    Completion,
    Delta,
    Finish,
    Message,
    Opaque,
    ProviderError,
    Request,
    StreamEvent,
    Text,
    ToolResult,
    Usage,
)
from code_commit_openai.config import OpenAIConfig
from code_commit_openai.wire import OpenAIWire

CASES = Path(__file__).parent / "cases"
HELLO = Message("user", (Text("hello"),))
WIRE = OpenAIWire(OpenAIConfig(model="gpt-5"))
DONE = StreamEvent("", b"[DONE]")


def event(chunk: object) -> StreamEvent:
    return StreamEvent("", json.dumps(chunk).encode())


def streamed(*events: object) -> tuple[Completion, list[Delta]]:
    decoder = WIRE.stream()
    deltas: list[Delta] = []
    for sent in events:
        deltas += decoder.feed(sent if isinstance(sent, StreamEvent) else event(sent))
    return decoder.finish(), deltas


def chunk(delta: dict | None = None, finish: str | None = None, **members: object) -> dict:
    return {"choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish} | members]}


def recorded(name: str) -> list[StreamEvent]:
    """Return the events of a case, which is as the server sends it."""
    lines = (CASES / name).read_text().splitlines()
    return [
        StreamEvent("", line.removeprefix("data: ").encode())
        for line in lines
        if line.startswith("data: ")
    ]


@pytest.mark.parametrize(
    ("name", "finish", "text", "thinking", "called", "usage"),
    [
        (
            "stream__openai_text.sse",
            Finish.STOP,
            "Two plus two is four.",
            "",
            [],
            Usage(14, 6, 0, None, 0),
        ),
        (
            "stream__openai_calls.sse",
            Finish.TOOL_CALLS,
            "",
            "",
            ["a.txt", "b.txt"],
            Usage(60, 44, 0, None, 0),
        ),
        (
            "stream__openai_refusal.sse",
            Finish.REFUSED,
            "I cannot help with that.",
            "",
            [],
            Usage(9, 7),
        ),
        ("stream__azure_filter.sse", Finish.FILTERED, "So far", "", [], Usage()),
        ("stream__llama_cpp.sse", Finish.STOP, "Four.", "Adding.", [], Usage(11, 5)),
        (
            "stream__vllm_call.sse",
            Finish.TOOL_CALLS,
            "",
            "I need a file.",
            ["a.txt"],
            Usage(20, 15),
        ),
        ("stream__ollama_calls.sse", Finish.TOOL_CALLS, "", "", ["a.txt", "b.txt"], Usage(33, 21)),
        (
            "stream__openrouter_details.sse",
            Finish.STOP,
            "Four.",
            "Add the two.",
            [],
            Usage(8, 9, 2, None, 4),
        ),
        (
            "stream__deepseek_reasoning.sse",
            Finish.LENGTH,
            "Fo",
            "First, add.",
            [],
            Usage(8, 5, 0, None, 4),
        ),
        (
            "stream__mistral_thinking.sse",
            Finish.STOP,
            "Two plus two is 4.",
            "Add the two.",
            [],
            Usage(10, 12),
        ),
        ("stream__groq_whole_call.sse", Finish.TOOL_CALLS, "", "", ["a.txt"], Usage(21, 9)),
    ],
)
def test_streams_as_servers_send_them(name, finish, text, thinking, called, usage):
    completion, deltas = streamed(*recorded(name))
    assert (completion.finish, completion.text, completion.usage) == (finish, text, usage)
    for kind, expected in (("text", text), ("thinking", thinking)):
        assert "".join(delta.text for delta in deltas if delta.kind == kind) == expected
    assert [call.arguments_object["path"] for call in completion.tool_calls] == called
    assert len({call.id for call in completion.tool_calls} - {""}) == len(called)
    assert completion.model == "made-up"
    assert completion.raw["object"] == "chat.completion"
    assert WIRE.decode(200, {}, json.dumps(completion.raw).encode()) == completion


def test_thinking_of_a_stream_goes_back_with_its_calls():
    completion, _ = streamed(*recorded("stream__vllm_call.sse"))
    (call,) = completion.tool_calls
    result = Message("user", (ToolResult(call.id, call.name, "text of a"),))
    sent = WIRE.encode(Request((HELLO, completion.message, result))).body["messages"][1]
    assert sent["reasoning_content"] == "I need a file."
    assert sent["tool_calls"][0]["id"] == call.id


def test_details_of_thinking_are_put_together():
    completion, _ = streamed(*recorded("stream__openrouter_details.sse"))
    details = completion.message.parts[0]
    assert isinstance(details, Opaque)
    assert details.data["reasoning_details"] == [
        {
            "type": "reasoning.text",
            "text": "Add the two.",
            "format": "made-up-v1",
            "index": 0,
            "signature": "c2ln",
        },
        {"type": "reasoning.encrypted", "data": "b3BhcXVl", "format": "made-up-v1", "index": 1},
    ]


def test_a_stream_is_asked_for_with_its_usage():
    request = Request((HELLO,), max_tokens=50)
    call = WIRE.encode_stream(request)
    whole = WIRE.encode(request)
    assert call.path == whole.path
    assert call.body == {**whole.body, "stream": True, "stream_options": {"include_usage": True}}
    assert call.optional == ("stream_options",)


# --- what differs between servers


def piece(index: int | None, arguments: object = "", **members: Any) -> dict:
    name = {"name": members.pop("name")} if "name" in members else {}
    numbered = {} if index is None else {"index": index}
    return {**numbered, **members, "function": {**name, "arguments": arguments}}


@pytest.mark.parametrize(
    "deltas",
    [
        # In pieces, one after the other, and in turn.
        [
            [piece(0, "", id="a", name="f")],
            [piece(0, "{}")],
            [piece(1, "", id="b", name="g")],
            [piece(1, "[]")],
        ],
        [
            [piece(0, "{", id="a", name="f")],
            [piece(1, "[", id="b", name="g")],
            [piece(0, "}"), piece(1, "]")],
        ],
        [[piece(1, "[]", id="b", name="g")], [piece(0, "{}", id="a", name="f")]],
        [[piece(10**9, "{}", id="a", name="f")], [piece(10**18, "[]", id="b", name="g")]],
        # The name is repeated, empty or null.
        [
            [piece(0, "{", id="a", name="f")],
            [piece(0, "}", id="a", name="f")],
            [piece(1, "[]", id="b", name="g")],
        ],
        [
            [piece(0, "", id="a", name="f")],
            [piece(0, "{}", id=None, name="")],
            [piece(1, "[]", id="b", name="g")],
        ],
        # Without an index, or with the same one.
        [[piece(None, "{}", id="a", name="f"), piece(None, "[]", id="b", name="g")]],
        [
            [piece(None, "{", id="a", name="f")],
            [piece(None, "}")],
            [piece(None, "[]", id="b", name="g")],
        ],
        [
            [piece(None, "{", id="a", name="f")],
            [piece(None, "[]", id="b", name="g")],
            [piece(None, "}", id="a")],
        ],
        [[piece(0, "{}", id="a", name="f")], [piece(0, "[", id="b", name="g")], [piece(0, "]")]],
    ],
)
def test_calls_are_told_apart(deltas):
    chunks = [chunk({"tool_calls": calls}) for calls in deltas]
    completion, _ = streamed(*chunks, chunk(finish="tool_calls"))
    assert [(call.id, call.name, call.raw) for call in completion.tool_calls] == [
        ("a", "f", "{}"),
        ("b", "g", "[]"),
    ]


def test_calls_without_ids_are_told_apart_by_their_names():
    calls = [piece(None, {"path": "a"}, name="read"), piece(None, {"path": "b"}, name="read")]
    completion, _ = streamed(chunk({"tool_calls": calls}, finish="stop"))
    first, second = completion.tool_calls
    assert [call.arguments for call in completion.tool_calls] == [{"path": "a"}, {"path": "b"}]
    assert first.id != second.id


MINIMAX_END = {
    "choices": [{"message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}]
}


@pytest.mark.parametrize(
    "events",
    [
        [chunk({"role": "assistant"}), chunk({"content": "Hi"}), chunk(finish="stop"), DONE],
        [chunk({"content": "H"}), chunk({"content": "i"}, finish="stop")],
        [
            chunk({"content": "H"}, finish=""),
            chunk({"content": "i"}, finish="stop"),
            chunk({}, finish=""),
        ],
        [
            {
                "choices": [
                    {"message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}
                ]
            },
            DONE,
        ],
        [
            chunk({"content": "Hi"}),
            chunk(finish="stop", logprobs=None),
            StreamEvent("", b" [DONE]\n"),
        ],
        [
            chunk({"content": [{"type": "text", "text": "H"}]}),
            chunk({"content": "i"}, finish="stop"),
        ],
        [
            chunk({"content": "H"}),
            chunk({"content": [{"type": "text", "text": "i"}]}, finish="stop"),
        ],
        [chunk({"content": "Hi"}, finish="stop"), DONE, StreamEvent("", b"anything")],
        [chunk({"content": "H"}), chunk({"content": "i", "role": ""}), MINIMAX_END, DONE],
    ],
)
def test_beginnings_and_ends_of_servers(events):
    completion, deltas = streamed(*events)
    assert (completion.text, completion.finish) == ("Hi", Finish.STOP)
    assert {delta.index for delta in deltas} == {0}


def test_a_message_that_differs_from_the_stream_is_invalid():
    with pytest.raises(ProviderError) as caught:
        streamed(chunk({"content": "H"}), MINIMAX_END, DONE)
    assert caught.value.kind == "invalid_response"


def test_a_placeholder_does_not_hide_the_model():
    head = {"id": "", "model": "", "created": 0, "choices": []}
    completion, _ = streamed(
        head, chunk({"content": "Hi"}, "stop") | {"id": "c-1", "model": "real"}, head
    )
    assert (completion.model, completion.raw["id"]) == ("real", "c-1")


@pytest.mark.parametrize(
    "events",
    [
        [],
        [chunk({"content": "half"})],
        [chunk({"content": "half"}, finish="")],
    ],
)
def test_a_reply_without_its_end_broke_off(events):
    with pytest.raises(ProviderError) as caught:
        streamed(*events)
    assert caught.value.kind == "network"


@pytest.mark.parametrize("finish", [None, ""])
def test_done_ends_a_reply_without_a_finish_reason(finish):
    completion, _ = streamed(
        chunk({"content": "all"}, finish=finish), chunk({"content": " of it"}, finish=finish), DONE
    )
    assert (completion.text, completion.finish, completion.finish_detail) == (
        "all of it",
        Finish.STOP,
        "",
    )
    whole = {
        "choices": [
            {"message": {"role": "assistant", "content": "all of it"}, "finish_reason": finish}
        ]
    }
    assert replace(completion, raw={}) == replace(
        WIRE.decode(200, {}, json.dumps(whole).encode()), raw={}
    )


def test_done_alone_is_an_empty_reply_as_a_whole_one_is():
    with pytest.raises(ProviderError) as caught:
        streamed(DONE)
    assert caught.value.kind == "invalid_response"


@pytest.mark.parametrize("data", [b'{"choices": [{"delta": {"content": "ha', b'{"choices": ['])
def test_an_event_that_was_cut_on_its_way_is_a_lost_connection(data):
    decoder = WIRE.stream()
    decoder.feed(event(chunk({"content": "half"})))
    with pytest.raises(ProviderError) as caught:
        decoder.feed(StreamEvent("", data))
    assert caught.value.kind == "network"


@pytest.mark.parametrize(
    ("failed", "kind"),
    [
        ({"error": {"message": "busy", "type": "server_error", "code": None}}, "server"),
        (
            {"error": {"message": "gone", "code": 502}, **chunk({"content": ""}, finish="error")},
            "server",
        ),
        (chunk({}, finish="error", error={"message": "gone", "code": 429}), "rate"),
        ({"error": "odd"}, "server"),
        (
            {"object": "error", "message": "gone", "type": "InternalServerError", "code": 500},
            "server",
        ),
        (StreamEvent("error", b'{"message": "busy", "type": "overloaded_error"}'), "server"),
    ],
)
def test_an_error_in_the_middle(failed, kind):
    decoder = WIRE.stream()
    decoder.feed(event(chunk({"content": "half"})))
    with pytest.raises(ProviderError) as caught:
        decoder.feed(failed if isinstance(failed, StreamEvent) else event(failed))
    assert caught.value.kind == kind


def test_what_arrived_is_told():
    decoder = WIRE.stream()
    assert (decoder.partial().text, decoder.partial().usage, decoder.partial().model) == (
        "",
        None,
        None,
    )
    counted = {"model": "m-1", "usage": {"prompt_tokens": 3, "completion_tokens": 2}}
    decoder.feed(event(chunk({"reasoning": "hm"})))
    decoder.feed(event(chunk({"content": "so"}) | counted))
    decoder.feed(event(chunk({"content": " far"})))
    arrived = decoder.partial()
    assert (arrived.text, arrived.usage, arrived.model) == ("so far", Usage(3, 2), "m-1")
    decoder.feed(event(chunk({"content": "!"}, finish="stop")))
    assert decoder.finish().text == "so far!"
    assert not decoder.ended, "the usage may follow"
    decoder.feed(DONE)
    assert decoder.ended


HOSTILE = [
    b"",
    b"no JSON",
    b"null",
    b"[]",
    b"7",
    b'{"choices": {}}',
    b'{"choices": [null]}',
    b'{"choices": [{"index": "0"}]}',
    b'{"choices": [{"delta": []}]}',
    b'{"choices": [{"delta": {"content": 7}}]}',
    b'{"choices": [{"delta": {"content": [7]}}]}',
    b'{"choices": [{"delta": {"content": [{"type": "text", "text": {}}]}}]}',
    b'{"choices": [{"delta": {"content": [{"type": "thinking", "thinking": [7]}]}}]}',
    b'{"choices": [{"delta": {"reasoning_content": ["x"]}}]}',
    b'{"choices": [{"delta": {"reasoning_details": "x"}}]}',
    b'{"choices": [{"delta": {"reasoning_details": [{"type": "reasoning.text", "text": 7}]}}]}',
    b'{"choices": [{"delta": {"tool_calls": "x"}}]}',
    b'{"choices": [{"delta": {"tool_calls": [{"index": "0"}]}}]}',
    b'{"choices": [{"delta": {"tool_calls": [{"index": 0, "id": {}}]}}]}',
    b'{"choices": [{"delta": {"tool_calls": [{"index": 0, "function": []}]}}]}',
    b'{"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"name": 7}}]}}]}',
    b'{"a":' * 100_000,
]


@pytest.mark.parametrize("data", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_event_is_an_invalid_response(data):
    decoder = WIRE.stream()
    decoder.feed(event(chunk({"content": "half"})))
    with pytest.raises(ProviderError) as caught:
        decoder.feed(StreamEvent("", data))
    assert caught.value.kind == "invalid_response"
    assert decoder.partial().text == "half"


words = st.text(max_size=9)
NAMES = [
    "content",
    "reasoning",
    "reasoning_details",
    "tool_calls",
    "index",
    "function",
    "arguments",
    "name",
    "id",
    "type",
]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | words,
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(NAMES), inner),
        max_leaves=12,
    )
)
def test_no_event_crashes(value):
    for delta in (value, {"content": value}, {"tool_calls": [{"index": 0, "function": value}]}):
        decoder = WIRE.stream()
        try:
            decoder.feed(
                event({"choices": [{"delta": delta, "finish_reason": "stop"}], "usage": value})
            )
            decoder.finish()
        except ProviderError:
            pass
        decoder.partial()


@pytest.mark.parametrize(
    "chunk_of",
    [
        lambda number: chunk({"tool_calls": [{"index": number}]}),
        lambda number: chunk({"content": [{"type": f"t{number}"}]}),
        lambda number: chunk({"reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}]}),
        lambda number: {"choices": [{"index": number}]},
        lambda number: chunk(**{f"m{number}": 1}),
        lambda number: chunk({f"m{number}": 1}),
        lambda number: chunk({"tool_calls": [{"index": 0, f"m{number}": 1}]}),
        lambda number: chunk({"tool_calls": [{"index": 0, "function": {f"m{number}": 1}}]}),
        lambda number: {f"m{number}": 1},
    ],
)
def test_a_flood_of_parts_is_an_invalid_response(chunk_of):
    with pytest.raises(ProviderError, match="too many parts") as caught:
        streamed(*map(chunk_of, range(10_100)))
    assert caught.value.kind == "invalid_response"


def test_small_pieces_need_no_memory_of_their_own():
    events = [event(chunk({"content": f"{number:03} "})) for number in range(1000)]
    decoder = WIRE.stream()
    tracemalloc.start()
    for _ in range(20):
        for sent in events:
            decoder.feed(sent)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(decoder.partial().text) == 80_000
    assert peak < 500_000
