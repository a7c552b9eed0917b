"""The processes of a run that have not ended yet, so that another thread can end them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from code_commit.process.launch import Process


class UnderWay:
    """Safe for several threads. Once `closed`, whatever is added is ended at once."""

    def __init__(self) -> None:
        self.closed = False
        self._processes: set[Process] = set()
        self._lock = threading.Lock()

    @contextmanager
    def holding(self, process: Process) -> Iterator[None]:
        """Count `process` in while the block runs."""
        with self._lock:
            self._processes.add(process)
            closed = self.closed
        try:
            if closed:
                process.kill()
            yield
        finally:
            with self._lock:
                self._processes.discard(process)

    def close(self) -> None:
        """Begin to end all of them."""
        with self._lock:
            self.closed = True
            processes = tuple(self._processes)
        for process in processes:
            process.kill()
