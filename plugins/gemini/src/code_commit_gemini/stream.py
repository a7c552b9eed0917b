"""Assemble Gemini's streamed replies into the reply that the service sends as a whole."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING, Any

from code_commit.plugin_api import (
    Completion,
    Delta,
    Json,
    PartialReply,
    ProviderError,
    StreamEvent,
    event_object,
    limit_parts,
    read_arguments,
    reply_member,
    reply_objects,
)
from code_commit_gemini.failures import failure

if TYPE_CHECKING:
    from code_commit_gemini.wire import GeminiWire

# The members that a piece of text has. A part with others is whole.
_OF_TEXT = frozenset({"text", "thought", "thoughtSignature"})
_MOST_CANDIDATES = 128
_END = b"[DONE]"


class Parts:
    """The parts of a reply. Adjacent text becomes one part, and empty text is dropped.

    A signature ends its part: the service sends it separately, or with the last piece.
    """

    def __init__(self) -> None:
        self._parts: list[dict[str, Any]] = []
        # The text of the last part: a piece may have only a few characters.
        self._pieces: StringIO | None = None
        self._open = False  # the last part may continue

    def add(self, part: dict[str, Any]) -> int:
        """Add a part or a piece, and return the index of its part."""
        text = reply_member(part, "text", str)
        if text is None or not part.keys() <= _OF_TEXT:
            if part:
                self._start(part)
        elif self._open and _is_thought(part) is _is_thought(self._parts[-1]):
            self._continue(part, text)
        elif text or part.get("thoughtSignature"):
            self._start(part)
            self._open = not part.get("thoughtSignature")
        return len(self._parts) - 1

    def _start(self, part: dict[str, Any]) -> None:
        self.merged()
        self._pieces = None
        self._open = False
        limit_parts(self._parts)
        self._parts.append(dict(part))

    def _continue(self, piece: dict[str, Any], text: str) -> None:
        last = self._parts[-1]
        if self._pieces is None:
            self._pieces = StringIO()
            self._pieces.write(last["text"])
        self._pieces.write(text)
        if len(piece) > 1:
            last |= {name: value for name, value in piece.items() if name != "text"}
            self._open = not piece.get("thoughtSignature")

    def merged(self) -> list[dict[str, Any]]:
        """Return the parts so far."""
        if self._pieces is not None:
            self._parts[-1]["text"] = self._pieces.getvalue()
        return self._parts


def _is_thought(part: Json) -> bool:
    return bool(part.get("thought"))


class _Candidate:
    """One of the replies to a request."""

    def __init__(self) -> None:
        self._members: dict[str, Any] = {}
        self._content: dict[str, Any] = {}
        self._parts = Parts()

    def feed(self, candidate: Json) -> list[Delta]:
        self._members.update(_without_nulls(candidate))
        content = reply_member(candidate, "content", dict) or {}
        self._content.update(content)
        limit_parts(self._members)
        limit_parts(self._content)
        deltas = []
        for part in reply_objects(content, "parts"):
            index = self._parts.add(part)
            if delta := _delta(part, index):
                deltas.append(delta)
        if deltas and not candidate.get("finishReason"):
            self._members.pop("finishReason", None)  # some gateways send it too early
        return deltas

    def text(self) -> str:
        """Return the text so far."""
        parts = self._parts.merged()
        texts = [part.get("text") for part in parts if not _is_thought(part)]
        return "".join(text for text in texts if text)

    def whole(self) -> dict[str, Any]:
        """Return the candidate of a whole reply."""
        if "content" not in self._members:
            return self._members
        content = dict(self._content)
        parts = self._parts.merged()
        if parts or "parts" in content:
            content["parts"] = parts
        return self._members | {"content": content}


def _delta(part: Json, index: int) -> Delta | None:
    """Return what a part adds for a person."""
    call = reply_member(part, "functionCall", dict)
    if call is not None:
        _, arguments = read_arguments(call.get("args"))
        return Delta("tool", arguments, index, reply_member(call, "name", str) or "")
    text = part.get("text")
    if not text:
        return None
    return Delta("thinking" if _is_thought(part) else "text", text, index)


def _without_nulls(members: Json) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


class GeminiStream:
    """A `StreamDecoder` for `:streamGenerateContent?alt=sse`.

    Each event is a reply with the next parts. A reply ends with a finish reason, or because the
    prompt was blocked. The service sends nothing else by which its end differs from a broken
    stream; gateways in front of it may send `[DONE]`.
    """

    def __init__(self, wire: GeminiWire) -> None:
        self._wire = wire
        self._reply: dict[str, Any] = {}
        self._candidates: dict[int, _Candidate] = {}
        self.ended = False

    def feed(self, event: StreamEvent) -> list[Delta]:
        """See `StreamDecoder.feed`. Deltas are of the first candidate."""
        if self.ended or event.data.strip() == _END:
            self.ended = True
            return []
        chunk = event_object(event)
        if chunk.get("error"):
            raise failure(200, chunk)
        deltas: list[Delta] = []
        for candidate in reply_objects(chunk, "candidates"):
            number = reply_member(candidate, "index", int) or 0
            if number not in self._candidates:
                limit_parts(self._candidates, _MOST_CANDIDATES)
                self._candidates[number] = _Candidate()
            added = self._candidates[number].feed(candidate)
            if number == min(self._candidates):
                deltas += added
        # The last event has the sums of all tokens.
        self._reply.update(_without_nulls(chunk))
        limit_parts(self._reply)
        return deltas

    def finish(self) -> Completion:
        """See `StreamDecoder.finish`."""
        reply = self._whole()
        if not (self.ended or _is_finished(reply)):
            raise ProviderError(
                "the reply broke off: the service sent no finishReason", kind="network"
            )
        return self._wire.completion(reply)

    def partial(self) -> PartialReply:
        """See `StreamDecoder.partial`."""
        text = ""
        if self._candidates:
            text = self._candidates[min(self._candidates)].text()
        usage = self._reply.get("usageMetadata")
        model = self._reply.get("modelVersion")
        return PartialReply(
            text=text,
            usage=self._wire.usage(usage) if usage and isinstance(usage, dict) else None,
            model=model if isinstance(model, str) else None,
        )

    def _whole(self) -> dict[str, Any]:
        if not self._candidates:
            return self._reply
        numbers = sorted(self._candidates)
        candidates = [self._candidates[number].whole() for number in numbers]
        return self._reply | {"candidates": candidates}


def _is_finished(reply: Json) -> bool:
    """Return whether a reply has its end: a finish reason, or feedback instead of a candidate."""
    candidates = reply.get("candidates")
    feedback = reply_member(reply, "promptFeedback", dict) or {}
    if feedback.get("blockReason"):
        return True
    if not candidates or not candidates[0]:
        return bool(feedback)
    return bool(candidates[0].get("finishReason"))
