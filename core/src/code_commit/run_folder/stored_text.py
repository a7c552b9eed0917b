"""Store a text once: a file of a run refers to lines that another file of that run has.

A text that repeats nothing is stored as it is. Another one is stored below `HEADER`; in it, a line
such as `[lines 1-80 of 1-initial-query.txt]` stands for these lines of the whole text of that file.
A line of the text itself that looks like one gets a backslash.
"""

from __future__ import annotations

import hashlib
import os
import re
from array import array
from collections.abc import Callable
from dataclasses import dataclass

HEADER = (
    b'[A line such as "[lines 1-80 of NAME]" stands for these lines of another file in this '
    b"folder. They are counted in its whole text.]\n"
)
_LEAST = 8 * 1024  # bytes; a shorter repetition is stored again, which is easier to read
# Where a piece of a prompt begins: a message, a file, or a label and what follows it.
_HEAD = re.compile(rb"\n(?:(?==== |--- )|\[[^\n]*\]\n)")
_LABEL = re.compile(rb"\n*+\[[^\n]*\]\n")
_LOOKS_LIKE_ONE = re.compile(rb"^\\*\[lines ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Pieces:
    """The pieces of a text: their digests, and where each begins, in bytes and in lines.

    Both lists of places also have the end of the text.
    """

    digests: array[int]
    places: array[int]
    lines: array[int]


class StoredTexts:
    """The texts that files of a run have. It is not thread-safe."""

    def __init__(self) -> None:
        self._key = os.urandom(16)  # a text that somebody else wrote cannot have a known digest
        self._texts: list[tuple[str, _Pieces]] = []
        # The first and the latest text with a piece, and the number of the piece in it.
        self._first: dict[int, tuple[int, int]] = {}
        self._latest: dict[int, tuple[int, int]] = {}

    def store(self, name: str, text: bytes, write: Callable[[str, bytes], object]) -> None:
        """Write the file `name`, without long parts of `text` that texts before it have."""
        pieces = self._cut(text)
        write(name, self._without_repetitions(text, pieces))
        other = len(self._texts)
        self._texts.append((name, pieces))
        for number, digest in enumerate(pieces.digests):
            self._first.setdefault(digest, (other, number))
            self._latest[digest] = (other, number)

    def _without_repetitions(self, text: bytes, pieces: _Pieces) -> bytes:
        parts: list[bytes] = []
        begin = number = 0  # the first piece that is not in `parts`; the next one to look up
        while number < len(pieces.digests):
            other, first, count = self._longest(pieces, number)
            # A label stays with what it is about, which is new.
            while count and _LABEL.fullmatch(
                text, pieces.places[number + count - 1], pieces.places[number + count]
            ):
                count -= 1
            end = number + count
            if pieces.places[end] - pieces.places[number] >= _LEAST:
                name, theirs = self._texts[other]
                lines = f"{theirs.lines[first] + 1}-{theirs.lines[first + count]}"
                parts.append(_escaped(text[pieces.places[begin] : pieces.places[number]]))
                parts.append(f"[lines {lines} of {name}]\n".encode())
                begin = end
            number = max(end, number + 1)
        if not parts and not text.startswith(HEADER):
            return text
        parts.append(_escaped(text[pieces.places[begin] :]))
        return HEADER + b"".join(parts)

    def _cut(self, text: bytes) -> _Pieces:
        places = array("Q", [0])
        for head in _HEAD.finditer(text):
            begin = head.start()
            while begin > places[-1] and text[begin - 1 : begin] == b"\n":
                begin -= 1  # blank lines before a head belong to it
            places.append(begin + 1)
            if head.end() > head.start() + 1:
                places.append(head.end())
        if places[-1] < len(text):
            places.append(len(text))
        digests = array("Q")
        lines = array("Q", [0])
        view = memoryview(text)
        for number in range(len(places) - 1):
            begin, end = places[number], places[number + 1]
            digest = hashlib.blake2b(view[begin:end], digest_size=8, key=self._key).digest()
            digests.append(int.from_bytes(digest))
            lines.append(lines[-1] + text.count(b"\n", begin, end))
        if not text.endswith(b"\n"):
            lines[-1] += 1
        return _Pieces(digests, places, lines)

    def _longest(self, pieces: _Pieces, number: int) -> tuple[int, int, int]:
        """Return where most pieces from `number` on are: a text, the first one in it, how many."""
        longest = (0, 0, 0)
        for places in (self._first, self._latest):
            if place := places.get(pieces.digests[number]):
                text, first = place
                count = _equal(pieces.digests, number, self._texts[text][1].digests, first)
                if count > longest[2]:
                    longest = (text, first, count)
        return longest


def _equal(mine: array[int], number: int, theirs: array[int], first: int) -> int:
    """Return how many elements of `mine` from `number` on equal those of `theirs` from `first`."""
    count = 0
    for position in range(number, min(len(mine), number + len(theirs) - first)):
        if mine[position] != theirs[first + count]:
            break
        count += 1
    return count


def _escaped(text: bytes) -> bytes:
    return _LOOKS_LIKE_ONE.sub(lambda match: b"\\" + match[0], text)
