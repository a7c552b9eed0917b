"""Reduce the output of a process to what a terminal would show of it."""

from __future__ import annotations

import re

_LONGEST_ROW = 64 * 1024  # bytes; any terminal has wrapped it by then, and what has wrapped stays
_TO_START = re.compile(r"\x1b\[[01]?G")
_MOVES = re.compile(r"([\r\b])")
_MOVING = (b"\r", b"\b", b"\x1b[G", b"\x1b[0G", b"\x1b[1G")
_ESCAPE = "\x1b"
_SEQUENCE = re.compile(r"\x1b\[[\d;?]*[a-zA-Z]")
_ERASE = re.compile(r"\x1b\[[012]?K")


def as_on_terminal(output: bytes) -> bytes:
    """Return what a terminal would show of `output`: of a progress bar, the last frame.

    CRLF stays a line end, and colors stay.
    """
    rows = TerminalRows()
    return rows.feed(output) + rows.finish()


class TerminalRows:
    """Takes output in pieces, and returns the rows that nothing can overwrite any more."""

    def __init__(self) -> None:
        self._open_row = b""

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes; return the rows that are complete."""
        text = self._open_row + data
        end = text.rfind(b"\n") + 1
        self._open_row = text[end:]
        complete = _shown(text[:end])
        if len(self._open_row) > _LONGEST_ROW:
            complete += self._shorten()
        return complete

    def finish(self) -> bytes:
        """Return the last row, which has no line end."""
        row, self._open_row = self._open_row, b""
        return _row(row)

    def _shorten(self) -> bytes:
        """Reduce the open row to what can still be seen of it; return it if it is too long."""
        earlier, return_to_start, frame = self._open_row.rpartition(b"\r")
        self._open_row = _row(earlier) + return_to_start + frame
        if len(self._open_row) > _LONGEST_ROW:
            return self.finish()
        return b""


def _shown(rows: bytes) -> bytes:
    """Return complete rows as they look at the end."""
    if not any(moving in rows for moving in _MOVING):
        return rows
    return b"".join(_row(row + b"\n") for row in rows.split(b"\n")[:-1])


def _row(row: bytes) -> bytes:
    """Return one row as it looks after all movements of the cursor in it."""
    text = row.rstrip(b"\r\n")
    if row.endswith(b"\r\n"):
        end = b"\r\n"
    else:
        end = row[len(text) :].replace(b"\r", b"")
    if not any(moving in text for moving in _MOVING):
        return text + end
    decoded = text.decode("utf-8", "surrogateescape")
    cells: list[str] = []
    column = 0
    colored = False
    for piece in _MOVES.split(_TO_START.sub("\r", decoded)):
        if piece == "\r":
            column = 0
        elif piece == "\b":
            column = max(0, column - 1)
        elif piece:
            shown = piece
            colored = colored or _ESCAPE in piece
            if colored:
                shown = _ERASE.sub("", piece)
                is_visible = _SEQUENCE.sub("", shown) != ""
                if column == 0 and (is_visible or shown != piece):
                    cells.clear()  # how wide colored text is remains unknown
                elif not is_visible:
                    continue
            cells[column : column + len(shown)] = shown
            column += len(shown)
    return "".join(cells).encode("utf-8", "surrogateescape") + end
