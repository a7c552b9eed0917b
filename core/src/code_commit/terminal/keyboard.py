"""The keys that a person presses at a terminal."""

from __future__ import annotations

import codecs
import os
import select
import termios
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import groupby
from operator import itemgetter
from typing import TextIO

from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys

_PASTE = 0.05  # seconds; the lines of a pasted block arrive without a pause
_NEXT_PIECE = 0.01  # seconds
_PIECE = 1 << 16  # bytes
_LONG = 512  # bytes; nobody types as many at once
_LONGEST = 1 << 20
_REPORTS = frozenset({Keys.CPRResponse, Keys.Vt100MouseEvent})  # nobody asked for them
_ENTERS = frozenset({Keys.ControlM, Keys.ControlJ})


class Keyboard(Vt100Input):
    """The keys of a terminal. What arrives at once is one key press: a person cannot type it."""

    def __init__(self, stdin: TextIO) -> None:
        super().__init__(stdin)
        self._presses: list[KeyPress] = []
        self._is_closed = False
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.vt100_parser = Vt100Parser(self._presses.append)

    @property
    def closed(self) -> bool:
        return self._is_closed

    def read_keys(self) -> list[KeyPress]:
        data = self._read()
        self._is_closed = not data
        self.vt100_parser.feed(self._decoder.decode(data))
        return self._taken()

    def _read(self) -> bytes:
        """Return what was typed, or a long paste as a whole: each piece would be drawn."""
        data = b""
        with suppress(OSError):  # the terminal is gone
            data = piece = os.read(self.fileno(), _PIECE)
            while len(piece) > _LONG and len(data) < _LONGEST and self.has_more(_NEXT_PIECE):
                piece = os.read(self.fileno(), _PIECE)
                data += piece
        return data

    def flush_keys(self) -> list[KeyPress]:
        self.vt100_parser.flush()
        return self._taken()

    def drop_typed_keys(self) -> None:
        """Drop what was typed so far, here and in the terminal."""
        clear_typeahead(self)
        with suppress(termios.error):
            termios.tcflush(self.fileno(), termios.TCIFLUSH)

    def has_more(self, seconds: float = _PASTE) -> bool:
        """Return whether more keys follow within `seconds`."""
        return bool(select.select([self.fileno()], [], [], seconds)[0])

    def _taken(self) -> list[KeyPress]:
        """Return the new key presses, with characters that arrived together as one paste."""
        new = [press for press in self._presses if press.key not in _REPORTS]
        self._presses.clear()
        presses: list[KeyPress] = []
        for is_text, group in groupby(_told_apart(new), itemgetter(0)):
            together = [press for _, press in group]
            presses += _pasted(together) if is_text else together
        return presses


def _told_apart(presses: Iterable[KeyPress]) -> Iterator[tuple[bool, KeyPress]]:
    """Yield whether each press is text, with the press. After Escape, it is a command."""
    before: object = None
    for press in presses:
        is_text = not isinstance(press.key, Keys) or press.key in _ENTERS
        yield is_text and before is not Keys.Escape, press
        before = press.key


def _pasted(presses: list[KeyPress]) -> list[KeyPress]:
    """Join characters and the Enters between them into one paste, without the last Enters."""
    last = len(presses)
    while last and presses[last - 1].key in _ENTERS:
        last -= 1
    if last < 2:  # noqa: PLR2004 - one key
        return presses
    text = "".join("\n" if press.key in _ENTERS else press.data for press in presses[:last])
    return [KeyPress(Keys.BracketedPaste, text), *presses[last:]]
