"""A real HTTP server on loopback that answers like Gemini, OpenAI and Anthropic, from one script.

@pytest.fixture
def server():
    with ScriptedServer() as server:
        yield server
"""

from __future__ import annotations

import json
import re
import socket
import ssl
import struct
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType, TracebackType
from typing import Any, Self

from code_commit_testing.scripted_replies import Break, Protocol, Reply, answer_of
from code_commit_testing.scripted_stream import StreamedReply, deliver, streamed

_TRICKLE_SECONDS = 0.05
_GEMINI_PATH = re.compile(
    r"/v1(?:beta|alpha)?/models/([^/:]+):(?:generateContent|streamGenerateContent)(?:\?.*)?$"
)
_SUFFIX: dict[Protocol, str] = {"gemini": "", "openai": "/v1", "anthropic": ""}


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request. Header names are in lower case; `protocol` is None for any other path.

    `port` is the client's: requests with the same port came on one connection.
    """

    protocol: Protocol | None
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    port: int

    @property
    def json(self) -> Any:
        """Return the parsed body."""
        return json.loads(self.body)

    @property
    def model(self) -> str:
        """Return the requested model."""
        if self.protocol == "gemini":
            match = _GEMINI_PATH.search(self.path)
            return match[1] if match else ""
        return str(self.json.get("model", ""))

    @property
    def streams(self) -> bool:
        """Return whether it asks for a streamed reply."""
        return ":streamGenerateContent" in self.path or self._member("stream") is True

    def names(self, words: Iterable[str]) -> str | None:
        """Return the first of `words` that is a true member of the body or the path's method."""
        return next((word for word in words if self._member(word) or f":{word}" in self.path), None)

    def _member(self, name: str) -> Any:
        try:
            document = self.json
        except ValueError:
            return None
        return document.get(name) if isinstance(document, dict) else None

    @property
    def prompt(self) -> str:
        """Return the text of the last message."""
        if self.protocol == "gemini":
            return "".join(part.get("text", "") for part in self.json["contents"][-1]["parts"])
        content = self.json["messages"][-1]["content"]
        if isinstance(content, str):
            return content
        return "".join(part.get("text", "") for part in content)


Scripted = Reply | str | Callable[[RecordedRequest], Reply | str]


