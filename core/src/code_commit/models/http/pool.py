"""The connections to one address, of which each takes one request at a time."""

from __future__ import annotations

import queue
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
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

Calling = Callable[[Callable[[], object]], AbstractContextManager[None]]
"""`with calling(end):` calls `end` in another thread if the call is to end."""


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
    """Connects to `address`, as often as requests are under way at once."""

    def __init__(self, address: httpx.URL, endpoint: Endpoint, name: str) -> None:
        self._address = address
        self._endpoint = endpoint
        self._name = name
        self._ssl_context: ssl.SSLContext | None = None
        self._lock = threading.Lock()
        self.is_closed = False
        self._idle: list[HttpConnection] = []
        self._busy: dict[HttpConnection, ResultQueue] = {}

    @contextmanager
    def posted(self, request: httpx.Request, deadline: float, calling: Calling) -> Iterator[Post]:
        """Prepare a request, which the caller sends. What `calling` calls ends it.

        If the caller waits too long for the result, `result` is the error for that.
        """
        result_queue: ResultQueue = queue.SimpleQueue()
        connection = self._take(result_queue)
        thread = threading.Thread(
            target=connection.post,
            args=(request, self._endpoint, result_queue),
            name=f"code-commit {self._name}",
            daemon=True,
        )
        seconds = max(0.0, min(deadline - time.monotonic(), LONGEST_TIMER))
        post = Post(thread, result_queue, seconds, result=aborted())
        del request  # it holds the prompt
        try:
            with calling(lambda: result_queue.put(aborted())):
                yield post
        except queue.Empty:
            post.result = out_of_time()
        finally:
            self._give_back(connection, reusable=isinstance(post.result, HttpReply))

    def close(self) -> None:
        """End the requests under way, from any thread, and close all connections."""
        with self._lock:
            self.is_closed = True
            idle_connections = self._idle
            self._idle = []
            result_queues = list(self._busy.values())
        for connection in idle_connections:
            connection.abort()
        for result_queue in result_queues:
            result_queue.put(aborted())

    def _take(self, result_queue: ResultQueue) -> HttpConnection:
        with self._lock:
            if self.is_closed:
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
            if reusable and not self.is_closed:
                self._idle.append(connection)
                return
        connection.abort()
