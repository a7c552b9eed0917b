"""What of a conversation is sent: shortened before it overflows, and marked so that its beginning can be cached."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from code_commit.plugin_api import Message, Opaque, Part, Text, ToolCall, ToolResult, ToolSpec

_BYTES_A_TOKEN = 3  # of code; of prose and of most other scripts there are more, so this errs on the safe side
_OVERHEAD = 8  # tokens around a part
_WORTH_IT = 400  # characters of a result that are worth a note in their place
_MARKED = 2  # messages at the end, of which the next request will have at least one in the same place


def tokens_of_part(part: Part) -> int:
    """Estimate the tokens of `part`."""
    match part:
        case Text(text=text) | ToolResult(text=text):
            size = len(text.encode("utf-8", "replace"))
        case ToolCall():
            size = len(part.name) + len((part.raw or json.dumps(part.arguments)).encode("utf-8", "replace"))
        case Opaque():
            size = len(json.dumps(part.data, default=str))
    return size // _BYTES_A_TOKEN + _OVERHEAD


def tokens_of(messages: Sequence[Message]) -> int:
    """Estimate the tokens of `messages`."""
    return sum(tokens_of_part(part) for message in messages for part in message.parts)


def tokens_around(system: str, tools: Sequence[ToolSpec]) -> int:
    """Estimate the tokens of what every request carries besides its messages."""
    words = sum(len(tool.name) + len(tool.description) + len(json.dumps(dict(tool.parameters))) for tool in tools)
    return (len(system.encode("utf-8", "replace")) + words) // _BYTES_A_TOKEN + _OVERHEAD


def shortened(messages: Sequence[Message], *, at_most: int, enough: int) -> tuple[Message, ...]:
    """Return `messages` with results of tools replaced by notes, so that they are some `at_most` tokens.

    Nothing changes while they fit. When they do not, the oldest results go first, until `enough` tokens are left: far
    below the limit, so that the beginning stays the same, and cached, for many turns. The latest results go only
    where the rest was not enough for `at_most`. Words, calls and what is opaque always stay.
    """
    total = tokens_of(messages)
    if total <= at_most:
        return tuple(messages)
    latest = max((index for index, message in enumerate(messages) if _has_results(message)), default=-1)
    done = list(messages)
    for index, message in enumerate(messages):
        parts = list(message.parts)
        goal = at_most if index == latest else enough
        for place, part in enumerate(parts):
            if total <= goal:
                break
            if isinstance(part, ToolResult) and len(part.text) > _WORTH_IT:
                parts[place] = replace(part, text=_note(part))
                total += tokens_of_part(parts[place]) - tokens_of_part(part)
        done[index] = replace(message, parts=tuple(parts))
    return tuple(done)


def sendable(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return `messages` as a request carries them: neighbours of one role made one, and the marks for caching set.

    Marked are the first message and the last ones of the user: up to there, the next request will be the same.
    """
    joined: list[Message] = []
    for message in messages:
        if joined and joined[-1].role == message.role == "user":
            joined[-1] = Message("user", joined[-1].parts + message.parts)
        else:
            joined.append(message)
    users = [index for index, message in enumerate(joined) if message.role == "user"]
    for index in {*users[:1], *users[-_MARKED:]}:
        joined[index] = _marked(joined[index])
    return tuple(joined)


def _marked(message: Message) -> Message:
    *before, last = message.parts
    if isinstance(last, Text | ToolResult):
        last = replace(last, cache_here=True)
    return Message(message.role, (*before, last))


def _has_results(message: Message) -> bool:
    return any(isinstance(part, ToolResult) for part in message.parts)


def _note(result: ToolResult) -> str:
    size = len(result.text)
    return f"[{size} characters of what {result.name} gave were left out to save room. Call it again if needed.]"
