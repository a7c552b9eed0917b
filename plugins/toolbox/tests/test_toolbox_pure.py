"""Pure functions: replacing, cutting, shortening and counting. Every cut must be reported."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_commit.plugin_api import Message, Opaque, Text, ToolCall, ToolResult
from code_commit_toolbox.context import sendable, shortened, tokens_of
from code_commit_toolbox.shortening import head_and_tail
from code_commit_toolbox.tool import ToolError
from code_commit_toolbox.tools.reading import lines_of
from code_commit_toolbox.tools.writing import replaced_once
from code_commit_toolbox.transcript import answered

FEW = st.text("ab\n", max_size=12)


# --- str_replace


@given(before=FEW, old=FEW.filter(bool), after=FEW, new=FEW)
def test_only_a_single_match_is_replaced(before, old, after, new):
    text = before + old + after
    places = [place for place in range(len(text)) if text.startswith(old, place)]
    if len(places) == 1 and old != new:
        assert replaced_once(text, old, new) == before + new + after
    else:
        with pytest.raises(ToolError) as refused:
            replaced_once(text, old, new)
        assert len(places) == 1 or f"{len(places)} times" in str(refused.value)


@given(
    lines=st.lists(st.text("abc", max_size=4), min_size=2, max_size=8, unique=True),
    new=st.text("xyz\n", max_size=6),
)
def test_crlf_line_endings_are_kept(lines, new):
    text = "".join(f"{line};\r\n" for line in lines)
    old = f"{lines[0]};\n{lines[1]};\n"
    changed = replaced_once(text, old, new)
    assert changed == new.replace("\n", "\r\n") + "".join(f"{line};\r\n" for line in lines[2:])


@given(text=FEW, old=st.text("cd", min_size=1))
def test_a_missing_passage_is_an_error(text, old):
    with pytest.raises(ToolError, match="0 matches"):
        replaced_once(text, old, "x")


def test_a_passage_that_would_stay_the_same_is_an_error():
    with pytest.raises(ToolError, match="old_str and new_str are the same"):
        replaced_once("one two", "two", "two")


def test_a_passage_with_a_million_matches_is_rejected_quickly():
    with pytest.raises(ToolError, match="1000 or more times, in lines 1, 1, 1"):
        replaced_once("a" * 1_000_000, "a", "b")


# --- read_file


@given(text=st.text("ab\r\n\u2028\x0c", max_size=200), limit=st.integers(1, 60))
def test_the_pieces_of_a_file_are_the_whole_file(text, limit):
    pieces, start = [], 1
    while True:
        piece = lines_of(text, start, None, limit)
        note = re.search(
            r"\[(?:lines \d+ to \d+ of \d+(; continue with start_line (\d+))?|the first .*)\]\Z",
            piece,
        )
        if note is None:
            pieces.append(piece)
            break
        if note[0].startswith("[the first"):  # one line is longer than the limit
            assert any(len(line) + 1 > limit for line in text.split("\n"))
            return
        pieces.append(piece[: note.start()])
        if not note[1]:
            break
        start = int(note[2])
    whole = "".join(pieces)
    assert whole == text or (whole == text + "\n" and not text.endswith("\n"))


@pytest.mark.parametrize(("first", "last"), [(4, None), (3, 2), (9, 12)])
def test_missing_lines_are_an_error(first, last):
    with pytest.raises(ToolError, match="There are no lines"):
        lines_of("a\nb\nc\n", first, last, 100)


@given(text=st.text("ab\n", max_size=300), limit=st.integers(2, 100))
def test_a_cut_keeps_both_ends_and_counts_the_missing_characters(text, limit):
    cut = head_and_tail(text, limit, whole="look there")
    if len(text) <= limit:
        assert cut == text
        return
    found = re.search(r"\n\[\.\.\. (\d+) characters? left out; look there \.\.\.\]\n", cut)
    assert found is not None
    head, tail = cut[: found.start()], cut[found.end() :]
    assert text.startswith(head)
    assert text.endswith(tail)
    # The newline that ends the head.
    assert int(found[1]) + len(head) + len(tail) in {len(text), len(text) - 1}
    assert len(head) + len(tail) <= limit


# --- the context

CALLS = st.integers(1, 3)
SIZES = st.integers(0, 3000)


@st.composite
def conversations(draw) -> list[Message]:
    messages = [Message("user", (Text("p" * draw(SIZES)),))]
    for turn in range(draw(st.integers(0, 8))):
        calls = draw(st.lists(SIZES, min_size=1, max_size=3))
        ids = [f"{turn}-{number}" for number in range(len(calls))]
        called = (
            Opaque("x", {"t": "thinking"}),
            Text("w" * turn),
            *(ToolCall(call_id, "tool", {"a": 1}, "{}") for call_id in ids),
        )
        messages.append(Message("assistant", called))
        results = tuple(
            ToolResult(call_id, "tool", "r" * size)
            for call_id, size in zip(ids, calls, strict=True)
        )
        messages.append(Message("user", results))
    return messages


def results_of(messages) -> list[ToolResult]:
    return [part for message in messages for part in message.parts if isinstance(part, ToolResult)]


@given(messages=conversations(), at_most=st.integers(0, 8000), share=st.floats(0.1, 0.9))
def test_shortening_replaces_only_old_results(messages, at_most, share):
    short = shortened(messages, at_most=at_most, enough=int(at_most * share))
    assert len(short) == len(messages)
    for was, now in zip(messages, short, strict=True):
        assert now.role == was.role
        for old, new in zip(was.parts, now.parts, strict=True):
            if new != old:
                assert isinstance(old, ToolResult)
                assert (new.call_id, new.name, new.is_error) == (
                    old.call_id,
                    old.name,
                    old.is_error,
                )
                assert f"{len(old.text):,} char" in new.text
    if tokens_of(messages) <= at_most:
        assert short == tuple(messages)
    elif tokens_of(short) > at_most:
        assert all(len(result.text) <= 400 for result in results_of(short))
    # The end of the conversation stays whole, and so do results that are too short to replace.
    left_out = [
        new != old for old, new in zip(results_of(messages), results_of(short), strict=True)
    ]
    large = [
        out
        for out, result in zip(left_out, results_of(messages), strict=True)
        if len(result.text) > 400
    ]
    assert large == sorted(large, reverse=True)


@pytest.mark.parametrize(
    ("at_most", "left_out"), [(3100, []), (3000, [0, 1]), (1400, [0, 1]), (900, [0, 1, 2])]
)
def test_the_latest_results_are_replaced_last(at_most, left_out):
    # 1008 tokens each.
    messages = [Message("user", (ToolResult(str(turn), "tool", "r" * 3000),)) for turn in range(3)]
    short = results_of(shortened(messages, at_most=at_most, enough=500))
    assert [index for index, result in enumerate(short) if result.text != "r" * 3000] == left_out


@given(messages=conversations(), at_most=st.integers(500, 8000))
def test_a_shortened_conversation_stays_unchanged_below_the_limit(messages, at_most):
    short = shortened(messages, at_most=at_most, enough=at_most // 2)
    more = [*short, Message("assistant", (Text("a word"),)), Message("user", (Text("another"),))]
    if tokens_of(more) <= at_most:
        assert shortened(more, at_most=at_most, enough=at_most // 2) == tuple(more)


def unmarked(messages):
    """Return the parts as they are before they are joined and marked."""
    parts = [part for message in messages for part in message.parts]
    marks = [
        replace(part, cache_here=False) if isinstance(part, Text | ToolResult) else part
        for part in parts
    ]
    return [
        replace(part, text=part.text.strip()) if isinstance(part, Text) else part for part in marks
    ]


@given(messages=conversations())
def test_a_request_contains_the_whole_conversation(messages):
    doubled = [*messages, Message("user", (Text("and"),)), Message("user", (Text("more"),))]
    sent = sendable(doubled)
    roles = [message.role for message in sent]
    assert all(one != following for one, following in pairwise(roles))
    assert unmarked(sent) == unmarked(doubled)
    assert (
        sum(
            part.cache_here
            for message in sent
            for part in message.parts
            if isinstance(part, Text | ToolResult)
        )
        <= 4
    )


@given(messages=conversations(), cut=st.integers(1, 20))
def test_every_interrupted_call_gets_one_answer(messages, cut):
    whole = answered(messages[:cut])
    calls = [part.id for message in whole for part in message.parts if isinstance(part, ToolCall)]
    assert [result.call_id for result in results_of(whole)] == calls
    assert answered(whole) == whole
