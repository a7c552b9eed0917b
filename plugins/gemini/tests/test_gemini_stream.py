"""Streamed replies of Gemini.

The splitter here is independent of the decoder, and so are the cases.
"""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
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
    ProviderError,
    Request,
    StreamEvent,
    Text,
    Usage,
)
from code_commit_gemini.config import GeminiConfig
from code_commit_gemini.wire import GeminiWire

CASES = Path(__file__).parent / "cases"
WHOLE = sorted(
    path.name for path in CASES.glob("*.json") if "error" not in json.loads(path.read_bytes())
)
HELLO = Message("user", (Text("hello"),))
WIRE = GeminiWire(GeminiConfig(model="gemini-2.5-pro"))


def event(chunk: object) -> StreamEvent:
    return StreamEvent("", json.dumps(chunk).encode())


def streamed(*chunks: object) -> tuple[Completion, list[Delta]]:
    decoder = WIRE.stream()
    deltas = [delta for chunk in chunks for delta in decoder.feed(event(chunk))]
    return decoder.finish(), deltas


def chunk(*parts: dict, **members: object) -> dict:
    return {
        "candidates": [{"content": {"role": "model", "parts": list(parts)}, "index": 0} | members]
    }


def piece(part: dict) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": [part]}}]}


def recorded(name: str) -> list[object]:
    """Return the events of a case, which is as the service sends it."""
    lines = (CASES / name).read_text().splitlines()
    return [json.loads(line.removeprefix("data: ")) for line in lines if line]


def split(reply: dict[str, Any], sizes: Iterator[int]) -> Iterator[dict[str, Any]]:
    """Yield the events for a whole reply; `sizes` are of the pieces of its text."""
    head = {
        name: value for name, value in reply.items() if name not in {"candidates", "usageMetadata"}
    }
    usage = {"usageMetadata": reply["usageMetadata"]} if "usageMetadata" in reply else {}
    first = {"usageMetadata": {"promptTokenCount": 1, "totalTokenCount": 1}} if usage else {}
    if not reply.get("candidates"):
        yield reply
        return
    last = reply["candidates"][0]
    for part in last.get("content", {}).get("parts", ()):
        text = part.get("text", "")
        bare = {name: part[name] for name in part if name not in {"text", "thoughtSignature"}}
        signature = {name: part[name] for name in part if name == "thoughtSignature"}
        size = next(sizes)
        while text and size < len(text):
            yield piece({**bare, "text": text[:size]}) | first
            text = text[size:]
            size = next(sizes)
        if signature and text and size % 2:  # the service sends it with the last piece, or after it
            yield piece({**bare, "text": text}) | first
            text = ""
        end = {**bare, **signature}
        if "text" in part:
            end["text"] = text
        yield piece(end) | first
    members = {name: value for name, value in last.items() if name != "content"}
    role = {"content": {"role": "model"}} if "content" in last else {}
    yield {"candidates": [members | role]} | head | usage


words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=40)
arguments = st.dictionaries(
    words, st.one_of(words, st.integers(), st.none(), st.lists(words, max_size=2)), max_size=3
)
call_parts = st.builds(
    lambda name, args, signed: {"functionCall": {"name": name, "args": args}} | signed,
    words,
    arguments,
    st.sampled_from([{}, {"thoughtSignature": "c2ln"}]),
)
other_parts = st.one_of(
    call_parts, st.builds(lambda text: {"executableCode": {"code": text}}, words)
)


@st.composite
def replies(draw: st.DrawFn) -> dict[str, Any]:
    """A whole reply: thoughts, text and calls in any order.

    It has no neighbors of one kind, which would be one part.
    """
    parts: list[dict[str, Any]] = []
    for _ in range(draw(st.integers(0, 5))):
        kind = draw(st.sampled_from(["text", "thought", "other"]))
        signed = draw(st.sampled_from([{}, {}, {"thoughtSignature": "c2lnbmVk"}]))
        part = draw(other_parts) if kind == "other" else {"text": draw(words)} | signed
        part |= {"thought": True} if kind == "thought" else {}
        before = parts[-1] if parts else {}
        same = "text" in part and "text" in before and part.get("thought") == before.get("thought")
        if not (same and "thoughtSignature" not in before):
            parts.append(part)
    reply: dict[str, Any] = {
        "candidates": [{"content": {"role": "model"}, "finishReason": "STOP", "index": 0}]
    }
    if parts:
        reply["candidates"][0]["content"]["parts"] = parts
    if draw(st.booleans()):
        reply["usageMetadata"] = {
            "promptTokenCount": 7,
            "candidatesTokenCount": 3,
            "thoughtsTokenCount": 2,
        }
    if draw(st.booleans()):
        reply |= {"responseId": draw(words), "modelVersion": draw(words)}
    return reply


