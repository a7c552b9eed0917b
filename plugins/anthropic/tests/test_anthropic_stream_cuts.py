"""A whole reply of Anthropic, cut into events anywhere.

The splitter is independent of the decoder.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import cycle
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from code_commit.plugin_api import StreamEvent
from code_commit_anthropic.config import AnthropicConfig
from code_commit_anthropic.wire import AnthropicWire

WIRE = AnthropicWire(AnthropicConfig(model="claude-sonnet-4-5"))
STOP = {"type": "message_stop"}


def start(index: int, **block: object) -> dict:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, **members: object) -> dict:
    return {"type": "content_block_delta", "index": index, "delta": members}


def pieces(words: str, sizes: Iterator[int]) -> Iterator[str]:
    while words:
        size = next(sizes)
        yield words[:size]
        words = words[size:]


def written_input(block: dict[str, Any]) -> str:
    arguments = block["input"]
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def split(reply: dict[str, Any], sizes: Iterator[int]) -> Iterator[dict[str, Any]]:
    """Yield the events for a whole reply; `sizes` are of the pieces of its text."""
    usage = reply["usage"]
    early = {
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**usage, "output_tokens": 1},
    }
    yield {"type": "message_start", "message": {**reply, **early}}
    yield {"type": "ping"}
    for index, block in enumerate(reply["content"]):
        kind = block["type"]
        if kind == "text":
            yield start(index, **{**block, "text": ""})
            for piece in pieces(block["text"], sizes):
                yield delta(index, type="text_delta", text=piece)
        elif kind == "thinking":
            yield start(index, type=kind, thinking="", signature="")
            for piece in pieces(block["thinking"], sizes):
                yield delta(index, type="thinking_delta", thinking=piece)
            yield delta(index, type="signature_delta", signature=block["signature"])
        elif kind == "tool_use":
            yield start(index, **{**block, "input": {}})
            for piece in ("", *pieces(written_input(block), sizes)):
                yield delta(index, type="input_json_delta", partial_json=piece)
        else:
            yield start(index, **block)
        yield {"type": "content_block_stop", "index": index}
    changed = {"stop_reason": reply["stop_reason"], "stop_sequence": reply["stop_sequence"]}
    yield {
        "type": "message_delta",
        "delta": changed,
        "usage": {"output_tokens": usage["output_tokens"]},
    }
    yield STOP


words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=40)
inputs = st.one_of(
    st.dictionaries(words, st.one_of(words, st.integers(), st.lists(words, max_size=2)), max_size=3)
)
blocks = st.one_of(
    st.builds(lambda words: {"type": "text", "text": words}, words | st.just("")),
    st.builds(
        lambda words: {"type": "thinking", "thinking": words, "signature": "c2ln"},
        words | st.just(""),
    ),
    st.builds(lambda words: {"type": "redacted_thinking", "data": words}, words),
    st.builds(
        lambda name, value: {"type": "tool_use", "id": "toolu_1", "name": name, "input": value},
        words,
        inputs | st.sampled_from(['{"path": "a.t', "[1]", "{"]),
    ),
    st.builds(lambda query: {"type": "some_later_block", "x": {"query": query}}, words),
)
replies = st.builds(
    lambda content, reason: {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-made-up",
        "content": content,
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {
            "input_tokens": 7,
            "cache_read_input_tokens": 5,
            "output_tokens": 9,
            "service_tier": "standard",
        },
    },
    st.lists(blocks, max_size=5),
    st.sampled_from(["end_turn", "tool_use", "max_tokens", "refusal", "pause_turn", None]),
)


@given(replies, st.lists(st.integers(1, 9), min_size=1, max_size=9))
def test_any_cut_of_a_reply_gives_the_same_completion(reply, sizes):
    decoder = WIRE.stream()
    deltas = [
        added
        for event in split(reply, cycle(sizes))
        for added in decoder.feed(StreamEvent(event["type"], json.dumps(event).encode()))
    ]
    completion = decoder.finish()
    assert completion == WIRE.decode(200, {}, json.dumps(reply).encode())
    written: dict[tuple[int, str], str] = {}
    for change in deltas:
        part = (change.index, change.kind)
        written[part] = written.get(part, "") + change.text
    texts = [words for (_, kind), words in written.items() if kind == "text"]
    assert "".join(texts) == completion.text
    for index, block in enumerate(reply["content"]):
        if block["type"] == "thinking":
            assert written.get((index, "thinking"), "") == block["thinking"]
        if block["type"] == "tool_use":
            assert written[index, "tool"] == written_input(block)
