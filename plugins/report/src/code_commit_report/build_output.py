"""Prepare the output of a build for a page: as a terminal shows it, with errors marked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

from code_commit.plugin_api import count_of, open_run_file
from code_commit_report.text import read_shown
from code_commit_workspace import as_on_terminal

_ERRORS = 200  # error lines shown from the left-out part of one output
# Bytes; of a larger output, only both ends are searched for overwritten text.
_LARGEST_LOG = 4 * 1024 * 1024
_SEARCHED = 64 * 1024 * 1024  # bytes
_LONGEST_LINE = 64 * 1024  # bytes
_ERROR = re.compile(
    r"\b(errors?|broken|failed|failures?|fatal|panic(ked)?|traceback|\w*exception|\w*error|assertion|"
    r"undefined reference|segmentation fault|no such file|command not found)\b",
    re.IGNORECASE,
)
_WARNING = re.compile(r"\bwarn(ings?)?\b", re.IGNORECASE)
_NO_ERRORS = re.compile(r"\b(0|no) (errors?|broken|failed|failures?|warnings?)\b", re.IGNORECASE)


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
