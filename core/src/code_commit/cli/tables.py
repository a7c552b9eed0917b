"""How commands print lists: columns for people, one JSON document for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from code_commit_workspace.terminal import printable


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """Print columns, each as wide as its widest cell."""
    shown = _shown(rows)
    widths = _widths(shown)
    for row in shown:
        print_line("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)))


def width_of(rows: Sequence[Sequence[str]]) -> int:
    """Return how many characters wide the columns are."""
    widths = _widths(_shown(rows))
    return sum(widths) + 2 * (len(widths) - 1)


def _shown(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    return [[printable(cell, newlines=False) for cell in row] for row in rows]


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def print_line(line: str) -> None:
    """Print a line that cannot command the terminal."""
    sys.stdout.write(printable(line.rstrip()) + "\n")


def print_document(document: object) -> None:
    """Print the one JSON document of a command."""
    sys.stdout.write(json.dumps(document, indent=2) + "\n")
