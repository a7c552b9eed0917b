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
_OF_EVENTS, _OF_PIECES = frozenset({"choices", "object", "obfuscation"}), frozenset({"delta"})


class _Call:
    """A tool call: id and name come first, then the arguments in pieces."""

    def __init__(self, order: int) -> None:
        self.order = order
        self.id = self.name = ""
        self._members: dict[str, Any] = {}
        self._function: dict[str, Any] = {}
        self._arguments = StringIO()

    def feed(self, piece: Json, function: Json) -> str:
        """Take a piece, and return its piece of the arguments."""
        self.id = self.id or reply_member(piece, "id", str) or ""
        self.name = self.name or reply_member(function, "name", str) or ""
        self._members.update({name: value for name, value in piece.items() if value is not None})
        self._function.update(function)
        limit_parts(self._members)
        limit_parts(self._function)
        arguments = function.get("arguments")
        text = arguments if isinstance(arguments, str) else read_arguments(arguments)[1]
        self._arguments.write(text)
        return text

    def whole(self) -> dict[str, Any]:
        call = {name: value for name, value in self._members.items() if name not in {"id", "index"}}
        if "function" in call:
            call["function"] = self._function | {
                "name": self.name,
                "arguments": self._arguments.getvalue(),
            }
        return call | ({"id": self.id} if self.id else {})


class _Typed:
    """A list of typed parts. A part continues the one before if it has the same type and index."""

    def __init__(self) -> None:
        self._parts: list[tuple[dict[str, Any], str, StringIO]] = []

    def add(self, part: Json, name: str, text: str | None) -> None:
        """Add a part with `text` in its member `name`; None adds a whole part."""
        last, of, pieces = self._parts[-1] if self._parts else ({}, "", StringIO())
        if (
            text is None
            or name != of
            or any(last.get(key) != part.get(key) for key in ("type", "index"))
        ):
            last, of, pieces = {}, name if text is not None else "", StringIO()
            limit_parts(self._parts)
            self._parts.append((last, of, pieces))
        last.update({key: value for key, value in part.items() if value is not None})
        pieces.write(text or "")

    def __bool__(self) -> bool:
        return bool(self._parts)

    def whole(self) -> list[dict[str, Any]]:
        """Return the parts so far."""
        whole = []
        for part, name, pieces in self._parts:
            text = pieces.getvalue()
            value = [{"type": "text", "text": text}] if name == "thinking" else text
            whole.append(part | ({name: value} if name else {}))
        return whole


class _Choice:
    def __init__(self) -> None:
        self._end: Any = None
        self._members: dict[str, Any] = {}
        self._message: dict[str, Any] = {"role": "assistant"}
        self._pieces: dict[str, StringIO] = {}
        self._content = _Typed()  # Mistral's
        self._details = _Typed()  # OpenRouter's thinking
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
        return Delta(kind, text, self._numbers.setdefault(kind, len(self._numbers)))

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
            self._content.add({"type": "text"}, "text", self._pieces.pop("content").getvalue())
        deltas = []
        for part in parts:
            text = reply_member(part, "text", str) or ""
            if part.get("type") == "text":
                self._content.add(part, "text", text)
                deltas += [self._delta("text", text)] if text else []
            elif part.get("type") == "thinking":
                thoughts = (
                    reply_member(thought, "text", str)
                    for thought in reply_objects(part, "thinking")
                )
                text = "".join(thought for thought in thoughts if thought)
                self._content.add(part, "thinking", text)
                deltas += [self._delta("thinking", text)] if text else []
            else:
                self._content.add(part, "", None)
        return deltas

    def _reasoning(self, details: Sequence[Json]) -> str:
        thinking = []
        for detail in details:
            name = _OF_DETAIL.get(str(detail.get("type")))
            text = reply_member(detail, name, str) or "" if name else None
            self._details.add(detail, name or "", text)
            thinking.append(text or "")
        return "".join(thinking)

    def _call(self, piece: Json) -> Delta:
        function = reply_member(piece, "function", dict) or {}
        call = self._slot(piece, function)
        text = call.feed(piece, function)
        return Delta("tool", text, self._numbers.setdefault(call, len(self._numbers)), call.name)

    def _slot(self, piece: Json, function: Json) -> _Call:
        """Return the call that `piece` belongs to, a new one if it has another id, or a name and no
        index.
        """
        index, call_id = reply_member(piece, "index", int), reply_member(piece, "id", str)
        name = reply_member(function, "name", str)
        if index is not None:
            call = self._slots.get(index)
            if call is not None and name and call_id and call.id not in {"", call_id}:
                call = None  # Ollama sent index 0 with each call
        elif call_id or name:
            call = self._slots.get(call_id or "")
        else:
            call = self._calls[-1] if self._calls else None
        if call is None:
            call = _Call(len(self._calls) if index is None else index)
            limit_parts(self._calls)
            self._calls.append(call)
            if index is not None or call_id:
                self._slots[call_id or "" if index is None else index] = call
        return call

    def text(self) -> str:
        """Return the text so far."""
        words = [part["text"] for part in self._content.whole() if part.get("type") == "text"]
        return "".join(
            words
            + [
                self._pieces[name].getvalue()
                for name in ("content", "refusal")
                if name in self._pieces
            ]
        )

    def whole(self, index: int) -> dict[str, Any]:
        """Return the choice of a whole reply."""
        pieces = {name: piece.getvalue() for name, piece in self._pieces.items()}
        message = self._message | {"content": None} | pieces
        if content := self._content.whole():
            message["content"] = content
        if details := self._details.whole():
            message["reasoning_details"] = details
        if self._calls:
            message["tool_calls"] = [
                call.whole() for call in sorted(self._calls, key=lambda call: call.order)
            ]
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
        usage, model = self._reply.get("usage"), self._reply.get("model")
        try:
            counted = self._wire.usage(usage) if isinstance(usage, dict) else None
        except ProviderError:
            counted = None
        return PartialReply(
            text=self._choices[min(self._choices)].text() if self._choices else "",
            usage=counted,
            model=model if isinstance(model, str) else None,
        )


def _update(kept: dict[str, Any], members: Json, *, without: frozenset[str]) -> None:
    for name, value in members.items():  # in each event of a stream: faster than a second dict
        if value and name not in without:
            kept[name] = value  # noqa: PERF403
    limit_parts(kept)
