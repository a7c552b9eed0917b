"""The connections to one address, of which each takes one request at a time."""

from __future__ import annotations

import queue
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from code_commit.models.http.connection import (
    Endpoint,
    HttpConnection,
    HttpReply,
    ResultQueue,
    proxy_for,
    trust,
)
from code_commit.models.http.streamed_reply import LONGEST_TIMER, aborted, out_of_time
from code_commit_workspace import Scope


@dataclass(slots=True)
class Post:
    """A request, which `thread` sends. Its result arrives in `queue`, within `seconds`."""

    thread: threading.Thread
    queue: ResultQueue
    seconds: float
    result: Any  # what came last, as in the queue

    def send(self) -> None:
        """Send the request, and wait for its first result."""
        self.thread.start()
        self.result = self.queue.get(timeout=self.seconds)


class ConnectionPool:
    """Connects to `address`, as often as requests are under way at once; they end with `scope`."""

    def __init__(self, address: httpx.URL, endpoint: Endpoint, name: str) -> None:
        self._address = address
        self._endpoint = endpoint
        self._name = name
        self._ssl_context: ssl.SSLContext | None = None
        self._lock = threading.Lock()
        self._idle: list[HttpConnection] = []
        self.scope = Scope()
        self.scope.on_end(self._close_idle)

    @contextmanager
    def posted(self, request: httpx.Request, deadline: float, scope: Scope) -> Iterator[Post]:
        """Prepare a request, which the caller sends. It ends with `scope`, too.

        If the caller waits too long for the result, `result` is the error for that.
        """
        result_queue: ResultQueue = queue.SimpleQueue()
        connection = self._take()
        thread = threading.Thread(
            target=connection.post,
            args=(request, self._endpoint, result_queue),
            name=f"code-commit {self._name}",
            daemon=True,
        )
        seconds = max(0.0, min(deadline - time.monotonic(), LONGEST_TIMER))
        post = Post(thread, result_queue, seconds, result=aborted())
        del request  # it holds the prompt

        def end() -> None:
            result_queue.put(aborted())

        try:
            with self.scope.child(end), scope.child(end):
                yield post
        except queue.Empty:
            post.result = out_of_time()
        finally:
            self._give_back(connection, reusable=isinstance(post.result, HttpReply))

    def _close_idle(self) -> None:
        with self._lock:
            while self._idle:
                self._idle.pop().abort()

    def _take(self) -> HttpConnection:
        with self._lock:
            if self.scope.is_over:
                raise aborted()
            if self._idle:
                return self._idle.pop()
            self._ssl_context = self._ssl_context or trust(self._address)
            return HttpConnection(self._ssl_context, proxy_for(self._address))

    def _give_back(self, connection: HttpConnection, *, reusable: bool) -> None:
        with self._lock:
            if reusable and not self.scope.is_over:
                self._idle.append(connection)
                return
        connection.abort()
