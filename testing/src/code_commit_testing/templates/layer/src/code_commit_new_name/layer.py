"""The layer: it sees every model call of a run."""

from __future__ import annotations

import threading

from code_commit.plugin_api import Completion, LimitReached, ModelCall, NextLayer


class CallLimit:
    """A `ModelLayer` that ends the run before it makes too many calls."""

    def __init__(self, max_calls: int) -> None:
        self._max_calls = max_calls
        self._calls = 0
        self._lock = threading.Lock()  # a workflow may call from several threads

    def __call__(self, call: ModelCall, next: NextLayer) -> Completion:
        """Count the call and pass it on.

        Raises:
            LimitReached: it is one too many.
        """
        with self._lock:
            self._calls += 1
            if self._calls > self._max_calls:
                raise LimitReached(
                    f"the limit of model calls ({self._max_calls}) is reached",
                    hint="raise max_calls in [plugins.new-name]",
                )
        return next(call)
