"""Keep the events and the text of a stream without keys, the events as a JSON array."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Hashable
from contextvars import copy_context

from code_commit.log.event_redaction import EventRedactor
from code_commit.run_folder.json_array import ARRAY_END, array_piece
from code_commit_workspace import Redactor

_TICK = 0.04  # seconds; what arrived is shown after at most 50 ms
_MOST_WAITING = 1 << 20  # bytes and characters that wait to be kept

Keep = Callable[[bytes], None]
Show = Callable[[str, str], None]
# An event; or a channel, its text, and whether to keep the text.
_Arrival = bytes | tuple[Hashable, str, bool]


class KeptStream:
    """Takes events and texts, and passes them on without keys, in pieces.

    `keep_events` and `keep_text` get bytes that are final. After each piece, `show` gets its text,
    and all text that was added since, which may contain keys.

    A separate thread calls these functions, in a copy of this context, so that the reader of the
    stream does not wait. It starts with the first event or text. `has_events` and `has_text` are
    whether there were any.
    """

    def __init__(self, redactor: Redactor, keep_events: Keep, keep_text: Keep, show: Show) -> None:
        self.has_events = self.has_text = False
        self._keep_events = keep_events
        self._keep_text = keep_text
        self._show = show
        self._events = EventRedactor(redactor)
        self._text = redactor.stream()
        self._arrivals: deque[_Arrival] = deque()
        self._added = self._taken = 0  # bytes and characters
        # `_added` may grow to this without a wake: the thread is already awake.
        self._unnoticed = -1
        self._room = threading.Condition()
        self._ended = threading.Event()
        # Not an event: Ctrl-C between the steps of `Event.set` could leave its lock locked.
        self._arrived: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._error: Exception | None = None
        self._thread: threading.Thread | None = None

    @property
    def holds_key(self) -> bool:
        """Whether the text that was searched so far contains a key."""
        return self._text.found_key

    def add_event(self, data: bytes) -> None:
        """Take the next event; block while too much waits to be kept."""
        self._arrivals.append(data)
        self._added += len(data)
        if self._added > self._unnoticed:
            self._wake()

    def add_text(self, text: str, channel: Hashable, *, keep: bool) -> None:
        """Take a text of the latest event, which continues the previous one in `channel`.

        It is kept if `keep` is true.
        """
        self._arrivals.append((channel, text, keep))
        self._added += len(text)
        if self._added > self._unnoticed:
            self._wake()

    def end(self) -> None:
        """Keep the rest. Do nothing if nothing arrived.

        Raises:
            Exception: from one of the functions. Nothing was kept after it.
        """
        self._ended.set()
        self._arrived.put(None)
        if self._thread is not None:
            self._thread.join()
        if self._error is not None:
            raise self._error

    def _wake(self) -> None:
        """Wake the thread; block while too much waits to be kept."""
        self._unnoticed = self._taken + _MOST_WAITING  # before the thread wakes and resets it
        if self._thread is None:
            run = copy_context().run
            self._thread = threading.Thread(
                target=run,
                args=(self._run,),
                name="stream",
                daemon=True,
            )
            self._thread.start()
        self._arrived.put(None)
        if self._added > self._unnoticed:
            with self._room:
                self._room.wait_for(
                    lambda: self._added - self._taken <= _MOST_WAITING or self._ended.is_set()
                )

    def _run(self) -> None:
        seen = settled = 0  # events taken; those whose texts have arrived, too
        while True:
            if settled == seen:
                self._arrived.get()
            while not self._arrived.empty():
                self._arrived.get()
            self._unnoticed = -1
            is_last = self._ended.is_set()
            settled = seen
            with self._room:
                self._taken = self._added
                arrivals = [self._arrivals.popleft() for _ in range(len(self._arrivals))]
                self._room.notify_all()
            try:
                if self._error is None:
                    self._keep(arrivals, None if is_last else settled)
            except Exception as error:  # noqa: BLE001 - raised by `end`
                self._error = error
            if is_last:
                self._arrivals = deque(maxlen=0)  # drops what comes too late
                return
            seen = self._events.count
            self._ended.wait(_TICK)

    def _keep(self, arrivals: list[_Arrival], settled: int | None) -> None:
        """Pass on the first `settled` events, or everything if it is None."""
        all_texts: list[str] = []
        texts_to_keep: list[str] = []
        for arrival in arrivals:
            if isinstance(arrival, bytes):
                self._events.add(arrival)
            else:
                channel, text, keep = arrival
                self._events.add_text(channel, text)
                all_texts.append(text)
                if keep:
                    texts_to_keep.append(text)
        clean = b""
        if texts_to_keep:
            clean = self._text.feed("".join(texts_to_keep).encode("utf-8", "backslashreplace"))
        if settled is None:
            clean += self._text.finish()
        if clean:
            self.has_text = True
            self._keep_text(clean)
        if lines := self._events.take(settled):
            self._keep_events(array_piece(lines, is_first=not self.has_events))
            self.has_events = True
        if settled is None and self.has_events:
            self._keep_events(ARRAY_END)
        if clean or all_texts:
            self._show(clean.decode(), "".join(all_texts))
