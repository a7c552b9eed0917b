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
        """Yield the events of a streamed reply as they arrive.

        The timed `get` finds a stall.
        """
        deadline, stall = self._deadline, self._stall
        piece: Any = None
        while piece != b"":
            now = time.monotonic()
            deadline = min(deadline, now + _CLOSING_SECONDS) if self.has_ended else deadline
            left = deadline - now
            try:
                piece = self._pieces.get(timeout=min(left, stall)) if left > 0 else out_of_time()
            except queue.Empty:
                piece = (
                    out_of_time()
                    if left < stall
                    else ProviderError(f"no data for {stall:g} s", kind="network")
                )
            arrived = bytearray()
            while piece and isinstance(piece, bytes):  # services send a piece for each event
                arrived += piece
                piece = (
                    None if len(arrived) > _AT_ONCE or self._pieces.empty() else self._pieces.get()
                )
            if self._is_closed():
                raise closed()
            yield from self._parser.feed(bytes(arrived))
            if isinstance(piece, Exception):
                self.failure = piece
                return
        yield from self._parser.finish()

    def completion(self) -> Completion:
        """Return the completion.

        A broken connection is no error if the service had ended its reply.
        """
        broken = self.failure if not self.has_ended else None
        try:
            completion: Completion = self._decoder.finish()
        except Exception as error:  # noqa: BLE001 - described by the caller
            raise broken or error from None
        return completion


def out_of_time() -> ProviderError:
    return ProviderError(
        "the call reached its time limit before the end of the reply", kind="network"
    )


def closed() -> ProviderError:
    return ProviderError("the call was aborted", kind="rejected")
