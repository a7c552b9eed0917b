"""A service that bills prompts as the real ones do, for tests of what requests have in common.

It reads from its cache what earlier requests began with. The sources are the guides of OpenAI,
Anthropic and Google about prompt caching. A token is four bytes. What a service does not promise is
not given: Anthropic also finds entries shortly before a mark.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from code_commit.plugin_api import Usage
from code_commit_testing.scripted_replies import Reply, answer_of
from code_commit_testing.scripted_server import RecordedRequest

TOKEN = 4  # bytes
MOST_MARKS = 4
OPENAI_MARK, ANTHROPIC_MARK = "prompt_cache_breakpoint", "cache_control"


@dataclass(frozen=True)
class Bill:
    """The tokens of one prompt. `hour` is how many of the written ones are kept for an hour."""

    input: int
    read: int = 0
    written: int = 0
    hour: int = 0

    def cost(self, *, read: float = 0.1, write: float = 1.25) -> float:
        """Return the cost of the prompt in tokens that are not cached."""
        short = self.written - self.hour
        return (
            self.input
            - self.read
            - self.written
            + read * self.read
            + write * short
            + 2.0 * self.hour
        )


@dataclass
class Billing:
    """Bills requests in their order.

    `minimum` is the fewest tokens that are cached. With `step`, the beginning of any earlier
    request counts, in so many tokens; without it, what ends at a mark. `guaranteed` is whether the
    cache works at all. `perfect` are the bills of a cache that forgets nothing: what any earlier
    request held, wherever, is read.
    """

    minimum: int
    step: int = 0
    guaranteed: bool = True
    bills: list[Bill] = field(default_factory=list)
    perfect: list[Bill] = field(default_factory=list)
    requests: list[Any] = field(default_factory=list)
    _seen: list[bytes] = field(default_factory=list)
    _entries: set[bytes] = field(default_factory=set)
    _pieces: set[bytes] = field(default_factory=set)

    def answering(self, *replies: Reply | str) -> list[Callable[[RecordedRequest], Reply]]:
        """Return a script for `ScriptedServer`: the replies, with the usage of each request."""
        return [
            self._billed(reply if isinstance(reply, Reply) else Reply(reply)) for reply in replies
        ]

    def _billed(self, reply: Reply) -> Callable[[RecordedRequest], Reply]:
        def answer(request: RecordedRequest) -> Reply:
            bill = self._bill(request.json)
            usage = Usage(bill.input, 5, cache_read=bill.read, cache_write=bill.written)
            if not bill.hour:
                return replace(reply, usage=usage)
            return _kept_for_an_hour(reply, bill, request.model)

        return answer

    def _bill(self, body: Any) -> Bill:
        pieces = list(_pieces(body))
        whole = b"".join(piece for piece, _ in pieces)
        if self.step:
            bill = self._automatic(whole)
        else:
            bill = self._marked(body, pieces, len(whole) // TOKEN)
        if not self.guaranteed:
            bill = Bill(bill.input)
        self.perfect.append(self._perfect([piece for piece, _ in pieces]))
        self._seen.append(whole)
        self.bills.append(bill)
        self.requests.append(body)
        return bill

    def _perfect(self, pieces: list[bytes]) -> Bill:
        size = read = 0
        for piece in pieces:
            size += len(piece)
            if piece in self._pieces:
                read += len(piece)
            else:
                read += max((common_start(piece, earlier) for earlier in self._pieces), default=0)
        self._pieces.update(pieces)
        new = (size - read) // TOKEN
        return Bill(size // TOKEN, size // TOKEN - new, 0 if self.step else new)

    def _automatic(self, whole: bytes) -> Bill:
        read = max((common_start(whole, earlier) for earlier in self._seen), default=0) // TOKEN
        if read < self.minimum:
            read = 0
        return Bill(len(whole) // TOKEN, read - read % self.step)

    def _marked(self, body: Any, pieces: list[tuple[bytes, Any]], size: int) -> Bill:
        prefix = b""
        marks = []
        is_for_an_hour = False
        for piece, mark in pieces:
            prefix += piece
            if mark is not None and len(prefix) // TOKEN >= self.minimum:
                marks.append(prefix)
                is_for_an_hour = mark.get("ttl") == "1h"
        assert sum(mark is not None for _, mark in pieces) <= MOST_MARKS, "too many marks"
        if (
            "messages" in body
            and body["model"].startswith("gpt-")
            and "prompt_cache_options" not in body
        ):
            marks.append(prefix)  # OpenAI's own mark
        read = max((len(mark) // TOKEN for mark in marks if mark in self._entries), default=0)
        written = max((len(mark) // TOKEN - read for mark in marks), default=0)
        self._entries.update(marks)
        return Bill(size, read, written, hour=written if is_for_an_hour else 0)


def _kept_for_an_hour(reply: Reply, bill: Bill, model: str) -> Reply:
    """Return Anthropic's reply with the kinds of written tokens."""
    usage = Usage(bill.input, 5, cache_read=bill.read, cache_write=bill.written)
    body = json.loads(answer_of("anthropic", replace(reply, usage=usage), model=model)[1])
    kinds = {
        "ephemeral_5m_input_tokens": bill.written - bill.hour,
        "ephemeral_1h_input_tokens": bill.hour,
    }
    body["usage"]["cache_creation"] = kinds
    return Reply(body=json.dumps(body).encode())


def common_start(one: bytes, other: bytes) -> int:
    """Return how many bytes both begin with."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _pieces(body: Any) -> Iterator[tuple[bytes, Any]]:
    """Yield what the model reads, in its order, each with its mark, or None."""
    for tool in body.get("tools", []):
        yield _canonical(tool), tool.get(ANTHROPIC_MARK)
    system = body.get("system", (body.get("systemInstruction") or {}).get("parts", ""))
    yield from _content(system)
    for message in body.get("messages", body.get("contents", [])):
        head = {name: message[name] for name in message.keys() - {"content", "parts"}}
        yield _canonical(head), None
        yield from _content(message.get("content", message.get("parts", "")))


def _content(content: Any) -> Iterator[tuple[bytes, Any]]:
    if not isinstance(content, list):
        yield (content or "").encode(), None
        return
    for part in content:
        mark = part.get(OPENAI_MARK, part.get(ANTHROPIC_MARK))
        if isinstance(part.get("text"), str):
            yield part["text"].encode(), mark
        else:
            unmarked = {name: value for name, value in part.items() if name != ANTHROPIC_MARK}
            yield _canonical(unmarked), mark


def _canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True).encode()
