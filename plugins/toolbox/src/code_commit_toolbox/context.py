"""Prepare a conversation for a request: shorten it, and mark its beginning for caching."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from code_commit.plugin_api import (
    Message,
    Opaque,
    Part,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    count_of,
)

_BYTES_A_TOKEN = 3  # for code; prose and most other scripts have more, so the estimate is high
_OVERHEAD = 8  # tokens per part
_SHORTEST_REPLACED = 400  # characters; shorter results stay
_MARKED = 2  # last messages; the next request will have at least one of them in the same place


def tokens_of_part(part: Part) -> int:
    """Estimate the tokens of `part`."""
    match part:
        case Text(text=text) | ToolResult(text=text):
            size = _bytes_of(text)
        case ToolCall():
            size = len(part.name) + _bytes_of(part.raw or json.dumps(part.arguments))
        case Opaque():
            size = len(json.dumps(part.data, default=str))
    return size // _BYTES_A_TOKEN + _OVERHEAD


def _bytes_of(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def tokens_of(messages: Sequence[Message]) -> int:
    """Estimate the tokens of `messages`."""
    return sum(tokens_of_part(part) for message in messages for part in message.parts)


def tokens_around(system: str, tools: Sequence[ToolSpec]) -> int:
    """Estimate the tokens of a request without its messages."""
    size = _bytes_of(system)
    for tool in tools:
        size += len(tool.name) + len(tool.description) + len(json.dumps(dict(tool.parameters)))
    return size // _BYTES_A_TOKEN + _OVERHEAD


def shortened(messages: Sequence[Message], *, at_most: int, enough: int) -> tuple[Message, ...]:
    """Return `messages` with tool results replaced by notes, down to about `at_most` tokens.

    Messages that fit are unchanged. Otherwise replace the oldest results first, until `enough`
    tokens are left. This is far below the limit, so that the beginning stays the same, and cached,
    for many turns. Replace the latest results only if that is not enough for `at_most`. Text, calls
    and opaque parts always stay.
    """
    total = tokens_of(messages)
    if total <= at_most:
        return tuple(messages)
    with_results = [index for index, message in enumerate(messages) if _has_results(message)]
    latest = max(with_results, default=-1)
    shorter = list(messages)
    for index, message in enumerate(messages):
        parts = list(message.parts)
        goal = at_most if index == latest else enough
        for place, part in enumerate(parts):
            if total <= goal:
                break
            if isinstance(part, ToolResult) and len(part.text) > _SHORTEST_REPLACED:
                parts[place] = replace(part, text=_note(part))
                total += tokens_of_part(parts[place]) - tokens_of_part(part)
        shorter[index] = replace(message, parts=tuple(parts))
    return tuple(shorter)


def sendable(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return `messages` for a request: merge neighbors of one role, and mark messages for caching.

    Mark the last messages of the user, because the next request is equal up to there. Mark the
    first message, too, at its end; if it already has a mark, where other conversations begin to
    differ, keep that one.
    """
    joined: list[Message] = []
    for message in messages:
        if joined and joined[-1].role == message.role == "user":
            joined[-1] = _joined(joined[-1], message)
        else:
            joined.append(message)
    users = [index for index, message in enumerate(joined) if message.role == "user"]
    last = users[-_MARKED:]
    for index in {*users[:1], *last}:
        if index in last or not _has_mark(joined[index]):
            joined[index] = _marked(joined[index])
    return tuple(joined)


def _joined(message: Message, following: Message) -> Message:
    """Return both as one message, with an empty line between their texts: services add none."""
    parts = following.parts
    first = next((part for part in parts if isinstance(part, Text)), None)
    if first is not None and any(isinstance(part, Text) for part in message.parts):
        apart = replace(first, text=f"\n\n{first.text}")
        parts = tuple(apart if part is first else part for part in parts)
    return Message("user", message.parts + parts)


def _marked(message: Message) -> Message:
    *before, last = message.parts
    if isinstance(last, Text | ToolResult):
        last = replace(last, cache_here=True)
    return Message(message.role, (*before, last))


def _has_mark(message: Message) -> bool:
    return any(isinstance(part, Text | ToolResult) and part.cache_here for part in message.parts)


def _has_results(message: Message) -> bool:
    return any(isinstance(part, ToolResult) for part in message.parts)


def _note(result: ToolResult) -> str:
    size = count_of(len(result.text), "character")
    removed = f"{size} of the result of {result.name} were removed to save space"
    return f"[{removed}. Call it again if needed.]"
