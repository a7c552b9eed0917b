"""A `Provider` made of a `Wire`."""

from __future__ import annotations

import logging
import queue
import ssl
import threading
import time
from collections.abc import Mapping

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
from code_commit_workspace import Redactor, checked_result

_REDIRECTS, _FIRST_ERROR = range(300, 400), 400  # HTTP statuses
_LONGEST_TIMER = 7 * 24 * 3600.0  # the clock's own limit is lower than infinity
_NO_HEADERS: Mapping[str, str] = {}


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
        self._key = endpoint.key
        self._key_header = definition.key_header[0].lower()
        self._headers = _host_headers(definition, endpoint.key)
        self._ssl_context: ssl.SSLContext | None = None
        self._lock = threading.Lock()
        self._closed = False
        self._idle: list[HttpConnection] = []
        self._busy: dict[HttpConnection, ResultQueue] = {}

    def complete(self, call: ModelCall) -> Completion:
        """Send `call.request` once and read the reply, before `call.deadline`.

        Raises:
            ProviderError: there is no reply, or it is an error, or it is not valid.
        """
        # Streaming is decided here: `encode_stream`, and pieces from the same queue.
        target, headers, content = self._prepared(checked_result(self._wire.encode(call.request), HttpCall))
        seconds = max(0.0, min(call.deadline - time.monotonic(), _LONGEST_TIMER))
        result_queue: ResultQueue = queue.SimpleQueue()
        connection = self._take_connection(result_queue)
        result: HttpReply | Exception | None = None
        try:
            threading.Thread(
                target=connection.post,
                args=(target, headers, content, self._endpoint, result_queue),
                name=f"code-commit {self._name}",
                daemon=True,
            ).start()
            del content
            result = result_queue.get(timeout=seconds)
        except queue.Empty:
            result = ProviderError("no whole answer came before the time limit of the call", kind="network")
        finally:
            self._give_back(connection, reusable=isinstance(result, HttpReply))
        return self._decoded(self._reply(result))

    def close(self) -> None:
        """End the calls under way, from any thread, and close all connections."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            busy = list(self._busy.values())
        for connection in idle:
            connection.abort()
        for result_queue in busy:
            result_queue.put(None)

    def _prepared(self, call: HttpCall) -> tuple[httpx.URL, dict[str, str], Content]:
        if not call.path.startswith("/"):
            raise ValueError(f"provider {self._name}: the path of a call must begin with a slash")
        target = httpx.URL(str(self._address).rstrip("/") + call.path)
        if (target.scheme, target.host, target.port) != (self._address.scheme, self._address.host, self._address.port):
            raise ValueError(f"provider {self._name}: the path of a call leads to another host")
        headers = {name.lower(): value for name, value in call.headers.items()}
        if self._key_header in headers:
            raise ValueError(f"provider {self._name}: the key header is the host's to fill in")
        try:
            content = Content(call.body)
        except UnicodeEncodeError:
            raise ProviderError("the request holds text that is not Unicode", kind="rejected") from None
        return target, headers | self._headers, content

    def _reply(self, result: HttpReply | Exception | None) -> HttpReply:
        match result:
            case HttpReply():
                return result
            case httpx.TransportError():
                from code_commit.models.http.failures import transport_error

                raise self._located(transport_error(result, self._endpoint)) from None
            case ProviderError() | None:
                raise self._located(result or _closed()) from None
        raise result

    def _decoded(self, reply: HttpReply) -> Completion:
        if reply.status in _REDIRECTS:
            from code_commit.models.http.failures import redirect_error

            raise self._located(redirect_error(reply))
        try:
            return self._wire.decode(reply.status, reply.headers, self._body(reply))
        except ProviderError as error:
            raise self._located(error, reply.headers) from None
        except Exception as error:  # a plugin's wire met a reply that it was not written for
            message = f"its plugin could not read the answer (HTTP {reply.status}): {type(error).__name__}"
            raise self._located(ProviderError(message, kind="invalid_response"), reply.headers) from error

    def _take_connection(self, result_queue: ResultQueue) -> HttpConnection:
        with self._lock:
            if self._closed:
                raise self._located(_closed())
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

    def _body(self, reply: HttpReply) -> bytes:
        """Return the body. An error's is redacted first: a shortened key would not be recognized."""
        if reply.status < _FIRST_ERROR or not self._key:
            return reply.body
        return Redactor([self._key]).data(reply.body)

    def _located(self, error: ProviderError, headers: Mapping[str, str] = _NO_HEADERS) -> ProviderError:
        from code_commit.models.http.failures import located

        return located(error, self._name, self._address, self._key, headers)


def _closed() -> ProviderError:
    return ProviderError("the call was ended", kind="rejected")


def _host_headers(definition: ProviderDefinition, key: str | None) -> dict[str, str]:
    headers = {
        "accept": "application/json",
        "accept-encoding": "gzip",
        "content-type": "application/json",
        "user-agent": f"code-commit/{__version__}",
    }
    if key is None:
        return headers
    name, template = definition.key_header
    return headers | {name.lower(): template.format(key=key)}


def _silence_libraries() -> None:
    """Keep httpx's and httpcore's own log lines, which may hold headers, from every handler."""
    for name in ("httpx", "httpcore"):
        logger = logging.getLogger(name)
        logger.setLevel(logging.CRITICAL + 1)
        logger.propagate = False
