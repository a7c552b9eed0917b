"""The conformance tests on a service that replies and streams in lines of JSON, and cannot be
forced to call a tool.
"""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from typing import ClassVar

import pytest

from code_commit.plugin_api import (
    Completion,
    Delta,
    Finish,
    HttpCall,
    Message,
    Part,
    PartialReply,
    ProviderDefinition,
    ProviderError,
    StreamEvent,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    finish_of,
    http_provider,
    read_arguments,
    reply_error,
    reply_member,
    reply_object,
    reply_objects,
    token_count,
    with_ids,
)
from code_commit_testing import Reply, ScriptedServer
from code_commit_testing.conformance import ProviderConformance
from code_commit_testing.conformance_samples import KEY

LINES = ProviderDefinition(
    name="lines",
    models={"lines-1": ()},
    base_url="https://lines.example.org",
    base_url_variable=None,
    key_variable="LINES_API_KEY",
    key_header=("authorization", "Bearer {key}"),
    config="code_commit_testing.scripted_provider:ScriptedConfig",
    factory="unused:the_fixture_makes_it",
)
ENDINGS = {"stop": Finish.STOP, "length": Finish.LENGTH, "tools": Finish.TOOL_CALLS}


class LinesWire:
    def encode(self, request) -> HttpCall:
        turns = [
            {"by": message.role, **turn}
            for message in request.messages
            for part in message.parts
            if (turn := _turn(part))
        ]
        body = {
            "system": request.system,
            "turns": turns,
            "limit": request.max_tokens,
        }
        if request.tool_choice != "none":
            body["tools"] = [
                [tool.name, tool.description, dict(tool.parameters)] for tool in request.tools
            ]
        return HttpCall("/chat", body)

    def encode_stream(self, request) -> HttpCall:
        whole = self.encode(request)
        return HttpCall(whole.path, {**whole.body, "stream": True})

    def stream(self) -> LinesDecoder:
        return LinesDecoder()

    def decode(self, status, headers, body) -> Completion:
        lines = [reply_object(line, status, headers) for line in body.splitlines() if line.strip()]
        if status >= 400:
            raise reply_error(status, words=str(lines[0].get("error")) if lines else "no reply")
        if not lines or not lines[-1].keys() & {"say", "calls", "done"}:
            raise ProviderError("the reply has no last line", kind="invalid_response")
        text = "".join(reply_member(line, "say", str) or "" for line in lines)
        parts: list[Part] = [Text(text)] if text else []
        for call in (call for line in lines for call in reply_objects(line, "calls")):
            arguments, raw = read_arguments(call.get("arguments"))
            name = reply_member(call, "name", str) or ""
            parts.append(ToolCall("", name, arguments, raw))
        word = reply_member(lines[-1], "done", str) or ""
        usage = Usage(token_count(lines[-1], "in"), token_count(lines[-1], "out"))
        finish = finish_of(word, parts, ENDINGS)
        return Completion(
            Message("assistant", with_ids(parts, word)),
            finish,
            word,
            usage,
            "lines-1",
            {"lines": lines},
        )


