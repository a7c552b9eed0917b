"""Protect critical sections from Ctrl-C, SIGTERM and SIGHUP, and react to these signals at once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def uninterrupted(*, last: bool = False) -> Iterator[None]:
    """Delay the signals until the end of the block. An ignored signal, as in a background job, stays ignored.

    With `last`, drop them: the block is the end of what they would interrupt. A signal mask is not enough: another
    thread may take the signal, and Python still raises in the main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread handles signals
        return
    arrived: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        arrived.append(number)

    heard = (number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN)
    before = {int(number): signal.signal(number, note) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in arrived[: not last]:
            signal.raise_signal(number)


@contextmanager
def call_on_interruption(end: Callable[[], None]) -> Iterator[None]:
    """On one of the signals, call `end` in another thread before the exception is raised.

    The exception alone cannot leave a thread pool, which waits for its threads. `end` may be called more than once.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread handles signals
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    threading.Thread(target=_watch_signals, args=(reader, end), name="code-commit interruption", daemon=True).start()
    # Python writes to it before any handler runs. Without it, a signal that arrives just before a wait for a lock would
    # be noticed only after the wait. An ignored signal is not written.
    previous = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(previous)
        os.close(writer)


def _watch_signals(reader: int, end: Callable[[], None]) -> None:
    while number := os.read(reader, 1):
        if number[0] in _SIGNALS:
            end()
    os.close(reader)
