"""A `Provider` made of a `Wire`."""

from __future__ import annotations

import logging
import queue
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from code_commit import __version__
from code_commit.models.http.connection import (
    Content,
    Endpoint,
    HttpConnection,
    HttpReply,
    ResultQueue,
    proxy_for,
    trust,
)
from code_commit.plugin_api.conversation import Completion, ProviderError
from code_commit.plugin_api.definitions import ProviderDefinition
from code_commit.plugin_api.errors import NotReady
from code_commit.plugin_api.provider import HttpCall, ModelCall, Wire
from code_commit_workspace import checked_result

_REDIRECTS = range(300, 400)  # HTTP statuses
_COUNT_SECONDS = 30.0
_LONGEST_TIMER = 7 * 24 * 3600.0  # the clock's own limit is lower than infinity


@dataclass(slots=True)
class _Post:
    """A request: the thread that sends it, where its result arrives, how many seconds to wait, and what came."""

    thread: threading.Thread
    queue: ResultQueue
    seconds: float
    result: HttpReply | Exception


class HttpProvider:
    """A `Provider` made of a `Wire`: one try is one POST.

    Raises:
        NotReady: the address is not a URL.
    """

    def __init__(self, definition: ProviderDefinition, endpoint: Endpoint, wire: Wire) -> None:
        _silence_libraries()
        self._name = definition.name
        self._wire = wire
        self._endpoint = endpoint
        try:
            self._address = httpx.URL(endpoint.base_url)
        except httpx.InvalidURL:
            raise NotReady(f"the address of provider {definition.name} is not a URL") from None
        self._key_header = definition.key_header[0].lower()
        self._headers = _host_headers(definition, endpoint.key)
        self._ssl_context: ssl.SSLContext | None = None
        self._lock = threading.Lock()
        self._closed = False
        self._idle: list[HttpConnection] = []
        self._busy: dict[HttpConnection, ResultQueue] = {}
        if endpoint.key:
            endpoint.redactor.add(endpoint.key)

    def complete(self, call: ModelCall) -> Completion:
        """Send `call.request` once and read the reply, before `call.deadline`.

        Raises:
            ProviderError: there is no reply, or it is an error, or it is not valid.
        """
        # Streaming is decided here: `encode_stream`, and pieces from the same queue.
        with self._posted(self._wire.encode(call.request), call.deadline) as post:
            post.thread.start()
            post.result = post.queue.get(timeout=post.seconds)
        return self._decoded(post.result)

    def count(self, call: ModelCall) -> int:
        """Ask the service how many tokens `call.request` has.

        Raises:
            Exception: there is no answer, or the wire is no `CountingWire`.
        """
        wire: Any = self._wire
        deadline = min(call.deadline, time.monotonic() + _COUNT_SECONDS)
        with self._posted(wire.encode_count(call.request), deadline) as post:
            post.thread.start()
            post.result = post.queue.get(timeout=post.seconds)
        if isinstance(post.result, Exception):
            raise post.result
        return int(wire.decode_count(post.result.status, post.result.headers, post.result.body))

    @contextmanager
    def _posted(self, http_call: HttpCall, deadline: float) -> Iterator[_Post]:
        """Prepare a request, which the caller sends and waits for; `result` says when that took too long."""
        target, headers, content = self._prepared(checked_result(http_call, HttpCall))
        del http_call
        result_queue: ResultQueue = queue.SimpleQueue()
        seconds = max(0.0, min(deadline - time.monotonic(), _LONGEST_TIMER))
        connection = self._take_connection(result_queue)
        arguments = (target, headers, content, self._endpoint, result_queue)
        thread = threading.Thread(target=connection.post, args=arguments, name=f"code-commit {self._name}", daemon=True)
        post = _Post(thread, result_queue, seconds, _closed())
        del content, arguments
        try:
            yield post
        except queue.Empty:
            post.result = ProviderError("the call reached its time limit before the end of the reply", kind="network")
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

    def _prepared(self, call: HttpCall) -> tuple[httpx.URL, dict[str, str], Content]:
        if not call.path.startswith("/"):  # else it could lead to another host
            raise ValueError(f"provider {self._name}: the path of a call must begin with a slash")
        target = httpx.URL(str(self._address).rstrip("/") + call.path)
        headers = {name.lower(): value for name, value in call.headers.items()}
        if self._key_header in headers:
            raise ValueError(f"provider {self._name}: only the host sets the key header")
        return target, headers | self._headers, Content(call.body)

    def _decoded(self, result: HttpReply | Exception) -> Completion:
        reply = result if isinstance(result, HttpReply) else None
        if reply is not None and reply.status not in _REDIRECTS:
            try:
                return self._wire.decode(reply.status, reply.headers, reply.body)
            except Exception as error:  # noqa: BLE001 - described below
                result = error
        from code_commit.models.http.failures import provider_error, redirect_error, without_keys

        redactor = self._endpoint.redactor
        if isinstance(result, HttpReply):
            result = redirect_error(result, redactor)
        elif reply is not None and (clean := without_keys(reply, redactor)) is not reply:
            # Again: the wire may have shortened a key, so that nobody would recognize it.
            reply, result = clean, ProviderError("the reply contains an API key", kind="invalid_response")
            try:
                self._wire.decode(reply.status, reply.headers, reply.body)
            except Exception as error:  # noqa: BLE001 - described below
                result = error
        raise provider_error(result, self._name, self._endpoint, reply)

    def _take_connection(self, result_queue: ResultQueue) -> HttpConnection:
        with self._lock:
            if self._closed:
                raise _closed()
            connection = self._idle.pop() if self._idle else self._new_connection()
            self._busy[connection] = result_queue
            return connection

    def _give_back(self, connection: HttpConnection, *, reusable: bool) -> None:
        with self._lock:
            del self._busy[connection]
            keep = reusable and not self._closed
            if keep:
                self._idle.append(connection)
        if not keep:
            connection.abort()

    def _new_connection(self) -> HttpConnection:
        if self._ssl_context is None:
            self._ssl_context = trust(self._address)
        return HttpConnection(self._ssl_context, proxy_for(self._address))


def _closed() -> ProviderError:
    return ProviderError("the call was aborted", kind="rejected")


def _host_headers(definition: ProviderDefinition, key: str | None) -> dict[str, str]:
    name, template = definition.key_header
    return {
        "accept": "application/json",
        "accept-encoding": "gzip",
        "content-type": "application/json",
        "user-agent": f"code-commit/{__version__}",
        **({} if key is None else {name.lower(): template.format(key=key)}),
    }


def _silence_libraries() -> None:
    """Keep httpx's and httpcore's own log lines, which may hold headers, from every handler."""
    for name in ("httpx", "httpcore"):
        logger = logging.getLogger(name)
        logger.setLevel(logging.CRITICAL + 1)
        logger.propagate = False
