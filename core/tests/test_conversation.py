"""A conversation as the run folder shows it, its completion in words, and what it costs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from code_commit.plugin_api import (
    Completion,
    Finish,
    Message,
    Opaque,
    Request,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
    cost_of,
    request_text,
)

HI = Message("user", (Text("h"), Text("i")))
USER = "=== user ===\n"
DONE = Completion(
    Message("assistant", (Text("done"),)), Finish.STOP, "end_turn", Usage(1, 1), "gpt-5", {}
)


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        (Request((HI,)), "hi"),
        (Request((HI,), system="be brief"), f"=== system ===\nbe brief\n\n{USER}h\ni\n"),
        (
            Request((HI,), tools=(ToolSpec("read", "d", {}), ToolSpec("write", "d", {}))),
            f"=== tools (auto) ===\nread\nwrite\n\n{USER}h\ni\n",
        ),
        (
            Request((HI, Message("assistant", (Text("yes"),)))),
            f"{USER}h\ni\n\n=== assistant ===\nyes\n",
        ),
        (Request((Message("assistant", (Text("yes"),)),)), "=== assistant ===\nyes\n"),
        (
            Request(
                (
                    Message(
                        "user",
                        (ToolResult("c1", "read", "good"), ToolResult("c2", "read", "bad", True)),
                    ),
                )
            ),
            f"{USER}--- result c1 read ---\ngood\n--- error c2 read ---\nbad\n",
        ),
        (
            Request(
                (
                    Message(
                        "assistant",
                        (ToolCall("c1", "read", {"a": "é"}), ToolCall("c2", "read", None, "raw")),
                    ),
                )
            ),
            '=== assistant ===\n--- call c1 read ---\n{"a": "é"}\n--- call c2 read ---\nraw\n',
        ),
        (
            Request((Message("user", (Opaque("gemini", {}), Text("x"))),)),
            f"{USER}--- gemini, unread ---\nx\n",
        ),
    ],
)
def test_a_single_prompt_is_its_text_and_a_conversation_is_shown_turn_by_turn(request_, text):
    assert request_text(request_) == text


@pytest.mark.parametrize(
    ("changes", "ending"),
    [
        ({}, "it ended with `end_turn`"),
        ({"finish_detail": ""}, "the service gave no reason"),
        ({"finish": Finish.TOOL_CALLS}, "it called a function"),
    ],
)
def test_why_a_completion_ended(changes, ending):
    assert replace(DONE, **changes).ending == ending


def test_a_completion_has_its_text_and_its_calls():
    calls = ToolCall("c1", "read", {"a": 1}), ToolCall("c2", "read", None, "raw")
    message = Message(
        "assistant", (Text("one "), calls[0], Opaque("gemini", {}), Text("two"), calls[1])
    )
    completion = replace(DONE, message=message)
    assert (completion.text, completion.tool_calls) == ("one two", calls)
    assert [call.arguments_object for call in calls] == [{"a": 1}, {"malformed": "raw"}]


def test_a_message_of_anything_but_parts_is_refused():
    with pytest.raises(TypeError) as caught:
        Message("user", (Text("hi"), "x" * 100))
    assert str(caught.value).endswith(f"(Text('hi'),), not '{'x' * 49}")


@pytest.mark.parametrize(
    ("model", "usage", "usd"),
    [
        # $3, $15, $0.3 and $3.75 for a million tokens.
        ("claude-sonnet-4-5", Usage(1000, 100), 0.0045),
        ("claude-sonnet-4-5", Usage(1000, 100, cache_read=1000), 0.0018),
        ("claude-sonnet-4-5", Usage(1000, 100, cache_write=1000), 0.00525),
        ("claude-sonnet-4-5", Usage(0, 0), 0),
        ("claude-sonnet-4-5", Usage(1000, None), None),
        ("claude-sonnet-4-5", Usage(None, 100), None),
        ("nobody-9", Usage(1000, 100), None),
    ],
)
def test_what_a_call_costs(model, usage, usd):
    assert cost_of(model, usage) == (usd if usd is None else pytest.approx(usd))
