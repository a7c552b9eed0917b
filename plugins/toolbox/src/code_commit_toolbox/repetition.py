"""Detect a model that repeats itself."""

from __future__ import annotations

import json
from collections.abc import Sequence

from code_commit.plugin_api import ToolCall

NOTICED = 3
"""The number of equal turns in a row at which the model is warned; the next one ends the loop."""

NOTE = (
    "[You have made the same calls three times in a row. "
    "The next time ends your work: do something else.]"
)


class Repetition:
    """Counts turns in a row with the same calls. Equal calls within one turn count once."""

    def __init__(self) -> None:
        self._last: tuple[str, ...] = ()
        self._count = 0

    def count(self, calls: Sequence[ToolCall]) -> int:
        """Add the calls of the next turn; return how many turns in a row had them."""
        keys = tuple(_key(call) for call in calls)
        if keys != self._last:
            self._count = 0
        self._count += 1
        self._last = keys
        return self._count


def _key(call: ToolCall) -> str:
    arguments = call.raw if call.arguments is None else json.dumps(call.arguments, sort_keys=True)
    return f"{call.name} {arguments}"
