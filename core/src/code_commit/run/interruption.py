"""Ctrl-C and SIGTERM: what they have to end."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


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
