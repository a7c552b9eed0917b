"""The conformance tests for providers that are written as a `Wire`, as one pytest class.

`CompleteConformance` is the one for those that are written as a `Provider`.

    from code_commit_testing.conformance import ProviderConformance

    class TestMine(ProviderConformance):
        definition = MINE
        settings = {"model": "mine-1"}

        def answer(self, reply):
            return 200, {}, my_json_of(reply)

A provider with one of the three known protocols sets `protocol`, such as "openai", instead of
`answer`.
"""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Collection, Iterator, Mapping
from typing import Any, ClassVar, Literal

import pytest

from code_commit.plugin_api import (
    Completion,
    Finish,
    Message,
    Opaque,
    Provider,
    ProviderDefinition,
    ProviderError,
    Request,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    Wire,
    http_provider,
)
from code_commit_testing.conformance_count import CountConformance
from code_commit_testing.conformance_provider import CompleteConformance
from code_commit_testing.conformance_samples import (
    INVALID_ANSWERS,
    KEY,
    QUESTION,
    READ,
    TWO_CALLS,
    UNKNOWN_WORDS,
    with_each_value_replaced_in,
)
from code_commit_testing.conformance_stream import assert_valid
from code_commit_testing.conformance_token import TokenConformance
from code_commit_testing.scripted_provider import model_call
from code_commit_testing.scripted_replies import Protocol, Reply, answer_of
from code_commit_testing.scripted_server import ScriptedServer
from code_commit_testing.token_endpoint import TokenEndpoint

__all__ = ["CompleteConformance", "ProviderConformance"]

ToolChoice = Literal["auto", "none", "required"]


