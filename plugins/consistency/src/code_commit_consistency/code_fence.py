"""Recognize fenced code in Markdown."""

from __future__ import annotations

import re

_FENCE = re.compile(r"[ \t]*+(`{3,}+(?![^\n]*`)|~{3,}+)")


class CodeFence:
    """Recognizes fenced lines. Pass it the lines of a text in order."""

    def __init__(self) -> None:
        self._open = ""

    def contains(self, line: str) -> bool:
        """Return whether `line` is fenced code or a fence."""
        fence = _FENCE.match(line)
        if not fence:
            return bool(self._open)
        if not self._open:
            self._open = fence[1]
        elif fence[1].startswith(self._open) and not line[fence.end() :].strip():
            self._open = ""
        return True
