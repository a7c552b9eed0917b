"""A process that runs beside the caller."""

from __future__ import annotations

import os
import selectors
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Self

from code_commit_workspace.process.launch import Process

_CHUNK = 4096


class RunningProcess:
    """A process that runs beside the caller: write to `stdin`, read from `stdout` and `stderr`, all unbuffered.

    As a context, it is ended when that is left, with all that it has started. `tampered` then names the files that
    check the project and that were altered meanwhile.
    """

    def __init__(self, process: Process, altered: Callable[[], tuple[str, ...]], held: ExitStack) -> None:
        self.stdin, self.stdout, self.stderr = process.pipes
        self.tampered: tuple[str, ...] = ()
        self._process = process
        self._altered = altered
        self._held: ExitStack | None = held
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait until it has ended and return its exit code; None after a signal.

        Raises:
            TimeoutError: that takes longer than `timeout` seconds.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._lock, selectors.DefaultSelector() as selector:
            if self._held is None:
                return self._process.exit_code
            selector.register(self._process.status, selectors.EVENT_READ)
            while True:
                if not selector.select(None if deadline is None else max(0.0, deadline - time.monotonic())):
                    raise TimeoutError
                data = os.read(self._process.status, _CHUNK)
                if not data:
                    return self._process.exit_code
                self._process.feed_status(data)

    def kill(self) -> None:
        """Begin to end it, from any thread."""
        self._process.kill()

    def close(self) -> None:
        """End it, wait until it is gone, and close its pipes. Calling it again does nothing."""
        self.kill()
        with self._lock:
            held, self._held = self._held, None
            if held is not None:
                held.close()
                self.tampered = self._altered()
