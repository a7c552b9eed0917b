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

# Members of a part that continues the one before.
_MERGED = frozenset({"text", "thought", "thoughtSignature"})
_MOST_CANDIDATES = 128
_END = b"[DONE]"


class Parts:
    """The parts of a reply. Adjacent text becomes one part, and empty text is dropped.

    A signature ends its part: the service sends it separately, or with the last piece.
    """

    def __init__(self) -> None:
        self._parts: list[dict[str, Any]] = []
        # Of the last part: a piece may have only a few characters.
        self._pieces: StringIO | None = None
        self._open = False  # the last part may continue

    def add(self, part: dict[str, Any]) -> int:
        """Add a part or a piece, and return the index of its part."""
        text = reply_member(part, "text", str)
        if text is None or not part.keys() <= _MERGED:
            if part:
                self._start(part)
        elif self._open and bool(part.get("thought")) is bool(self._parts[-1].get("thought")):
            if self._pieces is None:
                self._pieces = StringIO()
                self._pieces.write(self._parts[-1]["text"])
            self._pieces.write(text)
            if len(part) > 1:
                self._parts[-1] |= {name: value for name, value in part.items() if name != "text"}
                self._open = not part.get("thoughtSignature")
        elif text or part.get("thoughtSignature"):
            self._start(part)
            self._open = not part.get("thoughtSignature")
        return len(self._parts) - 1

    def _start(self, part: dict[str, Any]) -> None:
        self.merged()
        self._pieces, self._open = None, False
        limit_parts(self._parts)
        self._parts.append(dict(part))

    def merged(self) -> list[dict[str, Any]]:
        """Return the parts so far."""
        if self._pieces is not None:
            self._parts[-1]["text"] = self._pieces.getvalue()
        return self._parts


class _Candidate:
    def __init__(self) -> None:
        self._members: dict[str, Any] = {}
        self._content: dict[str, Any] = {}
        self.parts = Parts()

    def feed(self, candidate: Json) -> list[Delta]:
        self._members.update(
            {name: value for name, value in candidate.items() if value is not None}
        )
        content = reply_member(candidate, "content", dict) or {}
        self._content.update(content)
        limit_parts(self._members)
        limit_parts(self._content)
        deltas = []
        for part in reply_objects(content, "parts"):
            index, text = self.parts.add(part), part.get("text")
            call = reply_member(part, "functionCall", dict)
            if call is not None:
                _, arguments = read_arguments(call.get("args"))
                deltas.append(
                    Delta("tool", arguments, index, reply_member(call, "name", str) or "")
                )
            elif text:
                deltas.append(Delta("thinking" if part.get("thought") else "text", text, index))
        if deltas and not candidate.get("finishReason"):
            self._members.pop("finishReason", None)  # some gateways send it too early
        return deltas

    def whole(self) -> dict[str, Any]:
        parts = self.parts.merged()
        content = self._content | ({"parts": parts} if parts or "parts" in self._content else {})
        return self._members | ({"content": content} if "content" in self._members else {})


class GeminiStream:
    """A `StreamDecoder` for `:streamGenerateContent?alt=sse`: each event is a reply with the next
    parts.

    A reply ends with a finish reason, or because the prompt was blocked; gateways in front of the
    service may send `[DONE]`. The service itself sends nothing else that a reply which broke off
    does not have, too.
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
        self._reply.update({name: value for name, value in chunk.items() if value is not None})
        limit_parts(self._reply)
        return deltas

    def finish(self) -> Completion:
        """See `StreamDecoder.finish`."""
        reply = self._whole()
        feedback = reply_member(reply, "promptFeedback", dict) or {}
        first = reply["candidates"][0] if self._candidates else {}
        blocked = feedback.get("blockReason") or (feedback and not first)
        if not (self.ended or first.get("finishReason") or blocked):
            raise ProviderError(
                "the reply broke off: the service sent no finishReason", kind="network"
            )
        return self._wire.completion(reply)

    def partial(self) -> PartialReply:
        """See `StreamDecoder.partial`."""
        parts = self._candidates[min(self._candidates)].parts.merged() if self._candidates else ()
        usage, model = self._reply.get("usageMetadata"), self._reply.get("modelVersion")
        return PartialReply(
            text="".join(
                part["text"] for part in parts if part.get("text") and not part.get("thought")
            ),
            usage=self._wire.usage(usage) if usage and isinstance(usage, dict) else None,
            model=model if isinstance(model, str) else None,
        )

    def _whole(self) -> dict[str, Any]:
        candidates = [candidate.whole() for _, candidate in sorted(self._candidates.items())]
        return self._reply | ({"candidates": candidates} if candidates else {})
