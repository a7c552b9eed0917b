"""A streamed reply: its events, and the whole reply that they are put together to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from botocore.eventstream import EventStreamBuffer, ParserError
from code_commit.plugin_api import (
    Delta,
    Json,
    ProviderError,
    StreamEvent,
    reply_error,
    reply_member,
    reply_object,
)

STATUS = {
    "throttlingException": 429,
    "validationException": 400,
    "serviceUnavailableException": 503,
}


def events_of(pieces: Iterable[bytes]) -> Iterator[StreamEvent]:
    """Yield the events in the bytes of an Amazon event stream, however they are cut."""
    buffer = EventStreamBuffer()
    try:
        for piece in pieces:
            buffer.add_data(piece)
            for message in buffer:
                if exception := message.headers.get(":exception-type"):
                    status = STATUS.get(exception, 500)
                    words = reply_object(message.payload, status).get("message")
                    raise reply_error(status, words=str(words), reason=exception)
                yield StreamEvent(str(message.headers.get(":event-type", "")), message.payload)
    except ParserError as error:
        raise ProviderError(
            f"the stream is corrupt: {type(error).__name__}", kind="invalid_response"
        ) from None


class StreamedReply:
    """Collects the events of one reply."""

    def __init__(self) -> None:
        self._tools: dict[int, dict[str, Any]] = {}
        self._pieces: defaultdict[int, defaultdict[str, list[str]]] = defaultdict(
            lambda: defaultdict(list)
        )
        self._end: dict[str, Any] | None = None
        self._usage: Any = None

    def feed(self, event: StreamEvent) -> Iterator[Delta]:
        """Take an event, and yield what it adds."""
        document = reply_object(event.data)
        index = reply_member(document, "contentBlockIndex", int) or 0
        if event.name == "contentBlockStart":
            start = reply_member(document, "start", dict) or {}
            if (tool := reply_member(start, "toolUse", dict)) is not None:
                self._tools[index] = tool
                yield Delta("tool", "", index, name=str(tool.get("name")))
        elif event.name == "contentBlockDelta":
            yield from self._added(index, reply_member(document, "delta", dict) or {})
        elif event.name == "messageStop":
            self._end = {"stopReason": document.get("stopReason")}
        elif event.name == "metadata":
            self._usage = document.get("usage")

    def _added(self, index: int, delta: Json) -> Iterator[Delta]:
        pieces = self._pieces[index]
        thinking = reply_member(delta, "reasoningContent", dict) or {}
        for name in ("text", "signature"):
            if piece := reply_member(thinking, name, str):
                pieces[f"reasoning {name}"].append(piece)
                if name == "text":
                    yield Delta("thinking", piece, index)
        if text := reply_member(delta, "text", str):
            pieces["text"].append(text)
            yield Delta("text", text, index)
        tool = reply_member(delta, "toolUse", dict) or {}
        if written := reply_member(tool, "input", str):
            pieces["input"].append(written)
            yield Delta("tool", written, index, name=str(self._tools.get(index, {}).get("name")))

    def whole(self) -> Json:
        """Return the reply as the service sends it without streaming."""
        if self._end is None:
            raise ProviderError("the reply ended early", kind="network")
        content = [self._block(index) for index in sorted({*self._pieces, *self._tools})]
        return {
            "output": {"message": {"role": "assistant", "content": content}},
            **self._end,
            "usage": self._usage,
        }

    def _block(self, index: int) -> dict[str, Any]:
        pieces = {name: "".join(texts) for name, texts in self._pieces[index].items()}
        if index in self._tools:
            return {"toolUse": {**self._tools[index], "input": pieces.get("input", "")}}
        if "text" in pieces:
            return {"text": pieces["text"]}
        thinking = {name.removeprefix("reasoning "): text for name, text in pieces.items()}
        return {"reasoningContent": {"reasoningText": thinking}}
