"""Fenced code in Markdown, where a line means nothing but itself."""

from __future__ import annotations

import re

_FENCE = re.compile(r"[ \t]*+(`{3,}+(?![^\n]*`)|~{3,}+)")


class CodeFence:
    """Give it the lines of a text in their order."""

    def __init__(self) -> None:
        self._open = ""

    def holds(self, line: str) -> bool:
        """Tell whether `line` is fenced code, or a fence itself."""
        fence = _FENCE.match(line)
        if not fence:
            return bool(self._open)
        if not self._open:
            self._open = fence[1]
        elif fence[1].startswith(self._open) and not line[fence.end() :].strip():
            self._open = ""
        return True
