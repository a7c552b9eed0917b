"""Cancel a call that nobody waits for any more."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


class Cancellation:
    """Ends calls before their answers come. Any thread may set it, once and for good."""

    def __init__(self) -> None:
        self.is_set = False
        self._lock = threading.Lock()
        self._endings: dict[object, Callable[[], object]] = {}

    def set(self) -> None:
        """Cancel the calls under way, and those that begin later."""
        with self._lock:
            self.is_set = True
            endings = list(self._endings.values())
            self._endings.clear()
        for end in endings:
            with suppress(Exception):  # an error of one call must not keep the others under way
                end()

    @contextmanager
    def calling(self, end: Callable[[], object]) -> Iterator[None]:
        """Call `end` once if this is set during the block, or was before."""
        key = object()
        with self._lock:
            is_set = self.is_set
            if not is_set:
                self._endings[key] = end
        if is_set:
            end()
        try:
            yield
        finally:
            with self._lock:
                self._endings.pop(key, None)
