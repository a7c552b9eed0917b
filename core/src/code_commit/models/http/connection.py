"""One connection: its certificates and proxy; send a request, read a reply of limited size."""

from __future__ import annotations

import queue
import socket
import ssl
import threading
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Any

import httpx

from code_commit.config.proxy import https_proxy
from code_commit.plugin_api.conversation import ProviderError, ProviderErrorKind
from code_commit.plugin_api.errors import NotReady
from code_commit_workspace import Redactor

CONNECT_SECONDS = 30.0
WRITE_SECONDS = 120.0
STALL_SECONDS = 300.0  # a reasoning model may pause for minutes; a lost try is paid for
_UNPACKED = 1 << 16  # bytes
_WAITING = 64  # pieces of a streamed reply that the caller has not taken
_PAUSE = 0.002  # seconds
_STREAM_SHARE = 40  # a service sends about 25 bytes of events for one of text
_LINES = frozenset(
    {"application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines"}
)
STREAMS = "text/event-stream"
_EVENTS = frozenset({STREAMS, "text/plain", ""})  # the last two may be anything
_BLANK = b"\xef\xbb\xbf \t\r\n"

# A model may send no byte for minutes: keep NATs and load balancers from dropping the connection.
_KEEPALIVE = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)] + [
    (socket.IPPROTO_TCP, getattr(socket, name), value)
    for name, value in (("TCP_KEEPIDLE", 45), ("TCP_KEEPINTVL", 45), ("TCP_KEEPCNT", 6))
    if hasattr(socket, name)
]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of a provider, its key, and the limits of a reply.

    `read_timeout` is the longest silence in seconds, `stall_timeout` that between two pieces of a
    streamed reply. `size_cap` bounds a reply in bytes, after decompression; the events of a
    streamed one are larger than their text. `redactor` knows the keys that no error may show, `key`
    among them.
    """

    base_url: str
    key: str | None = field(default=None, repr=False)
    key_source: str = ""
    read_timeout: float = 900.0
    stall_timeout: float = STALL_SECONDS
    size_cap: int = 64 * 1024 * 1024
    redactor: Redactor = field(default_factory=Redactor, repr=False)


@dataclass(frozen=True, slots=True)
class HttpReply:
    """The reply of a service; header names are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def refuses_stream(self) -> bool:
        """Whether the service rejects the request, and names streaming."""
        return self.status in {400, 404, 405, 422} and b"stream" in self.body.lower()


@dataclass(frozen=True, slots=True)
class StreamHead:
    """The beginning of a streamed reply, in server-sent events or in `lines` of JSON."""

    reply: HttpReply  # without its body
    lines: bool


ResultQueue = queue.SimpleQueue["HttpReply | StreamHead | bytes | Exception"]
"""Holds the result of `post`: a whole reply, or an error.

Of a streamed reply, it holds the head, the pieces, and an empty piece or an error as its end.
"""


