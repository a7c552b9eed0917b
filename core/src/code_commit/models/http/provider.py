"""A `Provider` made of a `Wire`."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from enum import IntEnum
from typing import Any

import httpx

from code_commit.models.http.access_tokens import AccessTokens
from code_commit.models.http.connection import STREAMS, Endpoint, HttpReply, StreamHead
from code_commit.models.http.pool import ConnectionPool, Post
from code_commit.models.http.requests import HEADERS, http_request
from code_commit.models.http.streamed_reply import StreamedReply
from code_commit.plugin_api.conversation import Completion, ProviderError
from code_commit.plugin_api.definitions import ProviderDefinition
from code_commit.plugin_api.errors import CodeCommitError, NotReady
from code_commit.plugin_api.provider import (
    HttpCall,
    ModelCall,
    StopReading,
    StreamEvent,
    Wire,
)
from code_commit.plugins.code import checked_result
from code_commit_workspace import STOP, Scope


class _Form(IntEnum):
    """What the host asks for. A service that refuses a form is asked in the next one."""

    STREAM = 0
    PLAIN_STREAM = 1  # without the optional members of the call
    WHOLE = 2


_REFUSED = {
    _Form.PLAIN_STREAM: "an option of streaming",
    _Form.WHOLE: 'to stream; set stream = "never" to ask for whole replies at once',
}
_ASKING_SECONDS = 30.0  # for what is no call of a model
_MOST_PAGES = 20  # of a list of models, of up to 1,000 each
# Without compression, which could hold pieces back.
_STREAM_HEADERS = {
    "accept": f"{STREAMS}, application/x-ndjson, application/json",
    "accept-encoding": "identity",
}


class HttpProvider:
    """A `Provider` made of a `Wire`: one try is one POST.

    Raises:
        NotReady: the address is not a URL.
    """

    def __init__(self, definition: ProviderDefinition, endpoint: Endpoint, wire: Wire) -> None:
        _silence_libraries()
        self._name = definition.name
        self._wire: Any = wire  # with or without the functions that are optional
        self._endpoint = endpoint
        try:
            self._address = httpx.URL(endpoint.base_url)
        except httpx.InvalidURL:
            raise NotReady(f"the address of provider {definition.name} is not a URL") from None
        name, template = definition.key_header
        self._key_header = name.lower(), template
        if endpoint.key and not name:
            raise NotReady(
                f"provider {definition.name} sends no key, but there is one: {endpoint.key_source}",
                hint="remove it",
            )
        self._pool = ConnectionPool(self._address, endpoint, definition.name)
        self._tokens: AccessTokens | None = None
        if endpoint.key and hasattr(wire, "encode_token"):
            self._tokens = AccessTokens(
                self._wire, endpoint, definition.name, endpoint.key, self._pool.scope
            )
        # The form that the service is known to accept.
        self._form = _Form.STREAM if hasattr(wire, "encode_stream") else _Form.WHOLE
        if endpoint.key:
            endpoint.redactor.add(endpoint.key)

    def complete(self, call: ModelCall) -> Completion:
        """Send `call.request` once and read the reply, before `call.deadline`.

        A service that refuses to stream is asked again, without the options of streaming and then
        without streaming.

        Raises:
            ProviderError: there is no reply, or it is an error, or it is not valid.
        """
        for key in self._keys(call.deadline, call.scope):
            form, answer = self._answer(call, key)
            if not _is_unauthorized(answer):
                break
        if isinstance(answer, Completion):
            return answer
        completion: Completion = self._decoded(answer, self._wire.decode, key)
        self._remember(form, call)
        return completion

    def _keys(self, deadline: float, scope: Scope) -> Iterator[str | None]:
        """Yield what to send in the key header.

        With access tokens, yield a new one after the first, which the service has refused then.
        """
        if self._tokens is None:
            yield self._endpoint.key
            return
        token = self._tokens.current(deadline, scope)
        yield token
        yield self._tokens.current(deadline, scope, refused=token)

    def _answer(self, call: ModelCall, key: str | None) -> tuple[_Form, Any]:
        """Send `call.request` in each form that the service may accept.

        Return the form that it accepted, and the completion of a streamed reply, or else the reply
        or the error.
        """
        for form, http_call in self._forms(call):
            streams = form is not _Form.WHOLE
            with self._posted(http_call, key, call.deadline, call.scope, streams=streams) as post:
                del http_call  # it holds the prompt
                post.send()
                if isinstance(post.result, StreamHead):
                    self._remember(form, call)
                    return form, self._streamed(post, post.result, call, key)
            if not (isinstance(post.result, HttpReply) and post.result.refuses_stream):
                break
        return form, post.result

    def _forms(self, call: ModelCall) -> Iterator[tuple[_Form, HttpCall]]:
        """Yield the forms in which to ask, from the one that the service is known to accept."""
        if call.stream and self._form is not _Form.WHOLE:
            streamed = checked_result(self._wire.encode_stream(call.request), HttpCall)
            if self._form is _Form.STREAM:
                yield _Form.STREAM, streamed
            if streamed.optional:
                members = streamed.body.items()
                required = {name: value for name, value in members if name not in streamed.optional}
                yield _Form.PLAIN_STREAM, replace(streamed, body=required)
        yield _Form.WHOLE, self._wire.encode(call.request)

    def _remember(self, form: _Form, call: ModelCall) -> None:
        """Remember the form that the service accepted: it refused the earlier ones."""
        if call.stream and form > self._form:
            self._form = form
            call.warn(f"{self._name} refused {_REFUSED[form]}")

    def _streamed(
        self,
        post: Post,
        head: StreamHead,
        call: ModelCall,
        key: str | None,
    ) -> Completion:
        """Read a streamed reply, and pass on what arrives."""
        decoder = self._wire.stream()
        event = StreamEvent("", b"")
        has_begun = False
        reply = StreamedReply(
            decoder,
            post.queue,
            lines=head.lines,
            deadline=call.deadline,
            stall_timeout=self._endpoint.stall_timeout,
            size_cap=self._endpoint.size_cap,
            is_closed=lambda: self._pool.scope.is_over,
        )
        try:
            for event in reply.events():
                call.progress(event)
                for delta in decoder.feed(event):
                    has_begun = True
                    call.progress(delta)
            completion = reply.completion()
        except StopReading as stopped:
            stopped.usage = decoder.partial().usage
            raise
        except (CodeCommitError, OSError):  # of the run log
            raise
        except Exception as error:  # noqa: BLE001 - described below
            failure = error
        else:
            if reply.failure is None:
                post.result = head.reply  # the connection can be used again
            elif completion.usage.output is None and not reply.has_ended:
                call.warn(
                    f"the connection to {self._name} broke off after the reply, "
                    "before the number of its tokens came"
                )
            return completion

        def feed_again(_status: int, _headers: object, clean: bytes) -> None:
            tuple(self._wire.stream().feed(replace(event, data=clean)))

        reply_so_far = replace(head.reply, body=event.data)
        described = self._described(failure, reply_so_far, feed_again, key)
        described.body = ""
        if has_begun and described.kind == "rate":  # which costs nothing, but what was written does
            described.kind = "server"
        raise described

    def count(self, call: ModelCall) -> int:
        """Ask the service how many tokens `call.request` has.

        Raises:
            Exception: there is no answer, or the wire is no `CountingWire`.
        """
        http_call = self._wire.encode_count(call.request)
        return int(self._ask(http_call, self._wire.decode_count, call.deadline))

    def models(self) -> object:
        """Ask the service for its models, page by page, and return them unchecked.

        They are as `ListingWire.decode_models` returns them.

        Raises:
            NotReady: the wire is no `ListingWire`.
            ProviderError: there is no answer.
        """
        if not hasattr(self._wire, "encode_models"):
            raise NotReady("its plugin cannot ask for models")

        def decode(status: int, headers: Mapping[str, str], body: bytes) -> tuple[Any, bytes]:
            return dict(self._wire.decode_models(status, headers, body)), body

        models: dict[str, int] = {}
        page = b""
        for _ in range(_MOST_PAGES):
            http_call = self._wire.encode_models(page)
            if http_call is None:
                break
            page_models, page = self._ask(http_call, decode)
            models |= page_models
        if not models:
            raise ProviderError(f"{self._name} lists no models", kind="invalid_response")
        return models

    def _ask(
        self,
        http_call: HttpCall,
        decode: Callable[..., Any],
        deadline: float = math.inf,
    ) -> Any:
        """Send what is no call of a model, and return the decoded answer."""
        deadline = min(deadline, time.monotonic() + _ASKING_SECONDS)
        for key in self._keys(deadline, STOP):
            with self._posted(http_call, key, deadline, STOP) as post:
                post.send()
            STOP.check()
            if not _is_unauthorized(post.result):
                break
        return self._decoded(post.result, decode, key)

    def close(self) -> None:
        """End the calls under way, from any thread, and close all connections."""
        self._pool.scope.end()

    def _posted(
        self,
        call: HttpCall,
        key: str | None,
        deadline: float,
        scope: Scope,
        *,
        streams: bool = False,
    ) -> AbstractContextManager[Post]:
        """Prepare the request of `call` with `key` in its header."""
        checked_result(call, HttpCall)
        if not call.path.startswith("/"):  # else it could lead to another host
            raise ValueError(f"provider {self._name}: the path of a call must begin with a slash")
        name, template = self._key_header
        if name in {header.lower() for header in call.headers}:
            raise ValueError(f"provider {self._name}: only the host sets the key header")
        headers = dict(HEADERS)
        if key is not None:
            headers[name] = template.format(key=key)
        if streams:
            headers |= _STREAM_HEADERS
        url = str(self._address).rstrip("/") + call.path
        return self._pool.posted(http_request(call, url, headers), deadline, scope)

    def _decoded(self, result: Any, decode: Callable[..., Any], key: str | None) -> Any:
        """Return what `decode` makes of a reply; raise an error that came instead."""
        if not isinstance(result, HttpReply):
            raise self._described(result, None, decode, key)
        try:
            return decode(result.status, result.headers, result.body)
        except Exception as error:  # noqa: BLE001 - described below
            failure = error
        raise self._described(failure, result, decode, key)

    def _described(
        self,
        error: Exception,
        reply: HttpReply | None,
        decode: Callable[..., Any],
        key: str | None,
    ) -> ProviderError:
        """Return `error` with the name of the service, without the `key` that was sent.

        If `reply` contains a key, redact it and `decode` it again.
        """
        from code_commit.models.http.failures import provider_error

        endpoint = replace(self._endpoint, key=key)
        if reply is None:
            return provider_error(error, self._name, endpoint, None)
        clean = self._endpoint.redactor.document(reply.body)
        if clean is not reply.body:
            # The wire may have shortened a key, so that nobody would recognize it.
            reply = replace(reply, body=clean)
            error = ProviderError("the reply contains an API key", kind="invalid_response")
            try:
                decode(reply.status, reply.headers, clean)
            except Exception as clean_error:  # noqa: BLE001 - described below
                error = clean_error
        return provider_error(error, self._name, endpoint, reply)


def _is_unauthorized(answer: object) -> bool:
    """Return whether a service refused what was sent in the key header."""
    return isinstance(answer, HttpReply) and answer.status == 401  # noqa: PLR2004 - Unauthorized


def _silence_libraries() -> None:
    """Keep httpx's and httpcore's own log lines, which may hold headers, from every handler."""
    for name in ("httpx", "httpcore"):
        logger = logging.getLogger(name)
        logger.setLevel(logging.CRITICAL + 1)
        logger.propagate = False
