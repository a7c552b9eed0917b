"""Steps that wait (for a service, for a process), taken at the same time."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def run_concurrently(steps: Sequence[Callable[[], T]]) -> list[T | BaseException]:
    """Take all `steps` at once; return what each gave or raised, in their order.

    Each runs in a thread of its own and in a copy of this context, so that its spans and the numbers of its logs are
    its own. The threads are daemons, unlike those of `concurrent.futures`, which Python joins before it exits: Ctrl-C
    ends the process, whatever a step waits for. A single step is taken in this thread, where Ctrl-C reaches it.

    What a step raised stands in its place: whoever called decides, in the thread that matters.
    """
    if len(steps) == 1:
        try:
            return [steps[0]()]
        except Exception as error:  # noqa: BLE001 - as with several
            return [error]
    results: list[T | BaseException] = [RuntimeError("a thread ended without a result") for _ in steps]

    def keep(index: int, step: Callable[[], T]) -> None:
        try:
            results[index] = step()
        except BaseException as error:  # noqa: BLE001 - it has to reach the thread that waits
            results[index] = error

    threads = [
        threading.Thread(target=contextvars.copy_context().run, args=(keep, index, step), daemon=True)
        for index, step in enumerate(steps)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
