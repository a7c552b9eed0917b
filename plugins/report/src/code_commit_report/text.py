"""Prepare untrusted text for a page: escape it, shorten it, mark errors in build output."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

from markupsafe import Markup

from code_commit.plugin_api import count_of, open_run_file, printable
from code_commit_workspace import as_on_terminal

_ERRORS = 200  # error lines shown from the left-out part of one output
_LARGEST_PROMPT = 4 * 1024 * 1024  # bytes; a larger one is not compared with the previous one
_REPEATED = 1000  # characters; a shorter repetition is shown
# Bytes; of a larger one, only both ends are searched for overwritten text.
_LARGEST_LOG = 4 * 1024 * 1024
_SEARCHED, _LONGEST_LINE = 64 * 1024 * 1024, 64 * 1024  # bytes
_ERROR = re.compile(
    r"\b(errors?|broken|failed|failures?|fatal|panic(ked)?|traceback|\w*exception|\w*error|assertion|"
    r"undefined reference|segmentation fault|no such file|command not found)\b",
    re.IGNORECASE,
)
_WARNING = re.compile(r"\bwarn(ings?)?\b", re.IGNORECASE)
_NO_ERRORS = re.compile(r"\b(0|no) (errors?|broken|failed|failures?|warnings?)\b", re.IGNORECASE)


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


@dataclass(frozen=True, slots=True)
class OutputLine:
    """A line of a build's output."""

    text: str
    mark: Literal["", "error", "warning"]
    number: int = 0  # numbers the marked errors from 1


def read_output(folder: Path, name: str, limit: int) -> list[OutputLine]:
    """Read the output of a build as a terminal would show it, with errors and warnings marked.

    Above `limit` bytes, return head, tail and errors.
    """
    log = read_shown(folder, name, max(limit, _LARGEST_LOG))
    if log is None:
        return []
    if log.left_out:
        shown = read_shown(folder, name, limit) or log
        between = _errors_between(folder, name, limit // 2, shown.left_out)
        return _shortened(
            _on_terminal(shown.head), _on_terminal(shown.tail), shown.left_out, between
        )
    text = _on_terminal(log.head)
    if len(text) <= limit:
        return output_lines(text)
    half = limit // 2
    middle = text[half : len(text) - half]
    between = list(islice(filter(_is_error, middle.split("\n")), _ERRORS))
    return _shortened(text[:half], text[len(text) - half :], len(middle.encode()), between)


def _shortened(head: str, tail: str, left_out: int, errors: Sequence[str]) -> list[OutputLine]:
    but = ", except lines with errors" if errors else ""
    note = f"[… {count_of(left_out, 'byte')} left out{but} …]"
    return output_lines("\n".join([head, note, *errors, tail]))


def _on_terminal(text: str) -> str:
    shown = as_on_terminal(text.encode()).decode("utf-8", "replace")
    return shown.replace("\r\n", "\n")


def output_lines(text: str) -> list[OutputLine]:
    """Mark the lines with errors and warnings."""
    lines, number = [], 0
    for line in text.split("\n"):
        mark = _mark(line)
        number += mark == "error"
        lines.append(OutputLine(line, mark, number if mark == "error" else 0))
    return lines


def _errors_between(folder: Path, name: str, begin: int, size: int) -> list[str]:
    """Return the first error lines in a part of a file; only the beginning of a very long part is
    read.
    """
    found: list[str] = []
    with suppress(OSError), open_run_file(folder, name) as file:
        file.seek(begin)
        left = min(size, _SEARCHED)
        while (
            left > 0 and len(found) < _ERRORS and (line := file.readline(min(left, _LONGEST_LINE)))
        ):
            left -= len(line)
            text = as_on_terminal(line).decode("utf-8", "replace").rstrip("\r\n")
            if _is_error(text):
                found.append(text)
    return found


def _is_error(line: str) -> bool:
    return _mark(line) == "error"


def _mark(line: str) -> Literal["", "error", "warning"]:
    rest = _NO_ERRORS.sub("", line[:2000])
    if _ERROR.search(rest):
        return "error"
    return "warning" if _WARNING.search(rest) else ""
