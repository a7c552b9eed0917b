"""Raise KeyboardInterrupt on SIGINT, SIGTERM and SIGHUP, at a moment when it ends what the main
thread does.
"""

from __future__ import annotations

import atexit
import math
import os
import signal
import sys
import time
from collections.abc import Callable
from types import CodeType, FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Code that an exception between two of its steps would leave half done: a lock locked, a process
# unknown, the end of a block skipped, the handlers of `uninterrupted` half set (which is why `enum`
# is here: `signal` calls it).
_LIBRARY = ("contextlib", "enum", "queue", "signal", "subprocess", "threading", "weakref")
_NOT_IN = {
    "<frozen importlib._bootstrap>",
    *(f"{os.path.dirname(os.__file__)}/{name}.py" for name in _LIBRARY),  # noqa: PTH120 - pathlib costs
    *(f"{os.path.dirname(__file__)}/{name}.py" for name in ("signals", "interruption")),  # noqa: PTH120
}
# Functions there that leave nothing half done.
_INTERRUPTIBLE = {"wait", "join", "_wait_for_tstate_lock", "inner"}
_PAUSE, _PAUSES = 0.002, 500  # seconds before the next try, and tries
_CONSEQUENCES = 2.0  # seconds

_arrived = -math.inf  # when the latest signal did
_latest = -math.inf  # the same, also where it is held back


def raise_on_signals(before: Callable[[], object]) -> None:
    """From now on, call `before` and raise KeyboardInterrupt on each signal.

    An ignored signal stays ignored.

    Between two steps of the import system or of a library's lock, the exception would leave the
    lock locked, and other threads would wait forever. In a callback or a `__del__`, it would be
    dropped. It is raised a little later instead, or at once in a call that blocks.
    """
    tries = 0
    latest: tuple[FrameType, int] | None = None  # the frame and the instruction of the latest try

    def interrupt(number: int, frame: FrameType | None) -> None:
        global _arrived
        nonlocal tries, latest
        before()
        note_signal()
        _arrived, tries = time.monotonic(), tries + 1
        here = (
            (frame, frame.f_lasti)
            if frame is not None and _is_between_steps(frame.f_code)
            else None
        )
        if here and here != latest and tries < _PAUSES:
            latest = here
            _repeat(number)
        else:
            tries, latest = 0, None
            raise KeyboardInterrupt

    def dropped(unraisable: sys.UnraisableHookArgs) -> None:
        if issubclass(unraisable.exc_type, KeyboardInterrupt) and signaled():
            _repeat(signal.SIGINT)
        else:
            report(unraisable)

    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, interrupt)
            # Later, Python restores the default.
            atexit.register(signal.signal, number, signal.SIG_IGN)
    atexit.register(signal.signal, signal.SIGALRM, signal.SIG_IGN)  # of `_repeat`
    report, sys.unraisablehook = sys.unraisablehook, dropped


def signaled() -> bool:
    """Whether a signal came so recently that an error now is its consequence: libraries replace its
    exception.
    """
    return time.monotonic() - _arrived < _CONSEQUENCES


def note_signal() -> None:
    """Note that a signal came just now, even if its exception comes later."""
    global _latest  # noqa: PLW0603 - one process has one
    _latest = time.monotonic()


def latest_signal() -> float:
    """Return when the latest signal came, by `time.monotonic`; minus infinity if none did."""
    return _latest


def forget_partial_imports() -> None:
    """Forget the submodules of packages whose import failed.

    Otherwise, the next import would not bind their names.
    """
    for name in list(sys.modules):
        if "." in name and name.rpartition(".")[0] not in sys.modules:
            del sys.modules[name]


def _is_between_steps(code: CodeType) -> bool:
    return code.co_filename in _NOT_IN and code.co_name not in _INTERRUPTIBLE


def _repeat(number: int) -> None:
    """Call the handler of `number` again soon, with the frame of that moment."""

    def again(_number: int, frame: FrameType | None) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        handler = signal.getsignal(number)
        if callable(handler):
            handler(number, frame)

    signal.signal(signal.SIGALRM, again)
    # More than once: an alarm just before a wait is only noticed after it.
    signal.setitimer(signal.ITIMER_REAL, _PAUSE, 10 * _PAUSE)
