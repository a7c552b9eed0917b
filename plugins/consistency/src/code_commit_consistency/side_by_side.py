"""Calls that wait for a service, made at the same time."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def side_by_side(calls: Sequence[Callable[[], T]]) -> list[T | BaseException]:
    """Make all `calls` at once; return what each gave or raised, in their order.

    Each runs in a thread of its own and in a copy of this context. The threads are daemons, unlike those of
    `concurrent.futures`, which Python joins before it exits: Ctrl-C ends the process, whatever a service does.
    A single call is made in this thread, where Ctrl-C reaches it.
    """
    if len(calls) == 1:
        return [calls[0]()]
    results: list[T | BaseException] = [RuntimeError("a thread ended without a result") for _ in calls]

    def keep(index: int, call: Callable[[], T]) -> None:
        try:
            results[index] = call()
        except BaseException as error:  # noqa: BLE001 - whoever called decides, in the thread that matters
            results[index] = error

    threads = [
        threading.Thread(target=contextvars.copy_context().run, args=(keep, index, call), daemon=True)
        for index, call in enumerate(calls)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