class ScriptedServer:
    """Answers each request with the next item of its script.

    An item is a `Reply`, a text, or a function of the request.

    The requested path selects the protocol of the reply; a request that asks to stream gets the
    same reply as events. A script that is used up answers 400. `requests` records the requests in
    order. With `ssl_context`, it uses TLS.

    A request to a path of `endpoints` is answered by its function. It uses nothing of the script,
    and is not in `requests`.

    `refuses` names what the server does not know: "stream_options", "stream",
    "streamGenerateContent". A request with one of them is answered with an error that names it, and
    uses nothing of the script.
    """

    def __init__(
        self,
        script: Iterable[Scripted] = (),
        *,
        ssl_context: ssl.SSLContext | None = None,
        refuses: Collection[str] = (),
        endpoints: Mapping[str, Callable[[RecordedRequest], Reply]] = MappingProxyType({}),
    ) -> None:
        self.refuses = refuses
        self.endpoints = dict(endpoints)
        self.requests: list[RecordedRequest] = []
        self._script: deque[Scripted] = deque(script)
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._scheme = "http" if ssl_context is None else "https"
        self._server = _Server(self, ssl_context)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def script(self, *replies: Scripted) -> None:
        """Append replies to the script."""
        with self._lock:
            self._script.extend(replies)

    @property
    def unused(self) -> int:
        """Return the number of unused items of the script."""
        return len(self._script)

    @property
    def address(self) -> str:
        """Return the server's address, without a path."""
        host, port = self._server.server_address[:2]
        return f"{self._scheme}://{host!s}:{port}"

    def url(self, provider: str) -> str:
        """Return the base URL for a provider of that protocol; for any other name, the address."""
        return self.address + next(
            (suffix for name, suffix in _SUFFIX.items() if name == provider), ""
        )

    def environment(self) -> dict[str, str]:
        """Return the variables that point the first-party providers to this server."""
        return {
            "GOOGLE_GEMINI_BASE_URL": self.url("gemini"),
            "OPENAI_BASE_URL": self.url("openai"),
            "ANTHROPIC_BASE_URL": self.url("anthropic"),
        }

    def close(self) -> None:
        """End all running replies and stop the server."""
        self._closing.set()
        self._server.shutdown()
        self._server.end_connections()
        self._server.server_close()
        self._thread.join()

    def _next(self, request: RecordedRequest) -> Reply:
        if request.path in self.endpoints:
            return self.endpoints[request.path](request)
        with self._lock:
            self.requests.append(request)
            if unknown := request.names(self.refuses):
                status = 404 if f":{unknown}" in request.path else 400
                return Reply.error(status, f"Unknown parameter: '{unknown}'.")
            if not self._script:
                return Reply.error(400, "the script is used up")
            answer = self._script.popleft()
        if callable(answer):
            answer = answer(request)
        return Reply(text=answer) if isinstance(answer, str) else answer


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # closing waits for them
    request_queue_size = 128

    def __init__(self, scripted: ScriptedServer, ssl_context: ssl.SSLContext | None) -> None:
        self.scripted = scripted
        self.ssl_context = ssl_context
        self._open: set[socket.socket] = set()
        self._guard = threading.Lock()
        super().__init__(("127.0.0.1", 0), _Handler)

    def finish_request(self, request: Any, client_address: Any) -> None:
        with self._guard:
            self._open.add(request)
        try:
            if self.ssl_context is not None:
                # In the connection's thread: a client that rejects the certificate must not block
                # others.
                request = self.ssl_context.wrap_socket(request, server_side=True)
                with self._guard:
                    self._open.add(request)
            super().finish_request(request, client_address)
        finally:
            with suppress(OSError):
                request.close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnect."""

    def end_connections(self) -> None:
        """Wake all threads that wait for a client."""
        with self._guard:
            connections = tuple(self._open)
        for connection in connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Else the body waits 40 ms, until the client has acknowledged the head.
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the signature of http.server
        """Log nothing: tests read `requests`."""

    def _answer(self) -> None:
        scripted = self.server.scripted
        request = RecordedRequest(
            protocol=_protocol_of(self.path),
            method=self.command,
            path=self.path,
            headers={name.lower(): value for name, value in self.headers.items()},
            body=self.rfile.read(int(self.headers.get("content-length", "0"))),
            port=self.client_address[1],
        )
        reply = scripted._next(request)  # noqa: SLF001 - the handler belongs to the server
        closing = scripted._closing  # noqa: SLF001 - the handler belongs to the server
        closing.wait(reply.delay)
        if reply.fault in {"drop", "reset", "hang"}:
            if reply.fault == "hang":
                closing.wait()
            self._disconnect(reset=reply.fault == "reset")
            return
        if (stream := _streamed(request, reply)) is not None:
            self._stream(stream, reply, closing)
            return
        if request.protocol is None and reply.body is None:
            status, body = 404, b'{"error": "no such path"}'
        else:
            status, body = answer_of(request.protocol or "openai", reply, model=_model_of(request))
        self._send_head(
            status, {"content-type": "application/json", "content-length": str(len(body))}, reply
        )
        self._send_body(body, reply, closing)

    def _send_head(self, status: int, head: Mapping[str, str], reply: Reply) -> None:
        self.send_response(status)
        for name, value in {
            **head,
            **{name.lower(): value for name, value in reply.headers.items()},
        }.items():
            self.send_header(name, value)
        self.end_headers()

    def _stream(self, stream: StreamedReply, reply: Reply, closing: threading.Event) -> None:
        head = {
            "content-type": stream.content_type,
            "transfer-encoding": "chunked",
            "cache-control": "no-cache",
        }
        self._send_head(
            reply.status, head | ({"content-encoding": "gzip"} if stream.stream.gzip else {}), reply
        )
        then: Break = stream.then
        if not deliver(stream, self.wfile.write, closing, slow=reply.fault == "trickle"):
            then = "drop"
        if then == "end":
            self.wfile.write(b"0\r\n\r\n")
            return
        if then == "stall":
            closing.wait()
        self._disconnect(reset=then == "reset")

    def _send_body(self, body: bytes, reply: Reply, closing: threading.Event) -> None:
        if reply.fault in {"half", "stall"}:
            self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
            if reply.fault == "stall":
                closing.wait()
            self._disconnect(reset=False)
        elif reply.fault == "trickle":
            for byte in body:
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
                if closing.wait(_TRICKLE_SECONDS):
                    break
        else:
            self.wfile.write(body)

    def _disconnect(self, *, reset: bool) -> None:
        self.close_connection = True
        with suppress(OSError):
            if reset:
                self.connection.setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
                )
                self.connection.close()
            else:
                self.connection.shutdown(socket.SHUT_RDWR)


def _streamed(request: RecordedRequest, reply: Reply) -> StreamedReply | None:
    asked = request.streams and request.protocol is not None
    if reply.stream is None or not (asked or reply.stream.events is not None):
        return None
    options = request._member("stream_options")  # noqa: SLF001 - both belong to the server
    if request.protocol == "openai" and not (
        isinstance(options, dict) and options.get("include_usage") is True
    ):
        reply = replace(reply, usage=None)
    sse = request.protocol != "gemini" or "alt=sse" in request.path
    return streamed(reply, request.protocol or "openai", model=_model_of(request), sse=sse)


def _protocol_of(path: str) -> Protocol | None:
    path = path.partition("?")[0]
    if path.endswith("/chat/completions"):
        return "openai"
    if path.endswith("/v1/messages"):
        return "anthropic"
    return "gemini" if _GEMINI_PATH.search(path) else None


def _model_of(request: RecordedRequest) -> str:
    try:
        return request.model or "scripted-model"
    except (ValueError, AttributeError):
        return "scripted-model"