@given(replies(), st.lists(st.integers(1, 9), min_size=1, max_size=9))
def test_any_cut_of_a_reply_gives_the_same_completion(reply, sizes):
    def cycle() -> Iterator[int]:
        while True:
            yield from sizes

    completion, deltas = streamed(*split(reply, cycle()))
    assert completion == WIRE.decode(200, {}, json.dumps(reply).encode())
    assert "".join(delta.text for delta in deltas if delta.kind == "text") == completion.text
    tools = [delta for delta in deltas if delta.kind == "tool"]
    assert [(delta.name, delta.text) for delta in tools] == [
        (call.name, call.raw) for call in completion.tool_calls
    ]
    assert len({delta.index for delta in tools}) == len(tools)


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize("name", WHOLE)
def test_recorded_replies_are_the_same_when_streamed(name, size):
    body = (CASES / name).read_bytes()
    completion, _ = streamed(*split(json.loads(body), iter([size] * len(body))))
    whole = WIRE.decode(200, {}, body)
    assert replace(completion, raw={}) == replace(whole, raw={})
    assert WIRE.decode(200, {}, json.dumps(completion.raw).encode()) == completion


@pytest.mark.parametrize(
    ("name", "finish", "text", "thinking", "calls", "usage"),
    [
        ("stream__text.sse", Finish.STOP, "Two plus two is four.\n", "", [], Usage(12, 7)),
        (
            "stream__thought_and_signature.sse",
            Finish.STOP,
            "4",
            "Adding up.\n\nDone.\n",
            [],
            Usage(9, 41, None, None, 40),
        ),
        (
            "stream__calls.sse",
            Finish.TOOL_CALLS,
            "",
            "Which files?\n",
            ["a.txt", "b.txt"],
            Usage(31, 52, 20, None, 40),
        ),
        ("stream__blocked_prompt.sse", Finish.FILTERED, "", "", [], Usage(8, 0)),
        ("stream__cut_by_safety.sse", Finish.FILTERED, "So far", "", [], Usage(8, 3)),
    ],
)
def test_streams_as_the_service_sends_them(name, finish, text, thinking, calls, usage):
    completion, deltas = streamed(*recorded(name))
    assert (completion.finish, completion.text, completion.usage) == (finish, text, usage)
    assert "".join(delta.text for delta in deltas if delta.kind == "thinking") == thinking
    assert [call.arguments_object["path"] for call in completion.tool_calls] == calls
    assert completion.model == "gemini-3-made-up"


def test_thoughts_and_signatures_of_a_stream_go_back():
    completion, _ = streamed(*recorded("stream__calls.sse"))
    contents = WIRE.encode(Request((HELLO, completion.message))).body["contents"]
    assert contents[1]["parts"] == completion.raw["candidates"][0]["content"]["parts"]
    assert [part.get("thoughtSignature") for part in contents[1]["parts"]] == [
        None,
        "c2lnLTE=",
        None,
    ]


def test_a_stream_is_asked_for_at_its_own_address():
    request = Request((HELLO,), max_tokens=50)
    call = WIRE.encode_stream(request)
    assert call.path == "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse"
    assert call.body == WIRE.encode(request).body


def test_deltas_tell_the_parts_apart():
    _, deltas = streamed(
        chunk({"text": "hm", "thought": True}),
        chunk({"text": "a"}, {"text": ""}, {"text": "b"}),
        chunk(
            {"functionCall": {"name": "now", "args": {"zone": "UTC"}}},
            {},
            {"functionCall": {"name": "now"}},
        ),
        chunk(finishReason="STOP"),
    )
    assert deltas == [
        Delta("thinking", "hm", 0),
        Delta("text", "a", 1),
        Delta("text", "b", 1),
        Delta("tool", '{"zone": "UTC"}', 2, "now"),
        Delta("tool", "", 3, "now"),
    ]


def test_a_finish_may_be_followed_by_nothing_of_the_reply():
    ending = (
        chunk({"text": ""}),
        {"usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 1}},
    )
    completion, _ = streamed(chunk({"text": "a"}, finishReason="STOP"), *ending)
    assert (completion.text, completion.finish, completion.usage) == ("a", Finish.STOP, Usage(3, 1))


def test_only_the_first_candidate_is_read():
    second = {"content": {"parts": [{"text": "other"}]}, "index": 1, "finishReason": "STOP"}
    first = chunk({"text": "one"}, finishReason="STOP")
    completion, deltas = streamed({"candidates": [*first["candidates"], second]})
    assert (completion.text, deltas) == ("one", [Delta("text", "one")])
    assert len(completion.raw["candidates"]) == 2


@pytest.mark.parametrize(
    "chunks",
    [
        (),
        (chunk({"text": "half"}),),
        (chunk(finishReason="STOP"), chunk({"text": "half"})),
        (chunk({"text": "half"}), {"usageMetadata": {"promptTokenCount": 3}}),
        (chunk({"text": "half"}) | {"promptFeedback": {"safetyRatings": []}},),
        ({"usageMetadata": {"promptTokenCount": 3}},),
    ],
)
def test_a_reply_without_its_end_broke_off(chunks):
    with pytest.raises(ProviderError) as caught:
        streamed(*chunks)
    assert caught.value.kind == "network"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}, "server"),
        ({"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}, "rate"),
        ({"code": 400, "message": "no", "status": "INVALID_ARGUMENT"}, "rejected"),
        ("odd", "server"),
    ],
)
def test_an_error_in_the_middle(error, kind):
    with pytest.raises(ProviderError) as caught:
        streamed(chunk({"text": "half"}), {"error": error}, chunk(finishReason="STOP"))
    assert caught.value.kind == kind


