"""A `Provider` made of a `Wire`."""

from __future__ import annotations

import json
import logging
import math
import queue
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx

from code_commit import __version__
from code_commit.models.http.connection import (
    STREAMS,
    Endpoint,
    HttpConnection,
    HttpReply,
    ResultQueue,
    StreamHead,
    proxy_for,
    trust,
)
from code_commit.models.http.streaming import EventParser
from code_commit.plugin_api.conversation import Completion, ProviderError
from code_commit.plugin_api.definitions import ProviderDefinition
from code_commit.plugin_api.errors import CodeCommitError, NotReady
from code_commit.plugin_api.provider import (
    HttpCall,
    ModelCall,
    StopReading,
    StreamDecoder,
    StreamEvent,
    Wire,
)
from code_commit.plugins.code import checked_result
from code_commit_workspace import STOP

# What the host asks for: a stream, one without the optional members of the call, or the whole
# reply.
_STREAM, _PLAIN_STREAM, _WHOLE = range(3)
_REFUSED = (
    "",
    "an option of streaming",
    'to stream; set stream = "never" to ask for whole replies at once',
)
_ASKING_SECONDS = 30.0  # for what is no call of a model
_CLOSING_SECONDS = 0.5  # for a service to close a stream whose own end has come
_MOST_PAGES = 20  # of a list of models, of up to 1,000 each
_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_PIECE = 1 << 20  # characters or bytes of a request, sent together
_HEADERS = {
    "accept": "application/json",
    "accept-encoding": "gzip",
    "content-type": "application/json",
    "user-agent": f"code-commit/{__version__}",
}
# Without compression, which could hold pieces back.
_STREAM_HEADERS = {
    "accept": f"{STREAMS}, application/x-ndjson, application/json",
    "accept-encoding": "identity",
}
_AT_ONCE = 1 << 15  # bytes of a stream, parsed together
_LONGEST_TIMER = 7 * 24 * 3600.0  # the clock's own limit is lower than infinity


