"""What a list of todos tells about the work."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+\[(.)\]")


@dataclass(frozen=True, slots=True)
class Todos:
    """How many items a list has, and which are not ticked."""

    all: int
    open: tuple[str, ...]

    @property
    def done(self) -> bool:
        """Whether there are items, and all are ticked."""
        return self.all > 0 and not self.open


def read_todos(text: str) -> Todos:
    """Read the items of a Markdown list: `- [ ] to be done`, `- [x] done`."""
    items = [(found[1], line.strip()) for line in text.split("\n") if (found := _ITEM.match(line))]
    return Todos(len(items), tuple(line for tick, line in items if tick not in "xX"))
