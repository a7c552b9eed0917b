"""The conformance tests on a service with access tokens, and on wires with one mistake each."""

from __future__ import annotations

import json
import threading
from contextlib import closing
from dataclasses import replace
from typing import ClassVar

import pytest

from code_commit.plugin_api import (
    AccessToken,
    Completion,
    Finish,
    HttpCall,
    Message,
    ProviderDefinition,
    ProviderError,
    Scope,
    Text,
    Usage,
    http_provider,
    reply_error,
    reply_member,
    reply_object,
    token_count,
)
from code_commit_testing import Reply, ScriptedServer, TokenEndpoint
from code_commit_testing.conformance import ProviderConformance
from code_commit_testing.conformance_samples import KEY, QUESTION
from code_commit_testing.conformance_token import TokenConformance
from code_commit_testing.running_call import AT_ONCE, RunningCall
from code_commit_testing.scripted_provider import model_call

TOKENS = ProviderDefinition(
    name="tokens",
    models={"tokens-1": ()},
    base_url="https://tokens.example.org",
    base_url_variable=None,
    key_variable="TOKENS_API_KEY",
    key_header=("x-token", "Token {key}"),
    config="code_commit_testing.scripted_provider:ScriptedConfig",
    factory="unused:the_fixture_makes_it",
)


class TokensWire:
    def encode_token(self) -> HttpCall:
        return HttpCall("/token", {}, {"x-key": "{key}"})

    def decode_token(self, status, headers, body) -> AccessToken:
        reply = reply_object(body, status, headers)
        if status >= 400:
            raise reply_error(status)
        if not (value := reply_member(reply, "access_token", str)):
            raise ProviderError("there is no token", kind="invalid_response")
        return AccessToken(value, token_count(reply, "expires_in"))

    def encode(self, request) -> HttpCall:
        say = "".join(part.text for message in request.messages for part in message.parts)
        return HttpCall("/say", {"say": say})

    def decode(self, status, headers, body) -> Completion:
        reply = reply_object(body, status, headers)
        if status >= 400:
            raise reply_error(status, words=str(reply.get("error")))
        message = Message("assistant", (Text(reply_member(reply, "say", str) or ""),))
        return Completion(message, Finish.STOP, "stop", Usage(), "tokens-1", reply)


class TestTokens(TokenConformance):
    definition: ClassVar = TOKENS
    settings: ClassVar = {"model": "tokens-1"}

    @pytest.fixture
    def wire(self):
        return TokensWire()

    server = ProviderConformance.server
    provider = ProviderConformance.provider

    def answer(self, reply: Reply):
        body = {"error": reply.text} if reply.status >= 400 else {"say": reply.text}
        return reply.status, reply.headers, json.dumps(body).encode()

    def test_a_call_that_ends_does_not_wait_for_the_token_of_another(
        self, token_provider, server, endpoint
    ):
        is_asked = threading.Event()
        may_answer = threading.Event()

        def give(token: AccessToken):
            is_asked.set()
            may_answer.wait(AT_ONCE)
            return self.token_answer(token)

        endpoint.answer = give
        server.script(self.as_bytes(Reply("one")))
        first = RunningCall(token_provider, model_call(QUESTION))
        assert is_asked.wait(AT_ONCE)
        scope = Scope()
        second = RunningCall(token_provider, model_call(QUESTION, scope=scope))
        scope.end()
        assert "aborted" in str(second.error())
        may_answer.set()
        assert first.completion().text == "one"


class HasNoPlace(TokensWire):
    def encode_token(self):
        return HttpCall("/token", {})


class ForgetsTheTime(TokensWire):
    def decode_token(self, status, headers, body):
        return replace(super().decode_token(status, headers, body), seconds=None)


class TakesAnything(TokensWire):
    def decode_token(self, status, headers, body):
        return super().decode_token(200, headers, body)


class TakesNoToken(TokensWire):
    def decode_token(self, status, headers, body):
        return AccessToken(str(json.loads(body).get("access_token")))


@pytest.mark.parametrize(
    ("wire_class", "name", "arguments"),
    [
        (HasNoPlace, "the_question_for_a_token_has_a_place_for_the_key", ()),
        (TakesAnything, "an_error_is_no_token", (500,)),
        (TakesNoToken, "an_unreadable_token_is_an_error", ("an empty object",)),
    ],
)
def test_a_mistake_is_found(wire_class, name, arguments):
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        getattr(TestTokens(), f"test_{name}")(wire_class(), *arguments)


def test_a_token_whose_time_does_not_reach_the_host_is_found():
    endpoint = TokenEndpoint()
    with (
        ScriptedServer(endpoints={"/token": endpoint}) as server,
        closing(http_provider(TOKENS, ForgetsTheTime(), server.address, key=KEY)) as provider,
        pytest.raises(AssertionError, match="seconds of a token"),
    ):
        TestTokens().test_a_token_that_expired_is_renewed(provider, server, endpoint)
