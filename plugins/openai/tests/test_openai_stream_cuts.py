"""A whole reply of OpenAI, cut into events anywhere. The splitter is independent of the decoder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_commit.plugin_api import Completion, Delta, StreamEvent
from code_commit_openai.config import OpenAIConfig
from code_commit_openai.wire import OpenAIWire

CASES = Path(__file__).parent / "cases"
WHOLE = sorted(
    path.name for path in CASES.glob("*.json") if json.loads(path.read_bytes()).get("choices")
)
WIRE = OpenAIWire(OpenAIConfig(model="gpt-5"))


def streamed(*events: object) -> tuple[Completion, list[Delta]]:
    decoder = WIRE.stream()
    deltas: list[Delta] = []
    for event in events:
        deltas += decoder.feed(StreamEvent("", json.dumps(event).encode()))
    decoder.feed(StreamEvent("", b"[DONE]"))
    return decoder.finish(), deltas


def pieces(text: str, sizes: Iterator[int]) -> Iterator[str]:
    while text:
        size = next(sizes)
        yield text[:size]
        text = text[size:]


def split(reply: dict[str, Any], sizes: Iterator[int]) -> Iterator[object]:
    """Yield the events for a whole reply; `sizes` are of the pieces of its text."""
    head = {name: value for name, value in reply.items() if name not in {"choices", "usage"}}
    head["object"] = "chat.completion.chunk"
    for choice in reply["choices"]:
        message, index = choice["message"], choice["index"]
        deltas: list[dict[str, Any]] = [
            {"role": message["role"], "content": None if "tool_calls" in message else ""}
        ]
        for name in ("reasoning_content", "reasoning", "content", "refusal"):
            deltas += [{name: piece} for piece in pieces(message.get(name) or "", sizes)]
        for number, call in enumerate(message.get("tool_calls") or ()):
            first = {**call, "index": number, "function": {**call["function"], "arguments": ""}}
            deltas.append({"tool_calls": [first]})
            deltas += [
                {"tool_calls": [{"index": number, "function": {"arguments": piece}}]}
                for piece in pieces(call["function"]["arguments"], sizes)
            ]
        for delta in deltas:
            yield {
                **head,
                "choices": [{"index": index, "delta": delta, "finish_reason": None}],
                "usage": None,
            }
        members = {
            name: value for name, value in choice.items() if name not in {"message", "delta"}
        }
        yield {**head, "choices": [members | {"delta": {}}], "usage": None}
    if reply.get("usage"):
        yield {**head, "choices": [], "usage": reply["usage"]}


words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=40)
functions = st.builds(
    lambda name, raw: {"name": name, "arguments": raw},
    words,
    st.one_of(words, st.just(""), st.dictionaries(words, words, max_size=2).map(json.dumps)),
)
calls = st.builds(
    lambda call_id, function, more: {"type": "function", "function": function, **call_id, **more},
    st.sampled_from([{}, {"id": "c1"}, {"id": "c2"}]),
    functions,
    st.sampled_from([{}, {"extra_content": {"google": {"thought_signature": "c2ln"}}}]),
)


@st.composite
def replies(draw: st.DrawFn) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": draw(st.none() | words)}
    for name in draw(st.sets(st.sampled_from(["reasoning_content", "reasoning", "refusal"]))):
        message[name] = draw(words)
    if tool_calls := draw(st.lists(calls, max_size=3)):
        message["tool_calls"] = tool_calls
    reply: dict[str, Any] = {"object": "chat.completion"}
    reply["choices"] = [
        {"index": 0, "message": message, "finish_reason": draw(st.sampled_from(["stop", "length"]))}
    ]
    if draw(st.booleans()):
        reply["choices"].append(
            {"index": 1, "message": {"role": "assistant", "content": "x"}, "finish_reason": "stop"}
        )
    if draw(st.booleans()):
        reply["usage"] = {
            "prompt_tokens": 7,
            "completion_tokens": 3,
            "prompt_tokens_details": {"cached_tokens": 2},
        }
    return reply | draw(
        st.sampled_from([{}, {"id": "chatcmpl-1", "model": "gpt-5-made-up", "created": 1}])
    )


@given(replies(), st.lists(st.integers(1, 9), min_size=1, max_size=9))
def test_any_cut_of_a_reply_gives_the_same_completion(reply, sizes):
    completion, deltas = streamed(*split(reply, cycle(sizes)))
    assert completion == WIRE.decode(200, {}, json.dumps(reply).encode())
    assert "".join(delta.text for delta in deltas if delta.kind == "text") == completion.text
    written: dict[int, list[str]] = {}
    for delta in deltas:
        if delta.kind == "tool":
            written.setdefault(delta.index, [delta.name]).append(delta.text)
    assert [(name, "".join(raw)) for name, *raw in written.values()] == [
        (call.name, call.raw) for call in completion.tool_calls
    ]


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize("name", WHOLE)
def test_recorded_replies_are_the_same_when_streamed(name, size):
    body = (CASES / name).read_bytes()
    completion, _ = streamed(*split(json.loads(body), cycle([size])))
    whole = WIRE.decode(200, {}, body)
    assert replace(completion, raw={}) == replace(whole, raw={})
    assert WIRE.decode(200, {}, json.dumps(completion.raw).encode()) == completion
