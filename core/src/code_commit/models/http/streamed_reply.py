"""Read a streamed reply: its events as they arrive, and its completion."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterator
from typing import Any

from code_commit.models.http.connection import ResultQueue
from code_commit.models.http.streaming import EventParser
from code_commit.plugin_api.conversation import Completion, ProviderError
from code_commit.plugin_api.provider import StreamDecoder, StreamEvent

_CLOSING_SECONDS = 0.5  # for a service to close a stream whose own end has come
_AT_ONCE = 1 << 15  # bytes of a stream, parsed together
LONGEST_TIMER = 7 * 24 * 3600.0  # the clock's own limit is lower than infinity


class StreamedReply:
    """A streamed reply, whose pieces a connection puts into a queue.

    `failure` is the error that ended it too early, if any.
    """

    def __init__(
        self,
        decoder: StreamDecoder,
        pieces: ResultQueue,
        *,
        lines: bool,
        deadline: float,
        stall_timeout: float,
        size_cap: int,
        is_closed: Callable[[], bool],
    ) -> None:
        self.failure: Exception | None = None
        self._decoder = decoder
        self._pieces = pieces
        self._parser = EventParser(size_cap // 2, lines=lines)
        self._deadline = deadline
        self._stall = min(stall_timeout, LONGEST_TIMER)
        self._is_closed = is_closed

    @property
    def has_ended(self) -> bool:
        """Whether the service's own end of the reply has come."""
        return getattr(self._decoder, "ended", False) is True

    def events(self) -> Iterator[StreamEvent]:
        """Yield the events of the reply as they arrive.

        Raises:
            ProviderError: an event is too large, or the provider was closed.
        """
        has_more = True
        while has_more:
            arrived, end = self._next_data()
            if self._is_closed():
                raise aborted()
            yield from self._parser.feed(arrived)
            if isinstance(end, Exception):
                self.failure = end
                return
            has_more = end is None
        yield from self._parser.finish()

    def _next_data(self) -> tuple[bytes, Any]:
        """Wait for data, and return what has arrived by then.

        Also return the end of the reply, which is an empty piece or an error, or None before it.
        """
        arrived = bytearray()
        piece = self._next_piece()
        while piece and isinstance(piece, bytes):  # services send a piece for each event
            arrived += piece
            if len(arrived) > _AT_ONCE or self._pieces.empty():
                return bytes(arrived), None
            piece = self._pieces.get()
        return bytes(arrived), piece

    def _next_piece(self) -> Any:
        """Wait for the next piece; return an error if it takes too long."""
        now = time.monotonic()
        if self.has_ended:
            self._deadline = min(self._deadline, now + _CLOSING_SECONDS)
        seconds_left = self._deadline - now
        if seconds_left <= 0:
            return out_of_time()
        try:
            return self._pieces.get(timeout=min(seconds_left, self._stall))
        except queue.Empty:
            if seconds_left < self._stall:
                return out_of_time()
            return ProviderError(f"no data for {self._stall:g} s", kind="network")

    def completion(self) -> Completion:
        """Return the completion.

        A broken connection is no error if the service had ended its reply.

        Raises:
            Exception: the reply is not whole, or not valid.
        """
        try:
            return self._decoder.finish()
        except Exception:
            if self.has_ended or self.failure is None:
                raise
            raise self.failure from None


def out_of_time() -> ProviderError:
    return ProviderError(
        "the call reached its time limit before the end of the reply", kind="network"
    )


def aborted() -> ProviderError:
    return ProviderError("the call was aborted", kind="rejected")
