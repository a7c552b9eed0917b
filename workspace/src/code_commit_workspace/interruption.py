"""Protect critical sections from Ctrl-C, SIGTERM and SIGHUP, and react to these signals at once."""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from code_commit_workspace.signals import SIGNALS, note_signal

_NUDGE = signal.SIGURG  # does nothing but interrupt a wait
_NUDGES, _PAUSE = 10, 0.2  # seconds before each
_POLL = 0.2  # seconds; limits each wait: a signal just before it is only noticed after it


@contextmanager
def uninterrupted(*, last: bool = False) -> Iterator[None]:
    """Delay the signals until the end of the block.

    An ignored signal, as in a background job, stays ignored.

    With `last`, drop them: the block is the end of what they would interrupt. A signal mask is not
    enough: another thread may take the signal, and Python still raises in the main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread handles signals
        return
    arrived: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        arrived.append(number)
        if not last:
            note_signal()  # so that a process that hangs does not make the block endless

    heard = (number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN)
    before = {int(number): signal.signal(number, note) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in arrived[: not last]:
            if callable(handler := before[number]):
                handler(number, None)  # without a frame, it raises at once
            else:
                signal.raise_signal(number)


@contextmanager
def call_on_interruption(end: Callable[[], object] = bool) -> Iterator[None]:
    """On one of the signals, call `end` in another thread, and end any wait of this thread: the
    exception follows.

    The exception alone cannot leave a thread pool, which waits for its threads. `end` may be called
    more than once.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread handles signals
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    nudge = signal.signal(_NUDGE, lambda *_: None)
    # Python writes to it before any handler runs. An ignored signal is not written.
    outer = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    watch = threading.Thread(
        target=_watch, args=(reader, end, outer), name="code-commit interruption", daemon=True
    )
    try:
        watch.start()
        yield
    finally:
        signal.set_wakeup_fd(outer)
        signal.signal(_NUDGE, nudge)
        os.close(writer)


def _watch(reader: int, end: Callable[[], object], outer: int) -> None:
    """Call `end`, and end waits of the main thread, which notices a signal just before a wait only
    after the wait.
    """
    nudges = 0
    while True:
        if not select.select([reader], [], [], _PAUSE if nudges else None)[0]:
            nudges -= 1
            signal.pthread_kill(threading.main_thread().ident or 0, _NUDGE)
        elif not (number := os.read(reader, 1)):
            break
        elif number[0] in SIGNALS:
            nudges = _NUDGES
            if outer >= 0:
                os.write(outer, number)  # of an outer block
            end()
    os.close(reader)


def wait_for(thread: threading.Thread) -> None:
    """Wait for the end of `thread`. Ctrl-C ends the wait."""
    while thread.is_alive():
        thread.join(_POLL)
