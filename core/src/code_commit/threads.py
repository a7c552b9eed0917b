"""Run functions in daemon threads.

Python does not wait for them at exit, unlike for those of `concurrent.futures`.
"""

from __future__ import annotations

import contextvars
import math
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from code_commit_workspace.interruption import wait_for

T = TypeVar("T")
_POLL_SECONDS = 0.2  # limits each wait: a signal just before it is only noticed after it


def run_concurrently(steps: Sequence[Callable[[], T]]) -> list[T | BaseException]:
    """Run all `steps` concurrently; return their results and exceptions in order.

    The caller handles exceptions.

    Each step runs in its own thread with a copy of this context. Ctrl-C ends the process even if a
    step blocks. A single step runs in this thread, where Ctrl-C interrupts it.
    """
    if len(steps) == 1:
        try:
            return [steps[0]()]
        except Exception as error:  # noqa: BLE001 - as with several
            return [error]
    results: list[T | BaseException] = [
        RuntimeError("a thread ended without a result") for _ in steps
    ]

    def run_step(index: int, step: Callable[[], T]) -> None:
        try:
            results[index] = step()
        except BaseException as error:  # noqa: BLE001 - passed to the caller
            results[index] = error

    threads = [
        threading.Thread(
            target=contextvars.copy_context().run, args=(run_step, index, step), daemon=True
        )
        for index, step in enumerate(steps)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        wait_for(thread)
    return results


class Worker:
    """A thread that runs functions of plugins one after the other, each for a limited time."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._started = False
        self._work: SimpleQueue[tuple[Callable[[], Any], SimpleQueue[Any]]] = SimpleQueue()

    def call(self, function: Callable[[], T], *, seconds: float) -> T:
        """Return the result of `function`, which must not raise. Ctrl-C ends the wait.

        Raises:
            TimeoutError: it did not return in time. The worker stays busy with it.
        """
        if not self._started:
            thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._started = True  # only now: Ctrl-C before would leave it marked without a thread
            thread.start()
        result: SimpleQueue[T] = SimpleQueue()
        self._work.put((function, result))
        waits = math.ceil(seconds / _POLL_SECONDS)
        for _ in range(waits):  # counted: a machine that stands still for seconds costs one of them
            with suppress(Empty):
                return result.get(timeout=seconds / waits)
        raise TimeoutError(f"it did not end within {seconds:g} s")

    def _run(self) -> None:
        while True:
            function, result = self._work.get()
            result.put(function())
