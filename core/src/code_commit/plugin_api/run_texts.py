"""Read whole texts of a run folder, whose files refer to lines of each other."""

from __future__ import annotations

import io
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from code_commit.run_folder.output_folder import plain_name
from code_commit.run_folder.stored_text import HEADER
from code_commit_workspace import open_regular

# Limits for a hostile run folder.
_LARGEST = 256 * 1024 * 1024  # bytes of a text that is not in one file
_MOST_STEPS = 200_000  # from part to part
_REFERENCE = re.compile(rb"^\[lines (\d{1,18})-(\d{1,18}) of ([^\n]+)\]$", re.MULTILINE)
_ESCAPED = re.compile(rb"^\\(?=\\*\[lines )", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a text: `data`, or the lines of another file from `first` on."""

    lines: int
    data: bytes = b""
    name: str = ""
    first: int = 0


class RunTexts:
    """Reads whole texts of one run folder, which is untrusted. It keeps what it has read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, list[_Part]] = {}

    def read(self, name: str) -> bytes:
        """Return the whole text of a file.

        Raises:
            OSError: a file cannot be read, or is not a regular file.
            ValueError: a name is not that of a file in a run folder, or the text is not whole.
        """
        texts: list[bytes] = []
        size = 0
        steps = 0
        parts: list[_Part] = list(reversed(self._parts(name)))
        while parts:
            part = parts.pop()
            if part.name:
                steps += len(self._parts(part.name))
                parts += reversed(list(self._slice(part)))
            else:
                texts.append(part.data)
                size += len(part.data)
            if steps and (steps > _MOST_STEPS or size > _LARGEST):
                raise ValueError(f"{name} stands for too many lines of other files")
        return b"".join(texts)

    def _slice(self, wanted: _Part) -> Iterator[_Part]:
        """Yield the parts of a file that have the `wanted` lines."""
        last = wanted.first + wanted.lines - 1
        begin = 1  # the number of the first line of a part
        for part in self._parts(wanted.name):
            end = begin + part.lines - 1
            skipped = max(wanted.first - begin, 0)
            count = min(last, end) - max(wanted.first, begin) + 1
            if count == part.lines:
                yield part
            elif count > 0 and part.name:
                yield _Part(count, name=part.name, first=part.first + skipped)
            elif count > 0:
                yield _Part(count, data=_lines(part.data, skipped, count))
            begin = end + 1
        if last >= begin:
            raise ValueError(f"{wanted.name} has no line {last}")

    def _parts(self, name: str) -> list[_Part]:
        if name not in self._files:
            with open_regular(self._folder / plain_name(name)) as file:
                self._files[name] = list(_parts_of(file.read()))
        return self._files[name]


def _parts_of(stored: bytes) -> Iterator[_Part]:
    if not stored.startswith(HEADER):
        yield _literal(stored)
        return
    begin = len(HEADER)
    for reference in _REFERENCE.finditer(stored, begin):
        if reference.start() > begin:
            yield _literal(_ESCAPED.sub(b"", stored[begin : reference.start()]))
        first, last = int(reference[1]), int(reference[2])
        if not 0 < first <= last:
            raise ValueError(f"no lines: {reference[0]!r}")
        yield _Part(last - first + 1, name=reference[3].decode(), first=first)
        begin = reference.end() + 1
    if begin < len(stored):
        yield _literal(_ESCAPED.sub(b"", stored[begin:]))


def _literal(data: bytes) -> _Part:
    return _Part(data.count(b"\n") + (not data.endswith(b"\n")), data=data)


def _lines(data: bytes, skipped: int, count: int) -> bytes:
    """Return `count` lines of `data` after the first ones."""
    stream = io.BytesIO(data)
    deque(islice(stream, skipped), maxlen=0)
    begin = stream.tell()
    deque(islice(stream, count), maxlen=0)
    return data[begin : stream.tell()]
