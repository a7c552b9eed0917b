"""Ids that derive from the run, so that exporting it twice creates no second trace."""

from __future__ import annotations

import hashlib
import itertools

from opentelemetry.sdk.trace.id_generator import IdGenerator


class RunIds(IdGenerator):
    """Derives the trace id from the run's name and start, and span ids also from their position."""

    def __init__(self, run: str, started: float) -> None:
        self._seed = f"{run} {started:.6f}"
        self._numbers = itertools.count(1)

    def generate_trace_id(self) -> int:
        """Return 128 bits."""
        return self._bits("trace", 16)

    def generate_span_id(self) -> int:
        """Return 64 bits."""
        return self._bits(f"span {next(self._numbers)}", 8)

    def _bits(self, purpose: str, size: int) -> int:
        digest = hashlib.sha256(f"{self._seed} {purpose}".encode()).digest()
        return int.from_bytes(digest[:size]) or 1  # zero is not a valid id