@dataclass(slots=True)
class _Post:
    """A request: the thread that sends it, the queue where its result arrives, how long to wait,
    and what came last.
    """

    thread: threading.Thread
    queue: ResultQueue
    seconds: float
    result: Any  # as in the queue


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
        self._key_header, template = definition.key_header[0].lower(), definition.key_header[1]
        key = {} if endpoint.key is None else {self._key_header: template.format(key=endpoint.key)}
        self._headers = _HEADERS | key
        self._ssl_context: ssl.SSLContext | None = None
        self._lock = threading.Lock()
        self._closed = False
        self._form = _STREAM if hasattr(wire, "encode_stream") else _WHOLE
        self._idle: list[HttpConnection] = []
        self._busy: dict[HttpConnection, ResultQueue] = {}
        if endpoint.key:
            endpoint.redactor.add(endpoint.key)

    def complete(self, call: ModelCall) -> Completion:
        """Send `call.request` once and read the reply, before `call.deadline`.

        A service that refuses to stream is asked again, without the options of streaming and then
        without streaming.

        Raises:
            ProviderError: there is no reply, or it is an error, or it is not valid.
        """
        for form, http_call in self._forms(call):
            with self._posted(http_call, call.deadline, streams=form != _WHOLE) as post:
                del http_call
                post.thread.start()
                post.result = post.queue.get(timeout=post.seconds)
                if isinstance(post.result, StreamHead):
                    self._remember(form, call)
                    return self._streamed(post, post.result, call)
            if not (isinstance(post.result, HttpReply) and post.result.refuses_stream):
                break
        completion: Completion = self._decoded(post.result, self._wire.decode)
        self._remember(form, call)
        return completion

    def _forms(self, call: ModelCall) -> Iterator[tuple[int, HttpCall]]:
        """Yield the forms in which to ask, from the one that the service is known to accept."""
        if call.stream and self._form != _WHOLE:
            streamed = checked_result(self._wire.encode_stream(call.request), HttpCall)
            if self._form == _STREAM:
                yield _STREAM, streamed
            if streamed.optional:
                required = {
                    name: value
                    for name, value in streamed.body.items()
                    if name not in streamed.optional
                }
                yield _PLAIN_STREAM, replace(streamed, body=required)
        yield _WHOLE, self._wire.encode(call.request)

    def _remember(self, form: int, call: ModelCall) -> None:
        """Remember the form that the service accepted: it refused the earlier ones."""
        if call.stream and form > self._form:
            self._form = form
            call.warn(f"{self._name} refused {_REFUSED[form]}")

    def _streamed(self, post: _Post, head: StreamHead, call: ModelCall) -> Completion:
        """Read a streamed reply, and pass on what arrives."""
        decoder, event, has_begun = self._wire.stream(), StreamEvent("", b""), False
        try:
            for event in self._events(post, head, call.deadline, decoder):
                call.progress(event)
                for delta in decoder.feed(event):
                    has_begun = True
                    call.progress(delta)
            completion = self._finished(decoder, post, call)
        except StopReading as stopped:
            stopped.usage = decoder.partial().usage
            raise
        except (CodeCommitError, OSError):  # of the run log
            raise
        except Exception as error:  # noqa: BLE001 - described below
            failure = error
        else:
            post.result = head.reply if post.result is head else post.result
            return completion

        def feed_again(_status: int, _headers: object, clean: bytes) -> None:
            tuple(self._wire.stream().feed(replace(event, data=clean)))

        described = self._described(failure, replace(head.reply, body=event.data), feed_again)
        described.body = ""
        if has_begun and described.kind == "rate":  # which costs nothing, but what was written does
            described.kind = "server"
        raise described

    def _events(
        self, post: _Post, head: StreamHead, deadline: float, decoder: StreamDecoder
    ) -> Iterator[StreamEvent]:
        """Yield the events of a streamed reply as they arrive.

        The timed `get` finds a stall. `post.result` is then the error that ended the stream too
        early.
        """
        stall = min(self._endpoint.stall_timeout, _LONGEST_TIMER)
        parser = EventParser(self._endpoint.size_cap // 2, lines=head.lines)
        piece: Any = None
        while piece != b"":
            now = time.monotonic()
            deadline = min(deadline, now + _CLOSING_SECONDS) if _has_ended(decoder) else deadline
            left = deadline - now
            try:
                piece = post.queue.get(timeout=min(left, stall)) if left > 0 else _out_of_time()
            except queue.Empty:
                piece = (
                    _out_of_time()
                    if left < stall
                    else ProviderError(f"no data for {stall:g} s", kind="network")
                )
            arrived = bytearray()
            while piece and isinstance(piece, bytes):  # services send a piece for each event
                arrived += piece
                piece = None if len(arrived) > _AT_ONCE or post.queue.empty() else post.queue.get()
            if self._closed:
                raise _closed()
            yield from parser.feed(bytes(arrived))
            if isinstance(piece, Exception):
                post.result = piece
                return
        yield from parser.finish()

    def _finished(self, decoder: StreamDecoder, post: _Post, call: ModelCall) -> Completion:
        """Return the completion.

        A broken connection is no error if the service had ended its reply.
        """
        broken = (
            post.result if isinstance(post.result, Exception) and not _has_ended(decoder) else None
        )
        try:
            completion: Completion = decoder.finish()
        except Exception as error:  # noqa: BLE001 - described by the caller
            raise broken or error from None
        if broken and completion.usage.output is None:
            call.warn(
                f"the connection to {self._name} broke off after the reply, before the number of its tokens came"
            )
        return completion

    def count(self, call: ModelCall) -> int:
        """Ask the service how many tokens `call.request` has.

        Raises:
            Exception: there is no answer, or the wire is no `CountingWire`.
        """
        return int(
            self._asked(
                self._wire.encode_count(call.request), self._wire.decode_count, call.deadline
            )
        )

    def models(self) -> object:
        """Ask the service for its models, page by page: as `ListingWire.decode_models`, not yet
        checked.

        Raises:
            NotReady: the wire is no `ListingWire`.
            ProviderError: there is no answer.
        """
        if not hasattr(self._wire, "encode_models"):
            raise NotReady("its plugin cannot ask for models")
        found: dict[str, int] = {}
        page, decode = b"", self._wire.decode_models
        for _ in range(_MOST_PAGES):
            if (http_call := self._wire.encode_models(page)) is None:
                break
            models, page = self._asked(http_call, lambda *reply: (dict(decode(*reply)), reply[-1]))
            found |= models
        if not found:
            raise ProviderError(f"{self._name} lists no models", kind="invalid_response")
        return found

    def _asked(
        self, http_call: HttpCall, decode: Callable[..., Any], deadline: float = math.inf
    ) -> Any:
        with self._posted(http_call, min(deadline, time.monotonic() + _ASKING_SECONDS)) as post:
            post.thread.start()
            post.result = post.queue.get(timeout=post.seconds)
        STOP.check()
        return self._decoded(post.result, decode)

    @contextmanager
    def _posted(
        self, http_call: HttpCall, deadline: float, *, streams: bool = False
    ) -> Iterator[_Post]:
        """Prepare a request.

        The caller sends it and waits; `result` says when that took too long.
        """
        result_queue: ResultQueue = queue.SimpleQueue()
        arguments = (
            self._request(checked_result(http_call, HttpCall), streams=streams),
            self._endpoint,
            result_queue,
        )
        connection = self._take_connection(result_queue)
        thread = threading.Thread(
            target=connection.post, args=arguments, name=f"code-commit {self._name}", daemon=True
        )
        post = _Post(
            thread,
            result_queue,
            max(0.0, min(deadline - time.monotonic(), _LONGEST_TIMER)),
            _closed(),
        )
        del http_call, arguments  # they hold the prompt
        try:
            with STOP.calling(lambda: result_queue.put(_closed())):
                yield post
        except queue.Empty:
            post.result = _out_of_time()
        finally:
            self._give_back(connection, reusable=isinstance(post.result, HttpReply))

    def close(self) -> None:
        """End the calls under way, from any thread, and close all connections."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            busy = list(self._busy.values())
        for connection in idle:
            connection.abort()
        for result_queue in busy:
            result_queue.put(_closed())

    def _request(self, call: HttpCall, *, streams: bool) -> httpx.Request:
        if not call.path.startswith("/"):  # else it could lead to another host
            raise ValueError(f"provider {self._name}: the path of a call must begin with a slash")
        headers = {name.lower(): value for name, value in call.headers.items()}
        if self._key_header in headers:
            raise ValueError(f"provider {self._name}: only the host sets the key header")
        texts = tuple(_JSON.iterencode(call.body)) if call.method == "POST" else ()
        length = sum(map(len, _encoded(texts)))
        headers |= (
            self._headers | (_STREAM_HEADERS if streams else {}) | {"content-length": str(length)}
        )
        url = str(self._address).rstrip("/") + call.path
        return httpx.Request(call.method, url, headers=headers, content=_encoded(texts))

    def _decoded(self, result: Any, decode: Callable[..., Any]) -> Any:
        reply = result if isinstance(result, HttpReply) else None
        if reply is not None:
            try:
                return decode(reply.status, reply.headers, reply.body)
            except Exception as error:  # noqa: BLE001 - described below
                result = error
        raise self._described(result, reply, decode)

    def _described(
        self, error: Exception, reply: HttpReply | None, decode: Callable[..., Any]
    ) -> ProviderError:
        """Return `error` with the name of the service.

        If `reply` holds a key, `decode` it again without.
        """
        from code_commit.models.http.failures import provider_error

        if (
            reply is not None
            and (clean := self._endpoint.redactor.document(reply.body)) is not reply.body
        ):
            # The wire may have shortened a key, so that nobody would recognize it.
            reply = replace(reply, body=clean)
            error = ProviderError("the reply contains an API key", kind="invalid_response")
            try:
                decode(reply.status, reply.headers, clean)
            except Exception as again:  # noqa: BLE001 - described below
                error = again
        return provider_error(error, self._name, self._endpoint, reply)

    def _take_connection(self, result_queue: ResultQueue) -> HttpConnection:
        with self._lock:
            if self._closed:
                raise _closed()
            self._ssl_context = self._ssl_context or trust(self._address)
            connection = (
                self._idle.pop()
                if self._idle
                else HttpConnection(self._ssl_context, proxy_for(self._address))
            )
            self._busy[connection] = result_queue
            return connection

    def _give_back(self, connection: HttpConnection, *, reusable: bool) -> None:
        with self._lock:
            del self._busy[connection]
            if reusable and not self._closed:
                self._idle.append(connection)
                return
        connection.abort()


def _has_ended(decoder: StreamDecoder) -> bool:
    return getattr(decoder, "ended", False) is True


def _out_of_time() -> ProviderError:
    return ProviderError(
        "the call reached its time limit before the end of the reply", kind="network"
    )


def _closed() -> ProviderError:
    return ProviderError("the call was aborted", kind="rejected")


def _encoded(texts: Iterable[str]) -> Iterator[bytes]:
    """Yield `texts` in UTF-8, in pieces because a prompt may be large.

    A lone surrogate becomes `?`: a model may have written it in an earlier turn, and services
    refuse it.
    """
    held = bytearray()
    for text in texts:
        for start in range(0, len(text), _PIECE):
            held += text[start : start + _PIECE].encode("utf-8", "replace")
            if len(held) >= _PIECE:
                yield bytes(held)
                held.clear()
    yield bytes(held)


def _silence_libraries() -> None:
    """Keep httpx's and httpcore's own log lines, which may hold headers, from every handler."""
    for name in ("httpx", "httpcore"):
        logger = logging.getLogger(name)
        logger.setLevel(logging.CRITICAL + 1)
        logger.propagate = False
