"""Read the progress from a todo list."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+\[(.)\]")


@dataclass(frozen=True, slots=True)
class Todos:
    """The items of a list as lines, and those of them that are not ticked."""

    lines: tuple[str, ...]
    open: tuple[str, ...]

    @property
    def all(self) -> int:
        """Return the number of items."""
        return len(self.lines)

    @property
    def ticked(self) -> int:
        """Return the number of ticked items."""
        return len(self.lines) - len(self.open)

    @property
    def done(self) -> bool:
        """Return whether there are items and all are ticked."""
        return bool(self.lines) and not self.open


def read_todos(text: str) -> Todos:
    """Read the items of a Markdown list: `- [ ] to be done`, `- [x] done`."""
    lines = []
    open_lines = []
    for line in text.split("\n"):
        match = _ITEM.match(line)
        if match is None:
            continue
        lines.append(line.strip())
        if match[1] not in "xX":
            open_lines.append(line.strip())
    return Todos(tuple(lines), tuple(open_lines))
