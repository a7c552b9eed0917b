"""Print the text of a reply as it arrives, and break lines between words."""

from __future__ import annotations

import re
from collections.abc import Callable

_BLANK_LINES = re.compile(r"\A\s*\n")
_PIECE = re.compile(r"\n|[^\S\n]+|\S+")


class ReplyPrinter:
    """Prints one reply, below the name of the `speaker` if there is one.

    `clean` makes a piece of text safe to print. With `columns`, stdout is a terminal that can move
    the cursor: a word that turns out not to fit moves to the next line.
    """

    def __init__(
        self,
        write: Callable[[str], None],
        clean: Callable[[str], str],
        *,
        speaker: str = "",
        columns: int = 0,
    ) -> None:
        self._write = write
        self._clean = clean
        self._heading = f" {speaker} says:\n" if speaker else ""
        self._last = columns - 1  # a cursor behind the last column would be nowhere
        self._begun = False
        self._indent = ""  # of the first line
        self._column = 0
        self._word = ""  # the last one, if it may go on
        self._is_broken = False  # the line begins at a line break of ours

    def __call__(self, text: str) -> None:
        """Print what arrived next."""
        if not self._begun:
            text = _BLANK_LINES.sub("", self._indent + text)
            if not text.strip():
                self._indent = text
                return
            self._begun = True
            self._write(self._heading)
        text = self._clean(text)
        if self._last > 0:
            text = "".join(map(self._broken, _PIECE.findall(text)))
        self._write(text)

    def _broken(self, piece: str) -> str:
        """Return a word, blanks or a line end, with a line break before it if it does not fit."""
        if piece == "\n":
            self._column = 0
            self._word = ""
            self._is_broken = False
            return piece
        size = cells(piece)
        if piece.isspace():
            self._word = ""
            if self._is_broken and self._column == 0:
                return ""
            if self._column + size > self._last:
                self._column = 0
                self._is_broken = True
                return "\n"
            self._column += size
            return piece
        printed = cells(self._word)
        self._word += piece
        if self._column + size <= self._last or self._column == printed:
            self._column += size
            return piece
        self._column = printed + size
        back = f"\x1b[{printed}D\x1b[K" if printed else ""
        return f"{back}\n{self._word}"


def cells(text: str) -> int:
    """Return how many columns of a terminal `text` takes; a tab counts as eight."""
    if text.isascii():
        return len(text) + 7 * text.count("\t")
    from rich.cells import cell_len

    return cell_len(text.replace("\t", " " * 8))
