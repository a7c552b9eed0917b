"""A model layer that waits."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any

from code_commit.plugin_api import Completion, ModelCall, ModelLayer, NextLayer, hookimpl

MINUTE = 60.0


@hookimpl
def code_commit_settings() -> str:
    """The section `[plugins.rate-limit]`."""
    return "code_commit_rate_limit.settings:RateLimitSettings"


@hookimpl
def code_commit_model_layers(settings: Any) -> list[ModelLayer]:
    """One layer, if there is a limit."""
    return [] if settings.calls_per_minute is None else [RateLimit(settings.calls_per_minute)]


class RateLimit:
    """A `ModelLayer` that lets at most `calls` begin within a minute."""

    def __init__(self, calls: int) -> None:
        self._begins: deque[float] = deque(maxlen=calls)
        self._lock = threading.Lock()

    def __call__(self, call: ModelCall, next: NextLayer) -> Completion:
        """Wait for this call's turn, then pass it on."""
        if wait := self._wait(time.monotonic()):
            call.wait(wait)
        return next(call)

    def _wait(self, now: float) -> float:
        """Take the next turn; return the seconds until then."""
        with self._lock:
            full = len(self._begins) == self._begins.maxlen
            begin = max(now, self._begins[0] + MINUTE) if full else now
            self._begins.append(begin)
        return begin - now