class LinesDecoder:
    """Decodes the lines as if they had come at once."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.text: list[str] = []

    def feed(self, event) -> list[Delta]:
        line = reply_object(event.data)
        if "error" in line:
            raise reply_error(500, words=str(line["error"]))
        self.lines.append(event.data)
        deltas = [Delta("text", text)] if (text := reply_member(line, "say", str)) else []
        self.text += [delta.text for delta in deltas]
        for index, call in enumerate(reply_objects(line, "calls")):
            _, raw = read_arguments(call.get("arguments"))
            deltas.append(
                Delta("tool", raw, index=index, name=reply_member(call, "name", str) or "")
            )
        return deltas

    def finish(self) -> Completion:
        if not self.lines or "done" not in reply_object(self.lines[-1]):
            raise ProviderError("the last line is missing", kind="network")
        return LinesWire().decode(200, {}, b"\n".join(self.lines))

    def partial(self) -> PartialReply:
        return PartialReply("".join(self.text), model="lines-1")


def _turn(part) -> dict | None:
    match part:
        case Text():
            return {"say": part.text}
        case ToolCall():
            return {"call": part.id, "name": part.name, "arguments": part.arguments_object}
        case ToolResult():
            return {"result": part.call_id, "failed": part.is_error, "say": part.text}
    return None


class TestLines(ProviderConformance):
    definition = LINES
    settings: ClassVar = {"model": "lines-1"}
    unspoken: ClassVar = [Finish.PAUSED, Finish.REFUSED, Finish.FILTERED]
    tool_choices: ClassVar = ["auto", "none"]
    thinks = False
    stream_lines = True
    reports_cache = False

    @pytest.fixture
    def wire(self):
        return LinesWire()

    def answer(self, reply: Reply):
        if reply.status >= 400:
            return reply.status, reply.headers, json.dumps({"error": reply.text}).encode()
        finish = reply.finish
        if finish is None:
            finish = Finish.TOOL_CALLS if reply.tool_calls else Finish.STOP
        calls = [
            {"name": call.name, "arguments": call.raw or json.dumps(call.arguments)}
            for call in reply.tool_calls
        ]
        words = {finish: word for word, finish in ENDINGS.items()} | {Finish.CUT: "a new word"}
        last: dict[str, object] = {
            "calls": calls,
            "done": words[finish] if isinstance(finish, Finish) else finish,
        }
        if reply.usage is not None:
            last |= {"in": reply.usage.input, "out": reply.usage.output}
        lines = [*({"say": line} for line in reply.text.splitlines(keepends=True)), last]
        return reply.status, reply.headers, b"\n".join(json.dumps(line).encode() for line in lines)

    def stream_events(self, reply: Reply, piece: int):
        last = self.answer(reply)[2].splitlines()[-1]
        pieces = [reply.text[start : start + piece] for start in range(0, len(reply.text), piece)]
        return [
            *(StreamEvent("", json.dumps({"say": text}).encode()) for text in pieces),
            StreamEvent("", last),
        ]

    def stream_error(self, reply: Reply):
        return StreamEvent("", self.answer(reply)[2])


class LosesText(LinesDecoder):
    def finish(self):
        return LinesWire().decode(200, {}, b"\n".join(self.lines[1:]))


class TakesAnyEnd(LinesDecoder):
    def finish(self):
        return LinesWire().decode(200, {}, b"\n".join([*self.lines, b'{"done": "stop"}']))


class SharesLines(LinesDecoder):
    shared: ClassVar[list[bytes]] = []

    def __init__(self) -> None:
        super().__init__()
        self.lines = self.shared


class RepeatsDeltas(LinesDecoder):
    def feed(self, event):
        return [*super().feed(event)] * 2


class Crashes(LinesDecoder):
    def feed(self, event):
        json.loads(event.data)["done"]
        return super().feed(event)


class NeedsAWord(LinesDecoder):
    def finish(self):
        if not reply_object(self.lines[-1]).get("done"):
            raise ProviderError("there is no reason", kind="network")
        return super().finish()


class TrustsEveryWord(LinesDecoder):
    def finish(self):
        return replace(super().finish(), finish=Finish.STOP)


class IgnoresErrors(LinesDecoder):
    def feed(self, event):
        return [] if b"error" in event.data else super().feed(event)


@pytest.mark.parametrize(
    ("decoder", "name", "arguments"),
    [
        (LosesText, "streamed_and_whole_are_the_same", ("much text", 3)),
        (TakesAnyEnd, "without_its_end_a_reply_is_a_network_error", ("text",)),
        (NeedsAWord, "a_stream_without_a_finish_is_as_the_whole_reply", ()),
        (
            TrustsEveryWord,
            "a_streamed_word_that_nobody_knows_is_as_in_the_whole_reply",
            ("zz_brand_new",),
        ),
        (SharesLines, "two_replies_at_once_are_kept_apart", ()),
        (RepeatsDeltas, "deltas_are_the_pieces_of_the_reply", ()),
        (RepeatsDeltas, "what_arrived_is_known_at_every_event", ()),
        (Crashes, "an_event_of_the_wrong_type_does_not_crash", ()),
        (IgnoresErrors, "an_error_in_the_middle_ends_the_stream", ()),
    ],
)
def test_a_broken_decoder_is_found(decoder, name, arguments):
    test = getattr(TestLines(), f"test_{name}")
    wire = LinesWire()
    test(wire, *arguments)
    wire.stream = decoder  # type: ignore[method-assign]
    with pytest.raises((AssertionError, KeyError, TypeError, pytest.fail.Exception)):
        test(wire, *arguments)


class CountsTwice(LinesDecoder):
    def finish(self):
        completion = super().finish()
        return replace(completion, usage=Usage(2 * completion.usage.input, completion.usage.output))


def test_a_stream_that_does_not_arrive_as_the_whole_reply_is_found():
    wire = LinesWire()
    wire.stream = CountsTwice  # type: ignore[method-assign]
    with (
        ScriptedServer() as server,
        closing(http_provider(LINES, wire, server.address, key=KEY)) as provider,
        pytest.raises(AssertionError),
    ):
        TestLines().test_a_stream_arrives(provider, wire, server, {})


def test_the_end_of_a_key_in_an_error_is_found():
    class Quotes(LinesWire):
        def decode(self, status, headers, body):
            raise ProviderError(f"the key that ends in {KEY[-4:]} is refused", kind="auth")

    with pytest.raises(AssertionError):
        TestLines().test_an_authentication_error_is_not_quoted(Quotes())
