"""A `Provider` made of a `Wire`."""

from __future__ import annotations

import json
import logging
import math
import queue
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from enum import IntEnum
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
from code_commit.models.http.streamed_reply import (
    LONGEST_TIMER,
    StreamedReply,
    aborted,
    out_of_time,
)
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
from code_commit_workspace import STOP


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


@dataclass(slots=True)
class _Post:
    """A request, which `thread` sends. Its result arrives in `queue`, within `seconds`."""

    thread: threading.Thread
    queue: ResultQueue
    seconds: float
    result: Any  # what came last, as in the queue


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
        self._key_header = name.lower()
        self._headers = dict(_HEADERS)
        if endpoint.key is not None:
            self._headers[self._key_header] = template.format(key=endpoint.key)
        self._ssl_context: ssl.SSLContext | None = None
        self._lock = threading.Lock()
        self._closed = False
        # The form that the service is known to accept.
        self._form = _Form.STREAM if hasattr(wire, "encode_stream") else _Form.WHOLE
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
            streams = form is not _Form.WHOLE
            with self._posted(http_call, call.deadline, call.calling, streams=streams) as post:
                del http_call  # it holds the prompt
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

    def _streamed(self, post: _Post, head: StreamHead, call: ModelCall) -> Completion:
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
            is_closed=lambda: self._closed,
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

        described = self._described(failure, replace(head.reply, body=event.data), feed_again)
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
        with self._posted(http_call, deadline, STOP.calling) as post:
            post.thread.start()
            post.result = post.queue.get(timeout=post.seconds)
        STOP.check()
        return self._decoded(post.result, decode)

    @contextmanager
    def _posted(
        self,
        http_call: HttpCall,
        deadline: float,
        calling: Callable[[Callable[[], object]], AbstractContextManager[None]],
        *,
        streams: bool = False,
    ) -> Iterator[_Post]:
        """Prepare a request, which the caller sends. What `calling` calls ends it.

        If the caller waits too long for the result, `result` is the error for that.
        """
        result_queue: ResultQueue = queue.SimpleQueue()
        request = self._request(checked_result(http_call, HttpCall), streams=streams)
        connection = self._take_connection(result_queue)
        thread = threading.Thread(
            target=connection.post,
            args=(request, self._endpoint, result_queue),
            name=f"code-commit {self._name}",
            daemon=True,
        )
        seconds = max(0.0, min(deadline - time.monotonic(), LONGEST_TIMER))
        post = _Post(thread, result_queue, seconds, result=aborted())
        del http_call, request  # they hold the prompt
        try:
            with calling(lambda: result_queue.put(aborted())):
                yield post
        except queue.Empty:
            post.result = out_of_time()
        finally:
            self._give_back(connection, reusable=isinstance(post.result, HttpReply))

    def close(self) -> None:
        """End the calls under way, from any thread, and close all connections."""
        with self._lock:
            self._closed = True
            idle_connections = self._idle
            self._idle = []
            result_queues = list(self._busy.values())
        for connection in idle_connections:
            connection.abort()
        for result_queue in result_queues:
            result_queue.put(aborted())

    def _request(self, call: HttpCall, *, streams: bool) -> httpx.Request:
        if not call.path.startswith("/"):  # else it could lead to another host
            raise ValueError(f"provider {self._name}: the path of a call must begin with a slash")
        headers = {name.lower(): value for name, value in call.headers.items()}
        if self._key_header in headers:
            raise ValueError(f"provider {self._name}: only the host sets the key header")
        texts: tuple[str, ...] = ()
        if call.method == "POST":
            texts = tuple(_JSON.iterencode(call.body))
        headers |= self._headers
        if streams:
            headers |= _STREAM_HEADERS
        headers["content-length"] = str(sum(map(len, _encoded(texts))))
        url = str(self._address).rstrip("/") + call.path
        return httpx.Request(call.method, url, headers=headers, content=_encoded(texts))

    def _decoded(self, result: Any, decode: Callable[..., Any]) -> Any:
        """Return what `decode` makes of a reply; raise an error that came instead."""
        if not isinstance(result, HttpReply):
            raise self._described(result, None, decode)
        try:
            return decode(result.status, result.headers, result.body)
        except Exception as error:  # noqa: BLE001 - described below
            failure = error
        raise self._described(failure, result, decode)

    def _described(
        self,
        error: Exception,
        reply: HttpReply | None,
        decode: Callable[..., Any],
    ) -> ProviderError:
        """Return `error` with the name of the service.

        If `reply` contains a key, redact it and `decode` it again.
        """
        from code_commit.models.http.failures import provider_error

        if reply is None:
            return provider_error(error, self._name, self._endpoint, None)
        clean = self._endpoint.redactor.document(reply.body)
        if clean is not reply.body:
            # The wire may have shortened a key, so that nobody would recognize it.
            reply = replace(reply, body=clean)
            error = ProviderError("the reply contains an API key", kind="invalid_response")
            try:
                decode(reply.status, reply.headers, clean)
            except Exception as clean_error:  # noqa: BLE001 - described below
                error = clean_error
        return provider_error(error, self._name, self._endpoint, reply)

    def _take_connection(self, result_queue: ResultQueue) -> HttpConnection:
        with self._lock:
            if self._closed:
                raise aborted()
            if self._idle:
                connection = self._idle.pop()
            else:
                self._ssl_context = self._ssl_context or trust(self._address)
                connection = HttpConnection(self._ssl_context, proxy_for(self._address))
            self._busy[connection] = result_queue
            return connection

    def _give_back(self, connection: HttpConnection, *, reusable: bool) -> None:
        with self._lock:
            del self._busy[connection]
            if reusable and not self._closed:
                self._idle.append(connection)
                return
        connection.abort()


def _encoded(texts: Iterable[str]) -> Iterator[bytes]:
    """Yield `texts` in UTF-8, in pieces because a prompt may be large.

    A lone surrogate becomes `?`: a model may have written it in an earlier turn, and services
    refuse it.
    """
    piece = bytearray()
    for text in texts:
        for start in range(0, len(text), _PIECE):
            piece += text[start : start + _PIECE].encode("utf-8", "replace")
            if len(piece) >= _PIECE:
                yield bytes(piece)
                piece.clear()
    yield bytes(piece)


def _silence_libraries() -> None:
    """Keep httpx's and httpcore's own log lines, which may hold headers, from every handler."""
    for name in ("httpx", "httpcore"):
        logger = logging.getLogger(name)
        logger.setLevel(logging.CRITICAL + 1)
        logger.propagate = False
