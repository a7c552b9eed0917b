"""Prepare untrusted text for a page: escape it and shorten it."""

from __future__ import annotations

import os
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from code_commit.plugin_api import count_of, open_run_file

_LARGEST_PROMPT = 4 * 1024 * 1024  # bytes; a larger one is not compared with the previous one
_REPEATED = 1000  # characters; a shorter repetition is shown
# Control characters, direction changes, invisible characters, lone surrogates, line separators.
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


class _Visible(dict[int, str | None]):
    """A self-filling table for `str.translate` that escapes invisible characters."""

    def __missing__(self, code: int) -> str | None:
        character = chr(code)
        invisible = character not in "\t\n" and unicodedata.category(character) in _INVISIBLE
        escaped = f"\\u{code:04x}" if code > 0xFF else f"\\x{code:02x}"  # noqa: PLR2004 - fits two digits
        self[code] = escaped if invisible else character
        return self[code]


_TABLE = _Visible()


def visible(value: object) -> object:
    """Return `value` with invisible characters escaped; our own markup stays unchanged."""
    return (
        value.translate(_TABLE)
        if isinstance(value, str) and not isinstance(value, Markup)
        else value
    )


@dataclass(frozen=True, slots=True)
class Shown:
    """A text on the page: whole, or head and tail; `left_out` counts the bytes between."""

    head: str
    tail: str = ""
    left_out: int = 0

    @property
    def text(self) -> str:
        """Return the shown text."""
        note = f"\n[… {count_of(self.left_out, 'byte')} left out …]\n"
        return f"{self.head}{note}{self.tail}" if self.left_out else self.head


def read_shown(folder: Path, name: str | None, limit: int) -> Shown | None:
    """Read at most `limit` bytes of a file of the run folder; None if there is no such regular
    file.
    """
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
    return Shown(head.decode("utf-8", "replace"), tail.decode("utf-8", "replace"), size - 2 * half)


def read_new(folder: Path, name: str, earlier: str, limit: int) -> Shown | None:
    """Read the prompt `name` without the parts that the prompt `earlier` also has; at most `limit`
    characters.
    """
    prompt, before = (read_shown(folder, each, _LARGEST_PROMPT) for each in (name, earlier))
    if not prompt or not before or prompt.left_out or before.left_out:
        return read_shown(folder, name, limit)
    text = without_repetitions(prompt.head, before.head, earlier)
    half = limit // 2
    return (
        Shown(text)
        if len(text) <= limit
        else Shown(text[:half], text[-half:], len(text[half:-half].encode()))
    )


def without_repetitions(text: str, earlier: str, name: str) -> str:
    """Replace long parts of `text` that `earlier` also has with a line that gives their size, in
    linear time.
    """
    lines, before = text.splitlines(keepends=True), earlier.splitlines(keepends=True)
    places: dict[str, int] = {}
    for place, line in enumerate(before):
        places.setdefault(line, place)
    shown, begin = [], 0
    while begin < len(lines):
        end, place = begin, places.get(lines[begin], len(before))
        while end < len(lines) and place < len(before) and lines[end] == before[place]:
            end, place = end + 1, place + 1
        count, end = end - begin, max(end, begin + 1)
        part = "".join(lines[begin:end])
        repeated = count and len(part) >= _REPEATED
        shown.append(f"[… {count_of(count, 'line')} as in {name} …]\n" if repeated else part)
        begin = end
    return "".join(shown)
