"""The conformance tests for a `Wire` that streams, with the host's HTTP on a real connection.

They skip others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from code_commit.plugin_api import Delta, Provider, ProviderError, StreamEvent, StreamingWire
from code_commit_testing.conformance_samples import KEY, QUESTION, TWO_CALLS
from code_commit_testing.conformance_stream import StreamConformance, assert_same
from code_commit_testing.scripted_provider import model_call
from code_commit_testing.scripted_replies import Reply, Stream
from code_commit_testing.scripted_server import ScriptedServer


class StreamHttpConformance(StreamConformance):
    """A part of `ProviderConformance`.

    `stream_lines` is whether events are lines of JSON, not server-sent events.
    """

    stream_lines: ClassVar[bool] = False

    def sent_key(self, wire: object) -> str:  # noqa: ARG002 - for a wire with access tokens
        """Return what the host sends in the key header."""
        return KEY

    def as_stream(self, reply: Reply, **how: Any) -> Reply:
        """Return `reply` as fixed events, for any path; `how` are fields of `Stream`."""
        return self._sent(*self.stream_events(reply, 5), **how)

    def as_bytes(self, reply: Reply) -> Reply:
        """Return `reply` as fixed bytes, for any path."""
        status, headers, body = self.answer(reply)
        return Reply(status=status, headers=headers, body=body, fault=reply.fault)

    def _sent(self, *events: StreamEvent, **how: Any) -> Reply:
        return Reply(stream=Stream(events=events, lines=self.stream_lines, **how))

    @pytest.fixture
    def streaming_provider(self, streaming_wire: StreamingWire, provider: Provider) -> Provider:
        """Return the wire with the host's HTTP, if it streams."""
        assert streaming_wire is not None
        return provider

    @pytest.mark.parametrize(
        "how", [{}, {"newline": "\r\n", "keep_alives": 2}, {"newline": "\r"}, {"gzip": True}]
    )
    def test_a_stream_arrives(
        self,
        streaming_provider: Provider,
        streaming_wire: StreamingWire,
        server: ScriptedServer,
        how: Mapping[str, Any],
    ) -> None:
        reply = Reply("Grüße,\nline two 🙂\n", tool_calls=TWO_CALLS)
        status, headers, body = self.answer(reply)
        server.script(self.as_stream(reply, **how))
        arrived: list[StreamEvent | Delta] = []
        completion = streaming_provider.complete(
            model_call(QUESTION, stream=True, progress=arrived.append)
        )
        assert_same(completion, streaming_wire.decode(status, headers, body), body)
        deltas = [event for event in arrived if isinstance(event, Delta)]
        assert "".join(delta.text for delta in deltas if delta.kind == "text") == reply.text
        (request,) = server.requests
        name, template = self.definition.key_header
        sent = dict(request.headers)
        assert sent.pop(name.lower()) == template.format(key=self.sent_key(streaming_wire))
        assert KEY not in json.dumps([request.path, sent, request.body.decode()])

    @pytest.mark.parametrize("then", ["end", "drop", "reset"])
    @pytest.mark.parametrize("after", [0, 1, 4])
    def test_a_stream_that_breaks_off_is_a_network_error(
        self,
        streaming_provider: Provider,
        server: ScriptedServer,
        after: int,
        then: str,
    ) -> None:
        server.script(self.as_stream(Reply("hello " * 20), after=after, then=then))
        with pytest.raises(ProviderError) as caught:
            streaming_provider.complete(model_call(QUESTION, stream=True))
        assert caught.value.kind == "network"

    def test_a_service_may_answer_as_a_whole(
        self, streaming_provider: Provider, server: ScriptedServer
    ) -> None:
        server.script(*map(self.as_bytes, (Reply("hello"), Reply.error(429, "slow down"))))
        assert streaming_provider.complete(model_call(QUESTION, stream=True)).text == "hello"
        with pytest.raises(ProviderError) as caught:
            streaming_provider.complete(model_call(QUESTION, stream=True))
        assert caught.value.kind == "rate"

    def test_a_service_that_refuses_to_stream_is_asked_for_the_whole(
        self,
        streaming_provider: Provider,
        streaming_wire: StreamingWire,
        server: ScriptedServer,
    ) -> None:
        tries = 2 if streaming_wire.encode_stream(QUESTION).optional else 1
        refusals = [Reply.error(400, "unknown: stream")] * tries
        server.script(*map(self.as_bytes, [*refusals, Reply("one"), Reply("two")]))
        warned: list[str] = []
        call = model_call(QUESTION, stream=True, warn=warned.append)
        assert [streaming_provider.complete(call).text for _ in range(2)] == ["one", "two"]
        assert len(warned) == 1
        whole = json.dumps(streaming_wire.encode(QUESTION).body)
        assert json.loads(server.requests[-1].body) == json.loads(whole)

    def test_a_key_in_an_error_in_the_middle_is_removed(
        self, streaming_provider: Provider, server: ScriptedServer
    ) -> None:
        events = [*self.stream_events(Reply("hello " * 20), 5)]
        error = self.stream_error(Reply.error(500, f"what you sent was {KEY}"))
        server.script(self._sent(*events[:4], error))
        with pytest.raises(ProviderError) as caught:
            streaming_provider.complete(model_call(QUESTION, stream=True))
        assert KEY not in f"{caught.value!r} {caught.value.body}"
