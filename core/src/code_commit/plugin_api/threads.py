"""Run blocking steps, such as model calls and processes, concurrently."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def run_concurrently(steps: Sequence[Callable[[], T]]) -> list[T | BaseException]:
    """Run all `steps` concurrently; return their results and exceptions in order. The caller handles exceptions.

    Each step runs in its own thread with a copy of this context, so that it has its own spans and log numbers. The
    threads are daemons, unlike those of `concurrent.futures`, which Python joins at exit: Ctrl-C ends the process even
    if a step blocks. A single step runs in this thread, where Ctrl-C interrupts it.
    """
    if len(steps) == 1:
        try:
            return [steps[0]()]
        except Exception as error:  # noqa: BLE001 - as with several
            return [error]
    results: list[T | BaseException] = [RuntimeError("a thread ended without a result") for _ in steps]

    def run_step(index: int, step: Callable[[], T]) -> None:
        try:
            results[index] = step()
        except BaseException as error:  # noqa: BLE001 - passed to the caller
            results[index] = error

    threads = [
        threading.Thread(target=contextvars.copy_context().run, args=(run_step, index, step), daemon=True)
        for index, step in enumerate(steps)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
