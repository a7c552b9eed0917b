"""Fill templates, list paths, and wrap text to a width without splitting characters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence

from code_commit.plugin_api import printable

_JOINERS = "\u200c\u200d"
_FENCE = "```"
_WORDS = re.compile(r"(?<!\s)(\s*)(\S+)")


def fill(template: str, **values: str) -> str:
    """Return `template` with each `<name>` replaced; inserted text is not searched again."""
    pieces = [template]
    for name, value in values.items():
        pieces = [part for piece in pieces for part in _split(piece, f"<{name}>", value)]
    return "".join(pieces)


def legible(text: str) -> str:
    """Return `text`, such as a path, on one line, with invisible characters escaped."""
    return printable(text, newlines=False)


def plain_lines(text: str) -> list[str]:
    """Return the lines of `text` with single spaces, without code fences and control characters.

    Empty lines are left out.
    """
    clean = "".join(_plain(character) for character in text)
    lines = (" ".join(line.split()) for line in clean.split("\n"))
    return [line for line in lines if line and not line.startswith(_FENCE)]


def columns(text: str) -> int:
    """Return the width of `text` in terminal columns."""
    return sum(map(_columns, text))


def wrap(line: str, width: int, measure: Callable[[str], int] = len) -> list[str]:
    """Break `line` at spaces into lines of at most `width`, in characters or as `measure` counts.

    Longer words are broken too, but not between a character and its combining marks.
    """
    lines: list[str] = []
    current = ""
    for word in line.split():
        if current and measure(current) + 1 + measure(word) <= width:
            current = f"{current} {word}"
            continue
        if current:
            lines.append(current)
        *full_lines, current = _pieces(word, width, measure)
        lines += full_lines
    if current:
        lines.append(current)
    return lines


def folded(line: str, width: int) -> list[str]:
    """Break `line` between words into lines of at most `width` columns, with its indentation.

    A longer word stays whole, and the blanks between the words stay as they are.
    """
    line = line.expandtabs(4).rstrip()
    indent = line[: len(line) - len(line.lstrip())][: width // 2]
    lines: list[str] = []
    current = indent
    for blanks, word in _WORDS.findall(line.lstrip()):
        if current.strip() and columns(current) + columns(blanks) + columns(word) > width:
            lines.append(current)
            current = f"{indent}{word}"
        else:
            current += f"{blanks}{word}"
    return [*lines, current] if current.strip() else lines


def shortened(line: str, width: int) -> str:
    """Return `line`, cut with dots if it is wider than `width` columns."""
    if columns(line) <= width:
        return line
    place = _place(line, 0, width - 3, columns)
    return f"{line[:place].rstrip()}..."


def shown_paths(paths: Sequence[str], *, at_most: int | None = 20) -> str:
    """Return paths for people, one per line; undecodable names are escaped. None means all."""
    return listed([legible(path) for path in paths], at_most=at_most)


def listed(lines: Sequence[str], *, at_most: int | None = 20) -> str:
    """Return `lines` indented, and the number of those beyond `at_most`."""
    shown = [f"  {line}" for line in lines[:at_most]]
    missing = len(lines) - len(shown)
    if missing:
        shown.append(f"  ... and {missing} more")
    return "\n".join(shown)


class _Inserted(str):
    """Text that was inserted."""

    __slots__ = ()


def _split(piece: str, mark: str, value: str) -> list[str]:
    if isinstance(piece, _Inserted):
        return [piece]
    first, *texts = piece.split(mark)
    pieces = [first]
    for text in texts:
        pieces += [_Inserted(value), text]
    return pieces


def _pieces(word: str, width: int, measure: Callable[[str], int]) -> list[str]:
    pieces = []
    start = 0
    while (place := _place(word, start, width, measure)) < len(word):
        pieces.append(word[start:place])
        start = place
    return [*pieces, word[start:]]


def _place(text: str, start: int, width: int, measure: Callable[[str], int]) -> int:
    """Return where to cut `text` after `start`, or its length if the rest fits into `width`."""
    size = 0
    for widest in range(start, len(text)):
        size += measure(text[widest])
        if size > width and widest > start:
            places = range(widest, start, -1)
            return next((at for at in places if not _belongs(text, start, at)), widest)
    return len(text)


def _belongs(text: str, start: int, at: int) -> bool:
    """Return whether the character at `at` combines with the one before it, after `start`."""
    character = text[at]
    before = text[at - 1]
    if _is_flag_letter(character) and _is_flag_letter(before):  # two of them form one flag
        return _flag_letters_before(text, start, at) % 2 == 1
    return _adds_to_another(character) or before in _JOINERS


def _flag_letters_before(text: str, start: int, at: int) -> int:
    first = at
    while first > start and _is_flag_letter(text[first - 1]):
        first -= 1
    return at - first


def _adds_to_another(character: str) -> bool:
    return (
        unicodedata.category(character).startswith("M")
        or character in _JOINERS
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # a skin tone
        or "\u1160" <= character <= "\u11ff"  # a Korean vowel or final consonant
    )


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _columns(character: str) -> int:
    if character.isascii():
        return 1
    if _adds_to_another(character):
        return 0
    if unicodedata.east_asian_width(character) in "WF":
        return 2
    return 1


def _plain(character: str) -> str:
    if character == "\n":
        return "\n"
    if character.isspace():
        return " "
    return character if character in _JOINERS or printable(character) == character else ""
