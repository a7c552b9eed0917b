"""A server on loopback that sends the given bytes, for replies that no HTTP library would send."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Self

Step = bytes | Callable[["RawServer"], object]
"""Bytes to send, or what to do between them."""


class RawServer:
    """Answers each request with the next script, then closes the connection.

    Requests have a JSON body.
    """

    def __init__(self, *scripts: Sequence[Step]) -> None:
        """Listen on loopback. Requests are answered inside of a `with` statement."""
        self.requests: list[bytes] = []
        self.closing = threading.Event()
        self.scripts = list(scripts)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._connections: list[socket.socket] = []

    @property
    def address(self) -> str:
        """Return the base URL."""
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        """Answer requests."""
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Set `closing`, and close all connections."""
        self.closing.set()
        for opened in (self._listener, *self._connections):
            with suppress(OSError):
                opened.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self) -> None:
        for script in self.scripts:
            with suppress(OSError):
                connection, _ = self._listener.accept()
                self._connections.append(connection)
                threading.Thread(
                    target=self._answer, args=(connection, script), daemon=True
                ).start()

    def _answer(self, connection: socket.socket, script: Sequence[Step]) -> None:
        with connection, suppress(OSError):
            data = b""
            while not data.endswith(b"}"):
                data += connection.recv(1 << 16)
            self.requests.append(data)
            for step in script:
                if callable(step):
                    step(self)
                else:
                    connection.sendall(step)
            connection.shutdown(socket.SHUT_RDWR)
