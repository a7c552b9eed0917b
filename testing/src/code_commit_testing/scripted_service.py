"""A service of a protocol of its own, for the conformance tests of a `Provider`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Self

from code_commit_testing.scripted_replies import Reply
from code_commit_testing.scripted_server import RecordedRequest, ScriptedServer


class ScriptedService:
    """A server on loopback that answers each request with the next reply, as `respond` writes it.

    `respond(request, reply)` runs in the server's thread. `asked` is set as soon as a request has
    arrived.
    """

    def __init__(self, respond: Callable[[RecordedRequest, Reply], Reply]) -> None:
        self.asked = threading.Event()
        self._respond = respond
        self._server = ScriptedServer()

    def __enter__(self) -> Self:
        self._server.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def address(self) -> str:
        """Return the URL of the server, without a path."""
        return self._server.address

    @property
    def recorded(self) -> list[RecordedRequest]:
        """Return the requests."""
        return self._server.requests

    @property
    def requests(self) -> list[str]:
        """Return path and body of each request."""
        return [f"{request.path}\n{request.body.decode()}" for request in tuple(self.recorded)]

    def script(self, *replies: Reply) -> None:
        """Append replies to the script."""
        self._server.script(*(partial(self._answer, reply=reply) for reply in replies))

    def close(self) -> None:
        """End all replies, and stop; a request finds nobody then."""
        self._server.close()

    def _answer(self, request: RecordedRequest, *, reply: Reply) -> Reply:
        self.asked.set()
        return self._respond(request, reply)
