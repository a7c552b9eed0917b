"""Read the progress from a list of todos."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+\[(.)\]")


@dataclass(frozen=True, slots=True)
class Todos:
    """The number of items in a list, those that are not ticked, and all of them as lines."""

    all: int
    open: tuple[str, ...]
    lines: tuple[str, ...] = ()

    @property
    def done(self) -> bool:
        """Return whether there are items and all are ticked."""
        return self.all > 0 and not self.open


def read_todos(text: str) -> Todos:
    """Read the items of a Markdown list: `- [ ] to be done`, `- [x] done`."""
    items = [(found[1], line.strip()) for line in text.split("\n") if (found := _ITEM.match(line))]
    return Todos(
        len(items),
        tuple(line for tick, line in items if tick not in "xX"),
        tuple(line for _, line in items),
    )
