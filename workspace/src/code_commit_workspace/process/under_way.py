"""Keep track of running processes, so that another thread can end them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from code_commit_workspace.process.launch import Process


class UnderWay:
    """A thread-safe set of processes.

    Once it is `closed`, each process that is added is ended at once.
    """

    def __init__(self) -> None:
        self.closed = False
        self._processes: set[Process] = set()
        self._lock = threading.Lock()
        self._over = threading.Condition(self._lock)

    @contextmanager
    def holding(self, process: Process) -> Iterator[None]:
        """Keep `process` in the set during the block."""
        with self._lock:
            self._processes.add(process)
            closed = self.closed
        try:
            if closed:
                process.kill()
            yield
        finally:
            with self._over:
                self._processes.discard(process)
                self._over.notify_all()

    def close(self) -> None:
        """Start ending all processes, now and later."""
        with self._lock:
            self.closed = True
            processes = tuple(self._processes)
        for process in processes:
            process.kill()

    def wait_until_over(self, seconds: float) -> bool:
        """Wait until all have ended; return False after `seconds`."""
        with self._over:
            return self._over.wait_for(lambda: not self._processes, seconds)