class ProviderConformance(CountConformance, TokenConformance):
    """Subclass it, name the subclass `Test…`, and set these attributes.

    `settings` is the provider's configuration. `unspoken` are the finishes that the service cannot
    express, `tools` is whether it offers tools, `tool_choices` the choices among them. `thinks` is
    whether it returns thinking that must go back, `reports_cache` whether its usage reports cached
    input.
    """

    definition: ClassVar[ProviderDefinition]
    settings: ClassVar[Mapping[str, Any]] = {"model": "some-model"}
    protocol: ClassVar[Protocol | None] = None
    unspoken: ClassVar[Collection[Finish]] = (Finish.PAUSED,)
    tools: ClassVar[bool] = True
    tool_choices: ClassVar[Collection[ToolChoice]] = ("auto", "none", "required")
    thinks: ClassVar[bool] = True
    reports_cache: ClassVar[bool] = True

    def answer(self, reply: Reply) -> tuple[int, Mapping[str, str], bytes]:
        """Return status, headers and body of `reply` as the service sends it.

        Override it for your own protocol.
        """
        if self.protocol is None:
            raise NotImplementedError("set `protocol`, or override `answer`")
        status, body = answer_of(self.protocol, reply)
        return status, reply.headers, body

    @pytest.fixture
    def wire(self, request: pytest.FixtureRequest) -> Wire:
        """Return the provider's wire, created as the host creates it."""
        wire = wire_of(self.definition, self.settings)
        if hasattr(wire, "encode_token"):
            server = request.getfixturevalue("server")
            return wire_of(self.definition, self.settings_at(server.address))
        return wire

    @pytest.fixture
    def server(self) -> Iterator[ScriptedServer]:
        """Yield a server on loopback."""
        with ScriptedServer() as server:
            yield server

    @pytest.fixture
    def provider(
        self,
        wire: Wire,
        server: ScriptedServer,
        endpoint: TokenEndpoint,
    ) -> Iterator[Provider]:
        """Yield the wire with the host's HTTP, connected to `server`."""
        if hasattr(wire, "encode_token"):
            address = wire.encode_token().path
            path = address.removeprefix(server.address)
            assert path.startswith("/"), f"override `settings_at`: {address} is another server"
            server.endpoints[path] = endpoint
        provider = http_provider(self.definition, wire, server.address, key=KEY)
        yield provider
        provider.close()

    def decoded(self, wire: Wire, reply: Reply) -> Completion:
        """Return `reply`, decoded by the wire."""
        status, headers, body = self.answer(reply)
        return wire.decode(status, headers, body)

    # --- the definition

    def test_definition_is_complete(self) -> None:
        definition = self.definition
        name, template = definition.key_header
        assert definition.name == definition.name.lower().strip()
        assert name
        assert template.format(key="k") != template
        assert not definition.base_url.endswith("/")
        names = [
            *definition.models,
            *(alias for aliases in definition.models.values() for alias in aliases),
        ]
        assert len(names) == len(set(names))

    def test_configuration_refuses_unknown_fields(self) -> None:
        with pytest.raises(ValueError, match="no_such_field"):
            pkgutil.resolve_name(self.definition.config).model_validate(
                {**self.settings, "no_such_field": 1}
            )

    # --- requests

    def test_request_contains_system_tools_and_limit(self, wire: Wire) -> None:
        request = Request(
            QUESTION.messages, system="Be brief & kind.", tools=(READ,), max_tokens=12345
        )
        sent = json.dumps(wire.encode(request).body)
        for expected in ("What is in a.txt and b.txt?", "Be brief & kind.", "12345"):
            assert expected in sent
        for expected in ("read_file", "Reads a file."):
            assert expected in sent or not self.tools

    @pytest.mark.usefixtures("offers_tools")
    def test_tool_choices_differ(self, wire: Wire) -> None:
        bodies = set()
        for choice in self.tool_choices:
            request = Request(QUESTION.messages, tools=(READ,), tool_choice=choice)
            bodies.add(json.dumps(wire.encode(request).body))
        assert len(bodies) == len(self.tool_choices)

    def test_encoding_is_pure(self, wire: Wire) -> None:
        request = self._after_two_calls(wire, Reply(tool_calls=TWO_CALLS, thinking="thoughts"))
        before = repr(request)
        assert wire.encode(request) == wire.encode(request)
        assert repr(request) == before

    def test_path_and_body_can_be_sent(self, wire: Wire) -> None:
        call = wire.encode(QUESTION)
        assert call.path.startswith("/")
        assert json.loads(json.dumps(call.body, allow_nan=False)) == call.body
        assert self.definition.key_header[0].lower() not in {name.lower() for name in call.headers}

    # --- complete answers

    def test_text(self, wire: Wire) -> None:
        completion = self.decoded(wire, Reply(text="Grüße,\nline two 🙂\n"))
        assert completion.text == "Grüße,\nline two 🙂\n"
        assert completion.finish is Finish.STOP
        assert completion.message.role == "assistant"
        assert completion.finish_detail
        assert completion.model

    def test_half_of_a_character_is_kept(self, wire: Wire) -> None:
        # A workflow refuses such text. Replaced, it would be written to the project.
        status, headers, body = self.answer(Reply(text="M"))
        if b'"M"' not in body:
            pytest.skip("this service does not send text as a string of JSON")
        completion = wire.decode(status, headers, body.replace(b'"M"', rb'"\ud83d"'))
        assert completion.text == "\ud83d"

    def test_usage_counts_everything(self, wire: Wire) -> None:
        cached = 60 if self.reports_cache else None
        reported = Usage(input=100, output=40, cache_read=cached)
        usage = self.decoded(wire, Reply(text="hi", usage=reported)).usage
        assert (usage.input, usage.output, usage.cache_read) == (100, 40, cached)

    def test_missing_usage_is_not_zero(self, wire: Wire) -> None:
        usage = self.decoded(wire, Reply(text="hi", usage=None)).usage
        assert (usage.input, usage.output) == (None, None)

    @pytest.mark.usefixtures("offers_tools")
    def test_parallel_tool_calls(self, wire: Wire) -> None:
        completion = self.decoded(wire, Reply(text="Let me look.", tool_calls=TWO_CALLS))
        assert completion.finish is Finish.TOOL_CALLS
        assert completion.text == "Let me look."
        assert [call.name for call in completion.tool_calls] == ["read_file", "read_file"]
        assert [call.arguments for call in completion.tool_calls] == [
            {"path": "a.txt"},
            {"path": "b.txt"},
        ]
        assert len({call.id for call in completion.tool_calls if call.id}) == len(TWO_CALLS)

    @pytest.mark.usefixtures("offers_tools")
    def test_tool_call_without_arguments(self, wire: Wire) -> None:
        completion = self.decoded(wire, Reply(tool_calls=(ToolCall("c1", "now", {}),)))
        assert completion.tool_calls[0].arguments == {}

    @pytest.mark.usefixtures("offers_tools")
    @pytest.mark.parametrize("raw", ['{"path": "a.t', "[1]", '"a.txt"', "{'path': 1}", "{" * 5000])
    def test_malformed_arguments_are_data(self, wire: Wire, raw: str) -> None:
        completion = self.decoded(
            wire, Reply(tool_calls=(ToolCall("c1", "read_file", None, raw=raw), TWO_CALLS[1]))
        )
        broken, sound = completion.tool_calls
        assert broken.arguments is None
        assert raw in {
            broken.raw,
            json.loads(broken.raw) if broken.raw.startswith('"') else broken.raw,
        }
        assert sound.arguments == {"path": "b.txt"}
        results = tuple(
            ToolResult(call.id, call.name, "no JSON", is_error=True)
            for call in completion.tool_calls
        )
        messages = (*QUESTION.messages, completion.message, Message("user", results))
        sent = json.dumps(wire.encode(Request(messages)).body)
        assert sent.count("no JSON") == len(completion.tool_calls)

    # --- following requests

    @pytest.mark.usefixtures("offers_tools")
    def test_results_go_back_with_their_calls(self, wire: Wire) -> None:
        reply = Reply(text="Let me look.", tool_calls=TWO_CALLS)
        completion = self.decoded(wire, reply)
        sent = json.dumps(wire.encode(self._after_two_calls(wire, reply)).body)
        assert sent.index("result of a.txt") < sent.index("result of b.txt")
        assert sent.index("Let me look.") < sent.index("result of a.txt")
        for call in completion.tool_calls:
            matched = [token for token in (call.id, call.name) if sent.count(json.dumps(token)) > 1]
            assert matched, "neither id nor name connects the result to its call"

    @pytest.mark.usefixtures("offers_tools")
    def test_an_error_result_differs(self, wire: Wire) -> None:
        completion = self.decoded(wire, Reply(tool_calls=TWO_CALLS[:1]))
        call = completion.tool_calls[0]
        bodies = []
        for is_error in (True, False):
            result = ToolResult(call.id, call.name, "no such file", is_error=is_error)
            messages = (*QUESTION.messages, completion.message, Message("user", (result,)))
            bodies.append(json.dumps(wire.encode(Request(messages)).body))
        assert bodies[0] != bodies[1]

    def test_thinking_goes_back_unchanged(self, wire: Wire) -> None:
        if not self.thinks:
            pytest.skip("this service returns no thinking")
        reply = Reply(thinking="a private thought", signature="c2lnbmVkIQ==", tool_calls=TWO_CALLS)
        completion = self.decoded(wire, reply)
        assert "a private thought" not in completion.text
        sent = json.dumps(wire.encode(self._after_two_calls(wire, reply)).body)
        assert sent.count("a private thought") == 1
        if "c2lnbmVkIQ==" in json.dumps(completion.raw):
            assert sent.count("c2lnbmVkIQ==") == 1

    def test_thinking_of_another_provider_is_dropped(self, wire: Wire) -> None:
        foreign = Opaque(
            "another", {"type": "thinking", "thinking": "not for you", "text": "not for you"}
        )
        words = Message("assistant", (foreign, Text("I see.")))
        calls = Message("assistant", (foreign, TWO_CALLS[0]))
        results = Message("user", (ToolResult("call_one", "read_file", "text of a"),))
        request = Request((*QUESTION.messages, words, *QUESTION.messages, calls, results))
        sent = json.dumps(wire.encode(request).body)
        assert "not for you" not in sent
        assert "I see." in sent

    @pytest.mark.usefixtures("offers_tools")
    def test_a_conversation_of_another_provider_can_continue(self, wire: Wire) -> None:
        foreign = Opaque(
            "another",
            {"id": "functions.read:0", "thoughtSignature": "not for you", "x": "not for you"},
        )
        call = ToolCall("functions.read:0", "read_file", {"path": "a"}, echo=foreign)
        result = ToolResult("functions.read:0", "read_file", "text of a")
        messages = (
            *QUESTION.messages,
            Message("assistant", (call,)),
            Message("user", (result, Text("And now?"))),
        )
        sent = json.dumps(wire.encode(Request(messages, tools=(READ,))).body)
        assert sent.index("text of a") < sent.index("And now?")
        assert "not for you" not in sent

    # --- incomplete answers

    def test_every_finish_is_recognized(self, wire: Wire) -> None:
        for finish in set(Finish) - {Finish.TOOL_CALLS, Finish.STOPPED_EARLY, *self.unspoken}:
            completion = self.decoded(wire, Reply(text="as far as I got", finish=finish))
            assert completion.finish is finish
            assert completion.finish_detail

    def test_a_missing_finish_is_that_of_a_whole_reply(self, wire: Wire) -> None:
        assert self.decoded(wire, Reply(text="all of it", finish="")).finish is Finish.STOP

    @pytest.mark.parametrize("word", UNKNOWN_WORDS)
    def test_a_word_that_nobody_knows_is_not_a_whole_reply(self, wire: Wire, word: str) -> None:
        completion = self.decoded(wire, Reply(text="as far as I got", finish=word))
        assert (completion.finish, completion.finish_detail) == (UNKNOWN_WORDS[word], word)

    def test_incomplete_calls_have_the_finish_length(self, wire: Wire) -> None:
        assert (
            self.decoded(wire, Reply(tool_calls=TWO_CALLS, finish=Finish.LENGTH)).finish
            is Finish.LENGTH
        )

    def test_an_empty_answer_is_a_completion_without_text(self, wire: Wire) -> None:
        completion = self.decoded(wire, Reply(text=""))
        assert completion.text == ""
        assert completion.tool_calls == ()

    # --- invalid answers

    @pytest.mark.parametrize(
        ("status", "kind"),
        [
            *((status, "auth") for status in (401, 403)),
            (402, "quota"),
            (429, "rate"),
            *((status, "server") for status in (408, 409, 500, 502, 503, 504, 529)),
            *((status, "rejected") for status in (400, 404, 405, 413, 418, 422, 425)),
        ],
    )
    def test_errors_by_status(self, wire: Wire, status: int, kind: str) -> None:
        with pytest.raises(ProviderError) as caught:
            self.decoded(wire, Reply.error(status, "the reason"))
        assert caught.value.kind == kind
        assert str(status) in str(caught.value)
        assert ("the reason" in str(caught.value)) == (kind != "auth")

    def test_an_authentication_error_is_not_quoted(self, wire: Wire) -> None:
        with pytest.raises(ProviderError) as caught:
            self.decoded(
                wire, Reply.error(401, f"Incorrect key {KEY[:6]}*******{KEY[-4:]}, that is {KEY}")
            )
        assert KEY[-4:] not in str(caught.value)

    @pytest.mark.parametrize("what", INVALID_ANSWERS)
    def test_an_unreadable_answer_is_invalid(self, wire: Wire, what: str) -> None:
        with pytest.raises(ProviderError) as caught:
            wire.decode(200, {}, INVALID_ANSWERS[what])
        assert caught.value.kind == "invalid_response"

    def test_a_web_page_is_invalid_or_a_server_error(self, wire: Wire) -> None:
        page = Reply.html().body or b""
        for status, kind in (
            (200, "invalid_response"),
            (502, "server"),
            (404, "rejected"),
            (403, "auth"),
        ):
            with pytest.raises(ProviderError) as caught:
                wire.decode(status, {"content-type": "text/html"}, page)
            assert caught.value.kind == kind

    def test_a_value_of_the_wrong_type_does_not_crash(self, wire: Wire) -> None:
        status, headers, body = self.answer(Reply(text="hi", thinking="hm", tool_calls=TWO_CALLS))
        for changed in with_each_value_replaced_in(body):
            try:
                completion = wire.decode(status, headers, changed)
            except ProviderError:
                continue
            assert_valid(completion)

    # --- with the host's HTTP, on a real connection

    def test_the_key_is_only_in_its_header(
        self, provider: Provider, server: ScriptedServer, wire: Wire
    ) -> None:
        server.script(self.as_bytes(Reply(text="hello")))
        assert provider.complete(model_call(QUESTION)).text == "hello"
        (request,) = server.requests
        name, template = self.definition.key_header
        headers = dict(request.headers)
        assert headers.pop(name.lower()) == template.format(key=self.sent_key(wire))
        assert KEY not in json.dumps([request.path, headers, request.body.decode()])

    def test_a_temporary_failure_may_be_retried(
        self, provider: Provider, server: ScriptedServer
    ) -> None:
        failure = self.as_bytes(Reply.error(429, "slow down"))
        server.script(
            Reply(status=429, headers={"retry-after": "0"}, body=failure.body),
            self.as_bytes(Reply(text="hello")),
        )
        with pytest.raises(ProviderError) as caught:
            provider.complete(model_call(QUESTION))
        assert (caught.value.kind, caught.value.retry_after) == ("rate", 0)
        assert provider.complete(model_call(QUESTION)).text == "hello"

    @pytest.mark.parametrize("status", [400, 401, 429, 500])
    def test_a_key_in_an_error_is_removed(
        self,
        provider: Provider,
        server: ScriptedServer,
        status: int,
    ) -> None:
        server.script(self.as_bytes(Reply.error(status, f"what you sent was {KEY}")))
        with pytest.raises(ProviderError) as caught:
            provider.complete(model_call(QUESTION))
        assert KEY not in f"{caught.value!r} {caught.value.body}"

    def test_a_redirect_is_not_followed(self, provider: Provider, server: ScriptedServer) -> None:
        with ScriptedServer() as elsewhere:
            server.script(Reply.redirect(elsewhere.address + "/take-it"))
            with pytest.raises(ProviderError) as caught:
                provider.complete(model_call(QUESTION))
            assert elsewhere.requests == []
        assert caught.value.kind == "rejected"

    def test_half_an_answer_is_a_network_error(
        self, provider: Provider, server: ScriptedServer
    ) -> None:
        server.script(self.as_bytes(Reply(text="hello " * 50, fault="half")))
        with pytest.raises(ProviderError) as caught:
            provider.complete(model_call(QUESTION))
        assert caught.value.kind == "network"

    def _after_two_calls(self, wire: Wire, reply: Reply) -> Request:
        completion = self.decoded(wire, reply)
        results = []
        for call in completion.tool_calls:
            text = f"result of {call.arguments['path']}" if call.arguments else "?"
            results.append(ToolResult(call.id, call.name, text))
        messages = (*QUESTION.messages, completion.message, Message("user", tuple(results)))
        return Request(messages, tools=(READ,))


def wire_of(definition: ProviderDefinition, settings: Mapping[str, Any]) -> Wire:
    """Return the wire that the factory of `definition` makes."""
    factory = pkgutil.resolve_name(definition.factory)
    config = pkgutil.resolve_name(definition.config).model_validate(dict(settings))
    wire: Wire = factory(config)
    assert hasattr(wire, "encode"), "this is a Provider, not a Wire: use CompleteConformance"
    return wire
