"""The files in the code that a report is about: their names, and where a text stands in them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from posixpath import basename

_HEADER = re.compile(r"^--- ([^\n]{1,4096}) ---$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Place:
    """Lines of a file, from `line` to `end`, both counted from 1."""

    path: str
    line: int
    end: int


@dataclass(frozen=True)
class CodeFile:
    """A file in the code. Quotations are compared by their words, because reports wrap lines."""

    path: str
    text: str = field(repr=False)

    @cached_property
    def _words(self) -> tuple[str, list[int]]:
        """The text with one blank between words, and where each line begins in it."""
        begins: list[int] = []
        words: list[str] = []
        size = 0
        for line in self.text.splitlines():
            begins.append(size)
            joined = " ".join(line.split())
            if joined:
                words.append(joined)
                size += len(joined) + 1
        return " ".join(words), begins

    def places(self, quotation: str) -> Iterator[Place]:
        """Yield where the words of `quotation` stand."""
        words, begins = self._words
        start = words.find(quotation)
        while start >= 0:
            end = start + len(quotation) - 1
            yield Place(self.path, bisect_right(begins, start), bisect_right(begins, end))
            start = words.find(quotation, end)


class Code:
    """The files of a rollup."""

    def __init__(self, rollup: str) -> None:
        headers = list(_HEADER.finditer(rollup))
        starts = [*(header.start() for header in headers), len(rollup)]
        texts = {
            header[1]: rollup[header.end() + 1 : end]
            for header, end in zip(headers, starts[1:], strict=True)
        }
        self.files = {path: CodeFile(path, text) for path, text in texts.items()}
        self._named: dict[str, list[str]] = {}
        for path in self.files:
            self._named.setdefault(basename(path), []).append(path)

    def path_of(self, word: str) -> str | None:
        """Return the file that `word` names by its path or a unique file name."""
        path = word.removeprefix("./")
        if path in self.files:
            return path
        paths = self._named.get(path, ())
        return paths[0] if len(paths) == 1 else None

    def places(self, quotation: str, most: int) -> list[Place]:
        """Return where a quotation stands; nowhere if that is at more than `most` places."""
        words = " ".join(quotation.split())
        places: list[Place] = []
        for file in self.files.values():
            for place in file.places(words):
                places.append(place)
                if len(places) > most:
                    return []
        return places
