"""Assemble OpenAI's streamed replies into the reply that the service sends as a whole.

Servers differ: calls without `index`, or all with index 0; content as typed parts; a whole message
in one event; no `[DONE]`; errors in the middle.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any, Literal

from code_commit.plugin_api import (
    Completion,
    Delta,
    Json,
    PartialReply,
    ProviderError,
    StreamEvent,
    Usage,
    event_object,
    limit_parts,
    read_arguments,
    reply_member,
    reply_objects,
)

if TYPE_CHECKING:
    from code_commit_openai.wire import OpenAIWire

_END = b"[DONE]"
_MOST_CHOICES = 128  # that one may ask for
_THINKING = ("reasoning_content", "reasoning")
_PIECES = frozenset({"content", "refusal", *_THINKING})  # members that come in pieces
_OF_DETAIL = {"reasoning.text": "text", "reasoning.summary": "summary"}
# Members that differ from those of a whole reply, and of its choices.
_OF_EVENTS = frozenset({"choices", "object", "obfuscation"})
_OF_PIECES = frozenset({"delta"})


class _Call:
    """A tool call: id and name come first, then the arguments in pieces."""

    def __init__(self, order: int) -> None:
        self.order = order
        self.id = ""
        self.name = ""
        self._members: dict[str, Any] = {}
        self._function: dict[str, Any] = {}
        self._arguments = StringIO()

    def feed(self, piece: Json, function: Json) -> str:
        """Take a piece, and return its piece of the arguments."""
        self.id = self.id or reply_member(piece, "id", str) or ""
        self.name = self.name or reply_member(function, "name", str) or ""
        self._members.update(_without_nulls(piece))
        self._function.update(function)
        limit_parts(self._members)
        limit_parts(self._function)
        text = function.get("arguments")
        if not isinstance(text, str):
            _, text = read_arguments(text)
        self._arguments.write(text)
        return text

    def whole(self) -> dict[str, Any]:
        """Return the call of a whole reply."""
        call = {name: value for name, value in self._members.items() if name not in {"id", "index"}}
        if "function" in call:
            call["function"] = {
                **self._function,
                "name": self.name,
                "arguments": self._arguments.getvalue(),
            }
        if self.id:
            call["id"] = self.id
        return call


class _TypedPart:
    """A part of a list of typed parts. Its member `name` comes in pieces, if it has a name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.members: dict[str, Any] = {}
        self.pieces = StringIO()

    def continues_with(self, part: Json, name: str) -> bool:
        """Return whether `part` has the next piece."""
        is_same = all(self.members.get(key) == part.get(key) for key in ("type", "index"))
        return is_same and name == self.name

    def whole(self) -> dict[str, Any]:
        """Return the part so far."""
        if not self.name:
            return self.members
        text = self.pieces.getvalue()
        if self.name == "thinking":
            return self.members | {self.name: [{"type": "text", "text": text}]}
        return self.members | {self.name: text}


class _TypedParts:
    """A list of typed parts. A part continues the one before if it has the same type and index."""

    def __init__(self) -> None:
        self._parts: list[_TypedPart] = []

    def add(self, part: Json, name: str, text: str | None) -> None:
        """Add a part with `text` in its member `name`; None adds a whole part."""
        is_next = text is not None and self._parts and self._parts[-1].continues_with(part, name)
        if not is_next:
            limit_parts(self._parts)
            self._parts.append(_TypedPart("" if text is None else name))
        last = self._parts[-1]
        last.members.update(_without_nulls(part))
        last.pieces.write(text or "")

    def __bool__(self) -> bool:
        return bool(self._parts)

    def whole(self) -> list[dict[str, Any]]:
        """Return the parts so far."""
        return [part.whole() for part in self._parts]


