"""Ctrl-C and SIGTERM: what they must not cut in half."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
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
