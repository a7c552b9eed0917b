"""How far a streamed reply is: its tokens, its time, and the file that its text writes."""

from __future__ import annotations

import re
import time

from code_commit.plugin_api.event import CallProgress
from code_commit.plugin_api.tokens import estimate_tokens

_EVENT_SECONDS = 1.0  # between events for programs
_SAMPLE = 1024  # characters, of which the tokens are counted
# A line that begins or ends a file in a response.
_FENCE = re.compile(r"^\^\^\^(.{1,999})\n", re.MULTILINE)
_LONGEST_LINE = 1000  # characters of a line that are looked at


class ReplyProgress:
    """Counts what arrives of one try of a call.

    `tokens` is an estimate, which includes thinking.
    """

    def __init__(self, number: int) -> None:
        self.tokens = 0
        self._number = number
        self._characters = 0
        self._file = ""
        self._line = ""  # the beginning of an unfinished line
        self._began: float | None = None
        self._reported = 0.0

    def restart(self) -> None:
        """Forget the file: the text up to here was thinking."""
        self._file = ""
        self._line = ""

    def add(self, text: str, arrived: str) -> None:
        """Count all that arrived, and look for the next file in the visible `text` of it."""
        if self._began is None:
            self._began = time.monotonic()
        sample = arrived[:_SAMPLE]
        if sample:
            self.tokens += round(estimate_tokens(sample) * len(arrived) / len(sample))
        self._characters += len(arrived)
        for match in _FENCE.findall(self._line + text):
            fence = match.strip()
            if fence == "end":
                self._file = ""
            elif fence != "delete":
                self._file = fence
        self._line = (self._line + text).rpartition("\n")[2][:_LONGEST_LINE]

    def event(self, *, thinking: bool, printed: bool) -> CallProgress:
        """Return the event that tells how far the reply is."""
        began = time.monotonic() if self._began is None else self._began
        return CallProgress(
            number=self._number,
            tokens=self.tokens,
            characters=self._characters,
            seconds=round(time.monotonic() - began, 3),
            thinking=thinking,
            file=self._file or None,
            printed=printed,
        )

    def is_due(self) -> bool:
        """Return whether programs get an event now: at most one a second."""
        now = time.monotonic()
        if now - self._reported < _EVENT_SECONDS:
            return False
        self._reported = now
        return True
