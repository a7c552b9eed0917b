"""What a model wrote, as lines of a bounded width: wrapped, never cut, least of all inside of a character."""

from __future__ import annotations

import unicodedata

_JOINERS = "\u200c\u200d"
_FENCE = "```"


def legible(text: str) -> str:
    """Return `text`, a path perhaps, with what is no character escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


def plain_lines(text: str) -> list[str]:
    """Return the lines of `text` with single blanks, without empty lines, code fences and control characters."""
    clean = "".join(_plain(character) for character in text)
    lines = (" ".join(line.split()) for line in clean.split("\n"))
    return [line for line in lines if line and not line.startswith(_FENCE)]


def wrap(line: str, width: int) -> list[str]:
    """Return `line` broken at blanks into lines of at most `width` characters.

    A word that is longer is broken too, but not between a character and the marks that belong to it.
    """
    lines: list[str] = []
    current = ""
    for word in line.split():
        if current and len(current) + 1 + len(word) <= width:
            current = f"{current} {word}"
            continue
        if current:
            lines.append(current)
        *whole, current = _pieces(word, width)
        lines += whole
    return [*lines, current] if current else lines


def _pieces(word: str, width: int) -> list[str]:
    pieces = []
    while len(word) > width:
        place = next((at for at in range(width, 0, -1) if not _belongs(word, at)), width)
        pieces.append(word[:place])
        word = word[place:]
    return [*pieces, word]


def _belongs(word: str, at: int) -> bool:
    """Whether the character at `at` is shown together with the one before it."""
    character = word[at]
    return unicodedata.category(character).startswith("M") or character in _JOINERS or word[at - 1] in _JOINERS


def _plain(character: str) -> str:
    if character == "\n":
        return "\n"
    if character.isspace():
        return " "
    return character if character.isprintable() or character in _JOINERS else ""
