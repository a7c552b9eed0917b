"""What a terminal can show: its width, its colors, and a table that fits it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TextIO

_COLUMNS = 80  # of a terminal whose width is unknown
_NARROWEST = 16  # a narrower column is hard to read


def can_repaint(stream: TextIO | None, environ: Mapping[str, str]) -> bool:
    """Return whether `stream` is a terminal that can repaint a line, by `TERM` in `environ`."""
    if stream is None or stream.closed or not stream.isatty():
        return False
    return environ.get("TERM", "") not in {"", "dumb"}


def may_color(stream: TextIO | None, environ: Mapping[str, str]) -> bool:
    """Return whether `stream` is a terminal with colors, if `NO_COLOR` in `environ` allows them."""
    return can_repaint(stream, environ) and not environ.get("NO_COLOR")


def terminal_columns(environ: Mapping[str, str]) -> int:
    """Return the columns of the terminal: `COLUMNS` in `environ`, else those of stdout.

    Without a terminal, there are 80. `shutil.get_terminal_size` does the same, but is slow to
    import.
    """
    with suppress(ValueError):
        if (columns := int(environ.get("COLUMNS", ""))) > 0:
            return columns
    with suppress(OSError, AttributeError, ValueError):
        stdout = sys.__stdout__
        return os.get_terminal_size(stdout.fileno()).columns or _COLUMNS  # type: ignore[union-attr]
    return _COLUMNS


def align_columns(rows: Sequence[Sequence[str]], columns: int = 0) -> str:
    """Return a table, each column as wide as its widest cell.

    Wrap the last cells if the table exceeds `columns`.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    begin = sum(widths[:-1]) + 2 * len(widths[:-1])
    if max(map(len, lines), default=0) > columns >= begin + _NARROWEST:
        import textwrap

        indent = " " * begin
        lines = [
            textwrap.fill(
                line,
                columns,
                subsequent_indent=indent,
                break_on_hyphens=False,
                break_long_words=False,
            )
            for line in lines
        ]
    return "".join(f"{line}\n" for line in lines)
