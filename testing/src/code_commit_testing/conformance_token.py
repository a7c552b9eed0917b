"""The conformance tests for a `Wire` with access tokens; they skip others."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar
from urllib.parse import quote_plus, urlsplit

import pytest

from code_commit.plugin_api import (
    AccessToken,
    Provider,
    ProviderDefinition,
    ProviderError,
    Scope,
    TokenWire,
)
from code_commit_testing.conformance_samples import INVALID_ANSWERS, KEY, QUESTION
from code_commit_testing.conformance_stream_http import StreamHttpConformance
from code_commit_testing.running_call import AT_ONCE, RunningCall
from code_commit_testing.scripted_provider import model_call
from code_commit_testing.scripted_replies import Reply
from code_commit_testing.scripted_server import ScriptedServer
from code_commit_testing.token_endpoint import (
    Answer,
    TokenEndpoint,
    oauth_answer,
    oauth_refusal,
)

_HOUR = 3600


class TokenConformance(StreamHttpConformance):
    """A part of `ProviderConformance`."""

    definition: ClassVar[ProviderDefinition]
    settings: ClassVar[Mapping[str, Any]]

    def settings_at(self, address: str) -> Mapping[str, Any]:  # noqa: ARG002 - for those who override it
        """Return `settings` with the token endpoint at `address`, such as `http://127.0.0.1:8000`.

        Override it if `encode_token` returns a whole URL.
        """
        return self.settings

    def token_answer(self, token: AccessToken) -> Answer:
        """Return status, headers and body of the answer with `token`.

        Override it if the endpoint's answer is not that of OAuth 2.
        """
        return oauth_answer(token)

    def token_refusal(self) -> Answer:
        """Return status, headers and body of the answer to a wrong key.

        Override it if the endpoint's answer is not that of OAuth 2.
        """
        return oauth_refusal()

    @pytest.fixture
    def endpoint(self) -> TokenEndpoint:
        """Return the token endpoint, which uses nothing of the server's script."""
        return TokenEndpoint(self.token_answer)

    @pytest.fixture
    def token_wire(self, wire: TokenWire) -> TokenWire:
        """Return the wire if it has access tokens."""
        if not hasattr(wire, "encode_token"):
            pytest.skip("this service has no access tokens")
        return wire

    @pytest.fixture
    def token_provider(self, token_wire: TokenWire, provider: Provider) -> Provider:
        """Return the wire with the host's HTTP, if it has access tokens."""
        assert token_wire is not None
        return provider

    def sent_key(self, wire: object) -> str:
        """Return what the host sends in the key header: the key, or else the first token."""
        return TokenEndpoint.token(1) if hasattr(wire, "encode_token") else KEY

    def test_the_question_for_a_token_has_a_place_for_the_key(self, token_wire: TokenWire) -> None:
        call = token_wire.encode_token()
        assert call == token_wire.encode_token()
        assert "{key}" in json.dumps([call.body, dict(call.headers)], allow_nan=False)
        assert call.path.startswith("/") or urlsplit(call.path).scheme in {"http", "https"}

    def test_a_token_is_decoded(self, token_wire: TokenWire) -> None:
        token = token_wire.decode_token(*self.token_answer(AccessToken("a-token/0123", _HOUR)))
        assert token.value == "a-token/0123"
        assert token.seconds is None or abs(token.seconds - _HOUR) <= AT_ONCE

    @pytest.mark.parametrize("what", INVALID_ANSWERS)
    def test_an_unreadable_token_is_an_error(self, token_wire: TokenWire, what: str) -> None:
        with pytest.raises(ProviderError):
            token_wire.decode_token(200, {}, INVALID_ANSWERS[what])

    @pytest.mark.parametrize("status", [400, 401, 429, 500])
    def test_an_error_is_no_token(self, token_wire: TokenWire, status: int) -> None:
        _, headers, body = self.token_answer(AccessToken("a-token/0123", _HOUR))
        with pytest.raises(ProviderError):
            token_wire.decode_token(status, headers, body)

    def test_calls_share_a_token(
        self, token_provider: Provider, server: ScriptedServer, endpoint: TokenEndpoint
    ) -> None:
        server.script(*map(self.as_bytes, (Reply("one"), Reply("two"))))
        assert [token_provider.complete(model_call(QUESTION)).text for _ in "12"] == ["one", "two"]
        [asked] = endpoint.requests
        sent = f"{asked.headers} {asked.body.decode()}"
        assert KEY in sent or quote_plus(KEY) in sent
        assert self._tokens_of(server) == [endpoint.token(1)] * 2

    def test_two_calls_at_once_ask_for_one_token(
        self, token_provider: Provider, server: ScriptedServer, endpoint: TokenEndpoint
    ) -> None:
        waiting = threading.Semaphore(0)

        class Waits(Scope):
            @contextmanager
            def child(self, *_: object, **__: object) -> Iterator[Scope]:
                waiting.release()
                yield self

        def give(token: AccessToken) -> Answer:
            assert waiting.acquire(timeout=AT_ONCE)
            assert waiting.acquire(timeout=AT_ONCE)
            assert waiting.acquire(timeout=AT_ONCE)  # both calls, and this question
            return self.token_answer(token)

        endpoint.answer = give
        server.script(*map(self.as_bytes, (Reply("one"), Reply("two"))))
        calls = [RunningCall(token_provider, model_call(QUESTION, scope=Waits())) for _ in "12"]
        assert {call.completion().text for call in calls} == {"one", "two"}
        assert len(endpoint.requests) == 1

    def test_a_token_that_expired_is_renewed(
        self, token_provider: Provider, server: ScriptedServer, endpoint: TokenEndpoint
    ) -> None:
        endpoint.seconds = 0
        server.script(*map(self.as_bytes, (Reply("one"), Reply("two"))))
        assert [token_provider.complete(model_call(QUESTION)).text for _ in "12"] == ["one", "two"]
        assert self._tokens_of(server) == [endpoint.token(1), endpoint.token(2)], (
            "the seconds of a token must reach the host"
        )

    def test_a_token_that_the_service_refuses_is_renewed_once(
        self, token_provider: Provider, server: ScriptedServer, endpoint: TokenEndpoint
    ) -> None:
        refusal = Reply.error(401, "the token has expired")
        server.script(*map(self.as_bytes, (Reply("one"), refusal, Reply("two"))))
        assert [token_provider.complete(model_call(QUESTION)).text for _ in "12"] == ["one", "two"]
        server.script(*map(self.as_bytes, [refusal] * 2))
        with pytest.raises(ProviderError) as caught:
            token_provider.complete(model_call(QUESTION))
        assert caught.value.kind == "auth"
        expected = [endpoint.token(number) for number in (1, 1, 2, 2, 3)]
        assert self._tokens_of(server) == expected

    @pytest.mark.parametrize("after", [0, 1])
    def test_a_refused_key_is_an_authentication_error(
        self,
        token_provider: Provider,
        server: ScriptedServer,
        endpoint: TokenEndpoint,
        after: int,
    ) -> None:
        endpoint.seconds = 0
        server.script(*[self.as_bytes(Reply("hello"))] * after)
        for _ in range(after):
            token_provider.complete(model_call(QUESTION))
        endpoint.refusal = self.token_refusal()
        with pytest.raises(ProviderError) as caught:
            token_provider.complete(model_call(QUESTION))
        assert caught.value.kind == "auth"
        assert len(server.requests) == after

    def test_a_failure_of_the_token_endpoint_may_be_retried(
        self, token_provider: Provider, server: ScriptedServer, endpoint: TokenEndpoint
    ) -> None:
        endpoint.refusal = (503, *self.token_refusal()[1:])
        with pytest.raises(ProviderError) as caught:
            token_provider.complete(model_call(QUESTION))
        assert caught.value.kind == "server"
        endpoint.refusal = None
        server.script(self.as_bytes(Reply("hello")))
        assert token_provider.complete(model_call(QUESTION)).text == "hello"

    def test_no_error_shows_the_token(
        self, token_provider: Provider, server: ScriptedServer, endpoint: TokenEndpoint
    ) -> None:
        token = endpoint.token(1)
        server.script(self.as_bytes(Reply.error(400, f"what you sent was {token}")))
        with pytest.raises(ProviderError) as caught:
            token_provider.complete(model_call(QUESTION))
        assert token not in f"{caught.value!r} {caught.value.body}"

    def _tokens_of(self, server: ScriptedServer) -> list[str]:
        """Return the token of each request."""
        name, template = self.definition.key_header
        before, after = template.split("{key}")
        headers = [request.headers[name.lower()] for request in server.requests]
        return [header.removeprefix(before).removesuffix(after) for header in headers]