class _Choice:
    """One of the replies to a request."""

    def __init__(self) -> None:
        self._end: Any = None
        self._members: dict[str, Any] = {}
        self._message: dict[str, Any] = {"role": "assistant"}
        self._pieces: dict[str, StringIO] = {}
        self._content = _TypedParts()  # Mistral's
        self._details = _TypedParts()  # OpenRouter's thinking
        self._calls: list[_Call] = []
        self._slots: dict[int | str, _Call] = {}  # by index, or by id if there is none
        self._numbers: dict[object, int] = {}  # of parts, in the order in which they begin

    def feed(self, choice: Json) -> list[Delta]:
        self._end = choice.get("finish_reason")
        _update(self._members, choice, without=_OF_PIECES)
        message = reply_member(choice, "delta", dict)
        if message is None:
            message = self._new_in(reply_member(choice, "message", dict) or {})
        deltas: list[Delta] = []
        thinking = ""
        for name, value in message.items():
            if not value:
                continue
            if name in _PIECES and isinstance(value, str):
                self._add(name, value)
                if name not in _THINKING:
                    deltas.append(self._delta("text", value))
                else:
                    thinking = thinking or value  # some servers send it twice, with both names
            elif name == "content":
                deltas += self._typed_content(reply_objects(message, name))
            elif name == "tool_calls":
                deltas += [self._call(piece) for piece in reply_objects(message, name)]
            elif name == "reasoning_details":
                details = self._reasoning(reply_objects(message, name))
                thinking = thinking or details
            elif name in _PIECES:
                reply_member(message, name, str)  # raises
            else:
                limit_parts(self._message)
                self._message[name] = value
        return [self._delta("thinking", thinking), *deltas] if thinking else deltas

    def _new_in(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return the new text in a whole message: MiniMax repeats the streamed text at the end."""
        if not self._numbers:
            return message
        if message.get("content") and message["content"] != self.text():
            raise ProviderError(
                "the message of the reply is not what was streamed", kind="invalid_response"
            )
        return {}

    def _delta(self, kind: Literal["text", "thinking"], text: str) -> Delta:
        return Delta(kind, text, self._number_of(kind))

    def _number_of(self, part: object) -> int:
        return self._numbers.setdefault(part, len(self._numbers))

    def _add(self, name: str, text: str) -> None:
        pieces = self._pieces.get(name)
        if pieces is None and name == "content" and self._content:
            self._content.add({"type": "text"}, "text", text)
            return
        if pieces is None:
            pieces = self._pieces[name] = StringIO()
        pieces.write(text)

    def _typed_content(self, parts: Sequence[Json]) -> list[Delta]:
        if "content" in self._pieces:
            before = self._pieces.pop("content").getvalue()
            self._content.add({"type": "text"}, "text", before)
        deltas = []
        for part in parts:
            text = reply_member(part, "text", str) or ""
            if part.get("type") == "text":
                self._content.add(part, "text", text)
                if text:
                    deltas.append(self._delta("text", text))
            elif part.get("type") == "thinking":
                thoughts = reply_objects(part, "thinking")
                text = "".join(reply_member(thought, "text", str) or "" for thought in thoughts)
                self._content.add(part, "thinking", text)
                if text:
                    deltas.append(self._delta("thinking", text))
            else:
                self._content.add(part, "", None)
        return deltas

    def _reasoning(self, details: Sequence[Json]) -> str:
        thinking = []
        for detail in details:
            name = _OF_DETAIL.get(str(detail.get("type")))
            if name is None:
                self._details.add(detail, "", None)
                continue
            text = reply_member(detail, name, str) or ""
            self._details.add(detail, name, text)
            thinking.append(text)
        return "".join(thinking)

    def _call(self, piece: Json) -> Delta:
        function = reply_member(piece, "function", dict) or {}
        call = self._call_of(piece, function)
        text = call.feed(piece, function)
        return Delta("tool", text, self._number_of(call), call.name)

    def _call_of(self, piece: Json, function: Json) -> _Call:
        """Return the call that `piece` belongs to.

        It is a new one if the piece has another id, or a name and no index.
        """
        index = reply_member(piece, "index", int)
        call_id = reply_member(piece, "id", str)
        name = reply_member(function, "name", str)
        call = None
        if index is not None:
            call = self._slots.get(index)
            if call is not None and name and call_id and call.id not in {"", call_id}:
                call = None  # Ollama sent index 0 with each call
        elif call_id or name:
            call = self._slots.get(call_id or "")
        elif self._calls:
            call = self._calls[-1]
        if call is not None:
            return call
        call = _Call(len(self._calls) if index is None else index)
        limit_parts(self._calls)
        self._calls.append(call)
        if index is not None:
            self._slots[index] = call
        elif call_id:
            self._slots[call_id] = call
        return call

    def text(self) -> str:
        """Return the text so far."""
        texts = [part["text"] for part in self._content.whole() if part.get("type") == "text"]
        names = [name for name in ("content", "refusal") if name in self._pieces]
        texts += [self._pieces[name].getvalue() for name in names]
        return "".join(texts)

    def whole(self, index: int) -> dict[str, Any]:
        """Return the choice of a whole reply."""
        pieces = {name: piece.getvalue() for name, piece in self._pieces.items()}
        message = self._message | {"content": None} | pieces
        if content := self._content.whole():
            message["content"] = content
        if details := self._details.whole():
            message["reasoning_details"] = details
        if self._calls:
            calls = sorted(self._calls, key=lambda call: call.order)
            message["tool_calls"] = [call.whole() for call in calls]
        return {"finish_reason": self._end, **self._members, "index": index, "message": message}


class OpenAIStream:
    """A `StreamDecoder` for chat completions.

    A reply ends with a finish reason or `[DONE]`. Without the latter, an empty reason is none,
    because some servers send one with each event.
    """

    def __init__(self, wire: OpenAIWire) -> None:
        self._wire = wire
        self._reply: dict[str, Any] = {}
        self._choices: dict[int, _Choice] = {}
        self.ended = False

    def feed(self, event: StreamEvent) -> Sequence[Delta]:
        """See `StreamDecoder.feed`. Deltas are of the first choice."""
        if self.ended or event.data.strip() == _END:
            self.ended = True
            return ()
        chunk = event_object(event)
        if chunk.get("error") or chunk.get("object") == "error":
            self._wire.completion(chunk)  # raises
        deltas: list[Delta] = []
        for choice in reply_objects(chunk, "choices"):
            if choice.get("error"):
                self._wire.completion({"choices": [choice]})  # raises
            index = reply_member(choice, "index", int) or 0
            if index not in self._choices:
                limit_parts(self._choices, _MOST_CHOICES)
                self._choices[index] = _Choice()
            added = self._choices[index].feed(choice)
            if index == min(self._choices):
                deltas += added
        _update(self._reply, chunk, without=_OF_EVENTS)
        return deltas

    def finish(self) -> Completion:
        """See `StreamDecoder.finish`."""
        choices = [choice.whole(index) for index, choice in sorted(self._choices.items())]
        if not self.ended and not (choices and choices[0]["finish_reason"]):
            raise ProviderError(
                "the reply broke off: the service sent no finish_reason and no [DONE]",
                kind="network",
            )
        return self._wire.completion(
            {"object": "chat.completion", **self._reply, "choices": choices}
        )

    def partial(self) -> PartialReply:
        """See `StreamDecoder.partial`."""
        text = ""
        if self._choices:
            text = self._choices[min(self._choices)].text()
        model = self._reply.get("model")
        return PartialReply(
            text=text,
            usage=self._usage(),
            model=model if isinstance(model, str) else None,
        )

    def _usage(self) -> Usage | None:
        usage = self._reply.get("usage")
        if not isinstance(usage, dict):
            return None
        try:
            return self._wire.usage(usage)
        except ProviderError:
            return None


def _update(members: dict[str, Any], added: Json, *, without: frozenset[str]) -> None:
    for name, value in added.items():  # in each event of a stream: faster than a second dict
        if value and name not in without:
            members[name] = value  # noqa: PERF403
    limit_parts(members)


def _without_nulls(members: Json) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
