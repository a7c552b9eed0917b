"""Prepare untrusted text for a page: escape it and shorten it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from code_commit.plugin_api import RunTexts, count_of, open_run_file, printable

_LARGEST_PROMPT = 4 * 1024 * 1024  # bytes; a larger one is not compared with the previous one
_REPEATED = 1000  # characters; a shorter repetition is shown


def visible(value: object) -> object:
    """Return `value` with invisible characters escaped; our own markup stays unchanged."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return printable(value)
    return value


@dataclass(frozen=True, slots=True)
class Shown:
    """A text on the page: whole, or head and tail; `left_out` counts the bytes between."""

    head: str
    tail: str = ""
    left_out: int = 0

    @property
    def text(self) -> str:
        """Return the shown text."""
        if not self.left_out:
            return self.head
        note = f"[… {count_of(self.left_out, 'byte')} left out …]"
        return f"{self.head}\n{note}\n{self.tail}"


def read_shown(folder: Path, name: str | None, limit: int) -> Shown | None:
    """Read at most `limit` bytes of a file of the run folder; None without such a regular file."""
    try:
        with open_run_file(folder, name or "") as file:
            size = os.fstat(file.fileno()).st_size
            if size <= limit:
                return Shown(file.read(limit).decode("utf-8", "replace"))
            half = limit // 2
            head = file.read(half)
            file.seek(size - half)
            tail = file.read(half)
    except (OSError, ValueError):
        return None
    return _head_and_tail(head, tail, size)


def read_prompt(texts: RunTexts, name: str, limit: int, earlier: str = "") -> Shown | None:
    """Read at most `limit` characters of a prompt; None without such a file.

    Parts that the prompt `earlier` also has are left out.
    """
    try:
        prompt = texts.read(name)
    except (OSError, ValueError):
        return None
    before = b""
    with suppress(OSError, ValueError):
        before = texts.read(earlier)
    if before and max(len(prompt), len(before)) <= _LARGEST_PROMPT:
        text = prompt.decode("utf-8", "replace")
        prompt = without_repetitions(text, before.decode("utf-8", "replace"), earlier).encode()
    if len(prompt) <= limit:
        return Shown(prompt.decode("utf-8", "replace"))
    half = limit // 2
    return _head_and_tail(prompt[:half], prompt[-half:], len(prompt))


def _head_and_tail(head: bytes, tail: bytes, size: int) -> Shown:
    return Shown(
        head=head.decode("utf-8", "replace"),
        tail=tail.decode("utf-8", "replace"),
        left_out=size - len(head) - len(tail),
    )


def without_repetitions(text: str, earlier: str, name: str) -> str:
    """Replace long parts of `text` that `earlier` also has by a line with their size.

    `name` is the name of `earlier`. Takes linear time.
    """
    lines = text.splitlines(keepends=True)
    before = earlier.splitlines(keepends=True)
    places: dict[str, int] = {}
    for place, line in enumerate(before):
        places.setdefault(line, place)
    shown = []
    begin = 0
    while begin < len(lines):
        place = places.get(lines[begin], len(before))
        count = _equal_lines(lines, begin, before, place)
        end = begin + max(count, 1)
        part = "".join(lines[begin:end])
        if count and len(part) >= _REPEATED:
            part = f"[… {count_of(count, 'line')} as in {name} …]\n"
        shown.append(part)
        begin = end
    return "".join(shown)


def _equal_lines(lines: Sequence[str], begin: int, before: Sequence[str], place: int) -> int:
    """Return how many `lines` from `begin` on equal those of `before` from `place` on."""
    count = 0
    while begin + count < len(lines) and place + count < len(before):
        if lines[begin + count] != before[place + count]:
            break
        count += 1
    return count
