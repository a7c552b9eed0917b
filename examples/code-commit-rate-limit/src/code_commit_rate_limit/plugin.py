"""A model layer that limits the rate of calls."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any

from code_commit.plugin_api import Completion, ModelCall, ModelLayer, NextLayer, hookimpl

MINUTE = 60.0


@hookimpl
def code_commit_settings() -> str:
    """Return the model of the section `[plugins.rate-limit]`."""
    return "code_commit_rate_limit.settings:RateLimitSettings"


@hookimpl
def code_commit_model_layers(settings: Any) -> list[ModelLayer]:
    """Return one layer, if there is a limit."""
    return [] if settings.calls_per_minute is None else [RateLimit(settings.calls_per_minute)]


class RateLimit:
    """A `ModelLayer` that starts at most `calls` calls per minute."""

    def __init__(self, calls: int) -> None:
        self._starts: deque[float] = deque(maxlen=calls)
        self._lock = threading.Lock()

    def __call__(self, call: ModelCall, next: NextLayer) -> Completion:
        """Wait until this call may start, then pass it on."""
        if wait := self._wait(time.monotonic()):
            call.wait(wait)
        return next(call)

    def _wait(self, now: float) -> float:
        """Reserve the next start time; return the seconds until then."""
        with self._lock:
            full = len(self._starts) == self._starts.maxlen
            start = max(now, self._starts[0] + MINUTE) if full else now
            self._starts.append(start)
        return start - now