def test_what_arrived_is_told():
    decoder = WIRE.stream()
    assert (decoder.partial().text, decoder.partial().usage, decoder.partial().model) == (
        "",
        None,
        None,
    )
    counted = {
        "usageMetadata": {"promptTokenCount": 3, "totalTokenCount": 9},
        "modelVersion": "g-1",
    }
    decoder.feed(event(chunk({"text": "hm", "thought": True})))
    decoder.feed(event(chunk({"text": "so"}) | counted))
    decoder.feed(event(chunk({"text": " far"})))
    arrived = decoder.partial()
    assert (arrived.text, arrived.usage, arrived.model) == ("so far", Usage(3, 6), "g-1")
    decoder.feed(event(chunk({"text": "!"}, finishReason="STOP")))
    assert decoder.finish().text == "so far!"


HOSTILE = [
    b"",
    b"no JSON",
    b"null",
    b"[]",
    b"7",
    b'{"candidates": 7}',
    b'{"candidates": [7]}',
    b'{"candidates": [{"content": []}]}',
    b'{"candidates": [{"content": {"parts": {}}}]}',
    b'{"candidates": [{"content": {"parts": [null]}}]}',
    b'{"candidates": [{"content": {"parts": [{"text": {}}]}}]}',
    b'{"candidates": [{"content": {"parts": [{"functionCall": "f"}]}}]}',
    b'{"candidates": [{"content": {"parts": [{"functionCall": {"name": 7}}]}}]}',
    b'{"candidates": [{"index": "0"}]}',
    b'{"a":' * 100_000,
    b'{"candidates": [{"content": {"parts": [{"functionCall": {"args": '
    + b"[" * 50_000
    + b"]" * 50_000
    + b"}}]}}]}",
]


@pytest.mark.parametrize("data", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_event_is_an_invalid_response(data):
    decoder = WIRE.stream()
    decoder.feed(event(chunk({"text": "half"})))
    with pytest.raises(ProviderError) as caught:
        decoder.feed(StreamEvent("", data))
    assert caught.value.kind == "invalid_response"
    assert decoder.partial().text == "half"


def test_a_huge_index_needs_no_memory():
    chunks = [
        {"candidates": [{"index": index, "finishReason": "STOP"}]} for index in (10**9, 10**30, -1)
    ]
    assert len(streamed(*chunks)[0].raw["candidates"]) == 3


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | words,
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "candidates",
                        "content",
                        "parts",
                        "text",
                        "index",
                        "functionCall",
                        "args",
                        "name",
                        "error",
                    ]
                ),
                inner,
            )
        ),
        max_leaves=12,
    )
)
def test_no_event_crashes(value):
    decoder = WIRE.stream()
    try:
        decoder.feed(event({"candidates": [value], "usageMetadata": value, "modelVersion": value}))
        decoder.finish()
    except ProviderError:
        pass
    decoder.partial()


@pytest.mark.parametrize(
    "chunk_of",
    [
        lambda number: chunk({"functionCall": {"name": "f"}}),
        lambda number: chunk({"text": "x", "thought": number % 2 == 0}),
        lambda number: {"candidates": [{"index": number}]},
        lambda number: chunk(**{f"m{number}": 1}),
        lambda number: {"candidates": [{f"m{number}": 1}]},
        lambda number: {"candidates": [{"content": {f"m{number}": 1}}]},
        lambda number: {f"m{number}": 1},
    ],
)
def test_a_flood_of_parts_is_an_invalid_response(chunk_of):
    with pytest.raises(ProviderError, match="too many parts") as caught:
        streamed(*map(chunk_of, range(10_100)))
    assert caught.value.kind == "invalid_response"


def test_small_pieces_need_no_memory_of_their_own():
    pieces = [event(chunk({"text": f"{number:03} "})) for number in range(1000)]
    decoder = WIRE.stream()
    tracemalloc.start()
    for _ in range(20):
        for piece in pieces:
            decoder.feed(piece)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(decoder.partial().text) == 80_000
    assert peak < 500_000
