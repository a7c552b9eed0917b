"""The conformance tests for a `Wire` that streams; they skip others."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from code_commit.plugin_api import (
    Completion,
    Delta,
    Finish,
    Message,
    Opaque,
    ProviderDefinition,
    ProviderError,
    Request,
    StreamDecoder,
    StreamEvent,
    StreamingWire,
    Text,
    ToolCall,
    Usage,
)
from code_commit_testing.conformance_samples import (
    INVALID_ANSWERS,
    QUESTION,
    READ,
    TWO_CALLS,
    UNKNOWN_WORDS,
    with_each_value_replaced_in,
)
from code_commit_testing.scripted_events import error_event, events_of
from code_commit_testing.scripted_replies import Protocol, Reply

_SAMPLES = {
    "text": Reply("Grüße,\nline two 🙂\n"),
    "much text": Reply("one two three four\n" * 50),
    "no text": Reply(""),
    "thinking": Reply("I see.", thinking="a private\nthought", signature="c2lnbmVkIQ=="),
    "calls": Reply("Let me look.", tool_calls=TWO_CALLS),
    "thinking and calls": Reply(
        thinking="a private thought", signature="c2lnbmVkIQ==", tool_calls=TWO_CALLS
    ),
    "a call without arguments": Reply(tool_calls=(ToolCall("c1", "now", {}), TWO_CALLS[1])),
    "no usage": Reply("hi", usage=None),
    "input from the cache": Reply("hi", usage=Usage(input=100, output=40, cache_read=60)),
}


class StreamConformance:
    """A part of `ProviderConformance`.

    `ends_with_finish` is whether nothing but its finish reason tells the end of a streamed reply
    from a lost connection.
    """

    definition: ClassVar[ProviderDefinition]
    protocol: ClassVar[Protocol | None] = None
    unspoken: ClassVar[Collection[Finish]] = (Finish.PAUSED,)
    tools: ClassVar[bool] = True
    ends_with_finish: ClassVar[bool] = False

    def answer(self, reply: Reply) -> tuple[int, Mapping[str, str], bytes]:
        """Return status, headers and body of `reply` as the service sends it as a whole."""
        raise NotImplementedError

    def stream_events(self, reply: Reply, piece: int) -> Iterable[StreamEvent]:
        """Return `reply` as the service streams it.

        An event has up to `piece` characters of text.

        Override it for your own protocol. `reply` is no error.
        """
        if self.protocol is None:
            raise NotImplementedError("override `stream_events`")
        return events_of(self.protocol, json.loads(self.answer(reply)[2]), piece=piece)

    def stream_error(self, reply: Reply) -> StreamEvent:
        """Return the event of an error, which the service sends after the start of a stream.

        Override it for your own protocol.
        """
        if self.protocol is None:
            pytest.skip("`stream_error` is not overridden: this service sends no error as an event")
        return error_event(self.protocol, self.answer(reply)[2])

    @pytest.fixture
    def offers_tools(self) -> None:
        """Skip a service that offers no tools."""
        if not self.tools:
            pytest.skip("this service offers no tools")

    @pytest.fixture
    def streaming_wire(self, wire: StreamingWire) -> StreamingWire:
        """Return the wire if it streams."""
        if not hasattr(wire, "encode_stream"):
            pytest.skip("this wire does not stream")
        return wire

    def streamed(self, wire: StreamingWire, reply: Reply, *, piece: int = 5) -> Completion:
        """Return `reply`, streamed and decoded by the wire."""
        return _decoded(wire.stream(), self.stream_events(reply, piece))

    # --- requests

    def test_a_request_to_stream_can_be_sent(self, streaming_wire: StreamingWire) -> None:
        request = Request(
            QUESTION.messages, system="Be brief & kind.", tools=(READ,), max_tokens=12345
        )
        call, whole = streaming_wire.encode_stream(request), streaming_wire.encode(request)
        assert call.path.startswith("/")
        assert json.loads(json.dumps(call.body, allow_nan=False)) == call.body
        assert self.definition.key_header[0].lower() not in {name.lower() for name in call.headers}
        assert (call.path, call.body, call.headers) != (whole.path, whole.body, whole.headers)
        assert set(call.optional) <= set(call.body)
        assert call == streaming_wire.encode_stream(request)
        for expected in ("What is in a.txt and b.txt?", "Be brief & kind.", "12345"):
            assert expected in json.dumps(call.body)
        assert "Reads a file." in json.dumps(call.body) or not self.tools

    # --- complete replies

    @pytest.mark.parametrize("piece", [1, 3, 1000])
    @pytest.mark.parametrize("sample", _SAMPLES)
    def test_streamed_and_whole_are_the_same(
        self,
        streaming_wire: StreamingWire,
        sample: str,
        piece: int,
    ) -> None:
        status, headers, body = self.answer(_SAMPLES[sample])
        whole = streaming_wire.decode(status, headers, body)
        assert_same(self.streamed(streaming_wire, _SAMPLES[sample], piece=piece), whole, body)

    def test_a_streamed_finish_is_that_of_the_whole(self, streaming_wire: StreamingWire) -> None:
        for finish in set(Finish) - {Finish.TOOL_CALLS, Finish.STOPPED_EARLY, *self.unspoken}:
            reply = Reply("as far as I got", finish=finish)
            status, headers, body = self.answer(reply)
            if status == 200:  # noqa: PLR2004 - else the service does not stream it
                whole = streaming_wire.decode(status, headers, body)
                assert_same(self.streamed(streaming_wire, reply), whole, body)

    @pytest.mark.usefixtures("offers_tools")
    def test_streamed_malformed_arguments_are_data(self, streaming_wire: StreamingWire) -> None:
        for raw in ('{"path": "a.t', "[1]", "{" * 5000):
            calls = (ToolCall("c1", "read_file", None, raw=raw), TWO_CALLS[1])
            broken, sound = self.streamed(
                streaming_wire, Reply(tool_calls=calls), piece=700
            ).tool_calls
            assert broken.arguments is None
            assert sound.arguments == TWO_CALLS[1].arguments

    def test_deltas_are_the_pieces_of_the_reply(self, streaming_wire: StreamingWire) -> None:
        reply = Reply(
            "Let me look.", thinking="a private thought", tool_calls=TWO_CALLS if self.tools else ()
        )
        decoder = streaming_wire.stream()
        deltas = [delta for event in self.stream_events(reply, 4) for delta in decoder.feed(event)]
        completion = decoder.finish()
        assert {delta.kind for delta in deltas} <= {"text", "thinking", "tool"}
        assert (
            "".join(delta.text for delta in deltas if delta.kind == "text")
            == completion.text
            == reply.text
        )
        thinking = "".join(delta.text for delta in deltas if delta.kind == "thinking")
        assert thinking in {"", reply.thinking}
        tools: dict[int, list[Delta]] = {}
        for delta in deltas:
            if delta.kind == "tool":
                tools.setdefault(delta.index, []).append(delta)
        assert [written[0].name for written in tools.values()] == [
            call.name for call in reply.tool_calls
        ]
        arguments = [
            json.loads("".join(delta.text for delta in written)) for written in tools.values()
        ]
        assert arguments == [call.arguments for call in reply.tool_calls]

    def test_what_arrived_is_known_at_every_event(self, streaming_wire: StreamingWire) -> None:
        decoder, text = streaming_wire.stream(), ""
        assert decoder.partial().text == ""
        for event in self.stream_events(Reply("Let me look at both.", tool_calls=TWO_CALLS), 4):
            text += "".join(delta.text for delta in decoder.feed(event) if delta.kind == "text")
            assert decoder.partial().text == text
        assert text == "Let me look at both."

    def test_two_replies_at_once_are_kept_apart(self, streaming_wire: StreamingWire) -> None:
        replies = Reply("The first reply."), Reply("Quite another one", tool_calls=TWO_CALLS)
        decoders = [streaming_wire.stream() for _ in replies]
        streams = [[*self.stream_events(reply, 4)] for reply in replies]
        for number in range(max(map(len, streams))):
            for decoder, stream in zip(decoders, streams, strict=True):
                for event in stream[number : number + 1]:
                    list(decoder.feed(event))
        assert [decoder.finish().text for decoder in decoders] == [reply.text for reply in replies]

    # --- incomplete replies

    @pytest.mark.parametrize("sample", ["text", "thinking and calls", "calls"])
    def test_without_its_end_a_reply_is_a_network_error(
        self, streaming_wire: StreamingWire, sample: str
    ) -> None:
        events = [*self.stream_events(_SAMPLES[sample], 6)]
        whole = _decoded(streaming_wire.stream(), events)
        for number in range(len(events)):
            early = _completion_or_kind(streaming_wire, events[:number])
            if isinstance(early, Completion):  # the service's own end had arrived
                assert (_text_and_calls(early), early.finish) == (
                    _text_and_calls(whole),
                    whole.finish,
                )
            else:
                assert early == "network", f"{early} after {number} of {len(events)} events"
        assert _completion_or_kind(streaming_wire, []) == "network"

    def test_a_stream_without_a_finish_is_as_the_whole_reply(
        self, streaming_wire: StreamingWire
    ) -> None:
        reply = Reply("all of it", finish="")
        status, headers, body = self.answer(reply)
        streamed = _completion_or_kind(streaming_wire, self.stream_events(reply, 5))
        if self.ends_with_finish:
            assert streamed == "network"
        else:
            assert isinstance(streamed, Completion), (
                "the service's own end came, but no finish reason: it is whole"
            )
            assert_same(streamed, streaming_wire.decode(status, headers, body), body)

    @pytest.mark.parametrize("word", UNKNOWN_WORDS)
    def test_a_streamed_word_that_nobody_knows_is_as_in_the_whole_reply(
        self, streaming_wire: StreamingWire, word: str
    ) -> None:
        reply = Reply("as far as I got", finish=word)
        status, headers, body = self.answer(reply)
        streamed = self.streamed(streaming_wire, reply)
        assert_same(streamed, streaming_wire.decode(status, headers, body), body)
        assert streamed.finish is UNKNOWN_WORDS[word]

    def test_an_event_that_was_cut_on_its_way_is_an_error(
        self, streaming_wire: StreamingWire
    ) -> None:
        events = [*self.stream_events(Reply("as far as I got"), 5)]
        for number, event in enumerate(events):
            if event.data[:1] == b"{":
                cut = StreamEvent(event.name, event.data[: len(event.data) // 2])
                with pytest.raises(ProviderError):
                    _decoded(streaming_wire.stream(), [*events[:number], cut])

    # --- errors and invalid events

    def test_an_error_in_the_middle_ends_the_stream(self, streaming_wire: StreamingWire) -> None:
        events = [*self.stream_events(Reply("as far as I got"), 5)]
        error = self.stream_error(Reply.error(500, "the reason"))
        for number in range(len(events) - 1):
            with pytest.raises(ProviderError) as caught:
                _decoded(streaming_wire.stream(), [*events[:number], error])
            assert caught.value.kind == "server"
            assert "the reason" in str(caught.value)

    @pytest.mark.parametrize("what", INVALID_ANSWERS)
    def test_an_unreadable_event_is_an_error(
        self, streaming_wire: StreamingWire, what: str
    ) -> None:
        events = [*self.stream_events(Reply("as far as I got"), 5)]
        for name in {event.name for event in events}:
            invalid = StreamEvent(name, INVALID_ANSWERS[what])
            with pytest.raises(ProviderError):
                _decoded(streaming_wire.stream(), [invalid])
            for number in (1, len(events) // 2, len(events)):
                _assert_no_crash(streaming_wire, [*events[:number], invalid, *events[number:]])

    def test_an_event_of_the_wrong_type_does_not_crash(self, streaming_wire: StreamingWire) -> None:
        events = [*self.stream_events(Reply("hi", thinking="hm", tool_calls=TWO_CALLS), 1000)]
        for number, event in enumerate(events):
            if event.data[:1] != b"{":
                continue
            for data in with_each_value_replaced_in(event.data):
                changed = StreamEvent(event.name, data)
                _assert_no_crash(streaming_wire, [*events[:number], changed, *events[number + 1 :]])

    def test_events_in_any_order_do_not_crash(self, streaming_wire: StreamingWire) -> None:
        events = [*self.stream_events(Reply("hi", thinking="hm", tool_calls=TWO_CALLS), 1000)]
        for number in range(len(events)):
            _assert_no_crash(streaming_wire, [*events[:number], *events[number + 1 :]])
            _assert_no_crash(streaming_wire, [*events[number:], *events[:number]])
            _assert_no_crash(streaming_wire, [*events[: number + 1], *events[number:]])


def _decoded(decoder: StreamDecoder, events: Iterable[StreamEvent]) -> Completion:
    for event in events:
        list(decoder.feed(event))
    return decoder.finish()


def _completion_or_kind(wire: StreamingWire, events: Iterable[StreamEvent]) -> Completion | str:
    """Return the completion, or the kind of the error."""
    try:
        return _decoded(wire.stream(), events)
    except ProviderError as error:
        return error.kind


def _assert_no_crash(wire: StreamingWire, events: Sequence[StreamEvent]) -> None:
    ended = _completion_or_kind(wire, events)
    if isinstance(ended, Completion):
        assert_valid(ended)


def assert_valid(completion: Completion) -> None:
    """Check the types in a completion, which a service may have sent with others."""
    assert all(isinstance(part, Text | ToolCall | Opaque) for part in completion.message.parts)
    assert all(
        isinstance(part.text, str) for part in completion.message.parts if isinstance(part, Text)
    )
    assert all(
        isinstance(field, str)
        for call in completion.tool_calls
        for field in (call.id, call.name, call.raw)
    )


def assert_same(streamed: Completion, whole: Completion, body: bytes) -> None:
    """Check that a streamed completion is the same as the whole one, whose body is `body`."""
    assert _comparable(streamed, body) == _comparable(whole, body)
    streamed_ids = {call.id for call in streamed.tool_calls if call.id}
    whole_ids = [call.id for call in whole.tool_calls if call.id]
    assert len(streamed_ids) == len(whole_ids)
    assert json.loads(json.dumps(streamed.raw))


def _comparable(completion: Completion, body: bytes) -> Completion:
    """Return a completion without its body and the ids of calls that the service does not send."""
    parts = list(completion.message.parts)
    for index, part in enumerate(parts):
        if isinstance(part, ToolCall) and json.dumps(part.id).encode() not in body:
            parts[index] = replace(part, id="")
    return replace(completion, message=Message(completion.message.role, tuple(parts)), raw={})


def _text_and_calls(completion: Completion) -> tuple[Any, ...]:
    return completion.text, [(call.name, call.arguments) for call in completion.tool_calls]
