"""Ctrl-C and SIGTERM: what they must not cut in half, and what they have to end."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold the signals back; they arrive when the block is over.

    A mask would not do: another thread may take the signal, and Python then raises in the main one all the same.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals raise in the main thread alone
        return
    arrived: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        arrived.append(number)

    before = {int(number): signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in arrived[:1]:
            signal.raise_signal(number)


@contextmanager
def ended_when_interrupted(end: Callable[[], None]) -> Iterator[None]:
    """Let the signals first call `end` in a thread of its own, and then raise as they did before.

    What was raised cannot get past a pool of threads, which waits for them: somebody must end what they wait for.
    `end` may be called more than once.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are handled in the main thread alone
        return
    ear, mouth = os.pipe()
    os.set_blocking(mouth, False)
    threading.Thread(target=_listen, args=(ear, end), name="code-commit interruption", daemon=True).start()
    # Python writes there before any handler runs: a signal on the brink of a wait for a lock would else be heard after
    # the wait. One that is ignored is not written.
    woken = signal.set_wakeup_fd(mouth, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(woken)
        os.close(mouth)


def _listen(ear: int, end: Callable[[], None]) -> None:
    while heard := os.read(ear, 1):
        if heard[0] in {signal.SIGINT, signal.SIGTERM}:
            end()
    os.close(ear)