class HttpConnection:
    """One connection, for one POST at a time. Another thread may call `abort` during `post`."""

    def __init__(self, ssl_context: ssl.SSLContext, proxy: httpx.Proxy | None) -> None:
        limits = httpx.Limits(max_connections=1)
        self._transport = httpx.HTTPTransport(
            verify=ssl_context,
            trust_env=False,
            proxy=proxy,
            limits=limits,
            socket_options=_KEEPALIVE,
        )
        self._sockets: list[socket.socket] = []
        self._in_use = threading.Lock()
        self._aborted = threading.Event()

    def post(self, request: httpx.Request, endpoint: Endpoint, queue: ResultQueue) -> None:
        """Send and read; put the reply or the exception into `queue`."""
        timeout = httpx.Timeout(endpoint.read_timeout, connect=CONNECT_SECONDS, write=WRITE_SECONDS)
        request.extensions = {"timeout": timeout.as_dict(), "trace": self._traced}
        result: HttpReply | bytes | Exception
        with self._in_use:
            if self._aborted.is_set():
                return
            try:
                with closing(self._transport.handle_request(request)) as response:
                    streams = STREAMS in request.headers["accept"]
                    result = self._read(response, endpoint.size_cap, queue, streams=streams)
            except Exception as error:  # noqa: BLE001 - passed to the waiting thread
                result = error
        if self._aborted.is_set():
            self._transport.close()
        queue.put(result)

    def abort(self) -> None:
        """Close the connection; a running `post` ends with an error."""
        self._aborted.set()
        for connected in self._sockets:
            with suppress(OSError):
                # Shut down the socket below TLS: this wakes a reading thread, and `close` does not.
                socket.socket.shutdown(connected, socket.SHUT_RDWR)
        if not self._in_use.locked():  # else `post` closes it
            self._transport.close()

    def _read(
        self,
        response: httpx.Response,
        cap: int,
        queue: ResultQueue,
        *,
        streams: bool,
    ) -> HttpReply | bytes:
        """Return the whole reply, or the end of a streamed one.

        The head and the pieces of a streamed reply go into `queue`.
        """
        headers = dict(response.headers)
        content_type = headers.get("content-type", "").partition(";")[0].strip().lower()
        is_lines = content_type in _LINES
        streams = streams and response.is_success and (is_lines or content_type in _EVENTS)
        pieces = _pieces(response, cap, streams=streams)
        body = bytearray()
        for piece in pieces:
            body += piece
            if len(body) > cap:
                raise _too_large(cap)
            start = piece.lstrip(_BLANK)[:1]
            if streams and start:
                # Some servers send a whole reply, or an error, as if it were a stream.
                streams = is_lines or start not in b"{[<"
                if streams:
                    break
        if not streams:
            return HttpReply(response.status_code, headers, bytes(body))
        queue.put(StreamHead(HttpReply(response.status_code, headers, b""), is_lines))
        if body:
            queue.put(bytes(body))  # the beginning
        for piece in pieces:
            while queue.qsize() > _WAITING:
                if self._aborted.wait(_PAUSE):
                    return b""
            queue.put(piece)
        return b""

    def _traced(self, event: str, info: Mapping[str, Any]) -> None:
        """Record the sockets that the transport opens."""
        get_extra_info = getattr(info.get("return_value"), "get_extra_info", None)
        if not event.endswith(".complete") or get_extra_info is None:
            return
        open_sockets = [connected for connected in self._sockets if connected.fileno() >= 0]
        self._sockets = [*open_sockets, get_extra_info("socket")]
        if self._aborted.is_set():  # while it was connecting
            self.abort()


def _pieces(response: httpx.Response, cap: int, *, streams: bool) -> Iterator[bytes]:
    """Yield the reply as it arrives, without its compression; events are larger than their text."""
    limit = cap
    if streams:
        limit = cap * _STREAM_SHARE
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in {"", "identity", "gzip", "x-gzip"}:
        raise ProviderError(
            "the reply has a compression that was not requested", kind="invalid_response"
        )
    unpack: Any = None
    if "gzip" in encoding:
        unpack = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    size = 0
    # As `iter_raw`, without a second look at each piece.
    for chunk in response.stream:  # type: ignore[union-attr]
        pieces: Iterable[bytes] = (chunk,)
        if unpack is not None:
            pieces = _unpacked(chunk, unpack)
        for piece in pieces:
            size += len(piece)
            if size > limit:  # a small reply may unpack to any size
                raise _too_large(limit)
            yield piece
    if unpack is not None and not unpack.eof:
        kind: ProviderErrorKind = "network" if streams else "invalid_response"
        raise ProviderError("the compressed reply is truncated", kind=kind)


def _unpacked(chunk: bytes, unpack: Any) -> Iterator[bytes]:
    while True:
        try:
            piece = unpack.decompress(chunk, _UNPACKED)
        except zlib.error:
            raise ProviderError(
                "the compressed reply is corrupt", kind="invalid_response"
            ) from None
        if not piece:
            return
        yield piece
        chunk = unpack.unconsumed_tail


def _too_large(cap: int) -> ProviderError:
    return ProviderError(
        f"the reply is larger than {cap} bytes, the limit", kind="invalid_response"
    )


def trust(address: httpx.URL) -> ssl.SSLContext:
    """Return the authorities that may vouch for the service."""
    if address.scheme == "http":
        # Without authorities: loading them takes 20 ms.
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        return httpx.create_ssl_context()
    except OSError as error:
        raise NotReady(
            f"the certificates in SSL_CERT_FILE or SSL_CERT_DIR cannot be loaded: {error.strerror}",
            hint="fix the variable, or unset it",
        ) from None


def proxy_for(address: httpx.URL) -> httpx.Proxy | None:
    """Return the proxy of the environment.

    Only HTTPS uses it: through a tunnel it sees no headers.
    """
    if address.scheme != "https":
        return None
    proxy = https_proxy(address.host)
    if not proxy:
        return None
    try:
        return httpx.Proxy(proxy)
    except (httpx.InvalidURL, ValueError):
        raise NotReady(
            "the proxy in HTTPS_PROXY or ALL_PROXY is not an http:// or https:// address",
            hint="fix the variable, or add the host of the service to NO_PROXY",
        ) from None
