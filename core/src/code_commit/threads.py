"""Run functions in daemon threads.

Python does not wait for them at exit, unlike for those of `concurrent.futures`.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from code_commit_workspace import STOP

T = TypeVar("T")
_POLL = 0.2  # seconds between looks for a signal
_AFTER_SIGNAL = 5.0  # seconds for a call that begins after a signal
_GRACE = 1.0  # seconds for a call that runs when a signal comes


def run_concurrently(steps: Sequence[Callable[[], T]]) -> list[T | BaseException]:
    """Run all `steps` concurrently; return their results and exceptions in order.

    The caller handles exceptions.

    Each step runs in its own thread with a copy of this context; a single one runs in this thread.

    Raises:
        Interrupted: a signal came. It does not wait for a step that blocks.
    """
    if len(steps) == 1:
        try:
            return [steps[0]()]
        except Exception as error:  # noqa: BLE001 - as with several
            STOP.check()
            return [error]
    results: list[T | BaseException] = [
        RuntimeError("a thread ended without a result") for _ in steps
    ]

    ended: SimpleQueue[int] = SimpleQueue()

    def run_step(index: int, step: Callable[[], T]) -> None:
        try:
            results[index] = step()
        except BaseException as error:  # noqa: BLE001 - passed to the caller
            results[index] = error
        ended.put(index)

    for index, step in enumerate(steps):
        run = contextvars.copy_context().run
        threading.Thread(target=run, args=(run_step, index, step), daemon=True).start()
    for _ in steps:
        STOP.get(ended)
    STOP.check()
    return results


class Worker:
    """A thread that runs functions of plugins one after the other, each for a limited time."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._started = False
        self._work: SimpleQueue[tuple[Callable[[], Any], SimpleQueue[Any]]] = SimpleQueue()

    def call(
        self,
        function: Callable[[], T],
        *,
        seconds: float,
        after_signal: float = _AFTER_SIGNAL,
    ) -> T:
        """Return the result of `function`, which must not raise.

        If a signal came before, it gets at most `after_signal` seconds; if one comes meanwhile, one
        more second.

        Raises:
            TimeoutError: it did not return in time. The worker stays busy with it.
        """
        if not self._started:
            self._started = True
            threading.Thread(target=self._run, name=self._name, daemon=True).start()
        result: SimpleQueue[T] = SimpleQueue()
        self._work.put((function, result))
        began_after_signal = STOP.is_set
        if began_after_signal:
            seconds = min(seconds, after_signal)
        seconds_left = seconds
        is_interrupted = False
        while seconds_left > 0:
            if STOP.is_set and not (began_after_signal or is_interrupted):
                is_interrupted = True
                seconds_left = min(seconds_left, _GRACE)
            pause = min(seconds_left, _POLL)
            with suppress(Empty):
                return result.get(timeout=pause)
            # Counted: a machine that stands still for seconds costs one pause.
            seconds_left -= pause
        if is_interrupted:
            raise TimeoutError("interrupted before it ended")
        raise TimeoutError(f"it did not end within {seconds:g} s")

    def _run(self) -> None:
        while True:
            function, result = self._work.get()
            result.put(function())
