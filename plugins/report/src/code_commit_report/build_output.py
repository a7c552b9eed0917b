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
_SEARCHED = 4 * 1024 * 1024  # bytes of what is left out
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


def read_output(folder: Path, name: str, limit: int, *, passed: bool) -> list[OutputLine]:
    """Read the output of a build as a terminal would show it, with errors and warnings marked.

    Above `limit` bytes, return head and tail, and between them errors, unless the build `passed`.
    """
    log = read_shown(folder, name, max(limit, _LARGEST_LOG))
    if log is None:
        return []
    half = limit // 2
    if log.left_out:
        ends = read_shown(folder, name, limit) or log
        between = "" if passed else _read_part(folder, name, half, ends.left_out)
        head = _on_terminal(ends.head)
        tail = _on_terminal(ends.tail)
        return _shortened(head, tail, ends.left_out, _errors_in(between))
    text = _on_terminal(log.head)
    if len(text) <= limit:
        return output_lines(text)
    end = len(text) - half
    middle = text[half:end]
    errors = [] if passed else _errors_in(middle)
    return _shortened(text[:half], text[end:], len(middle.encode()), errors)


def _shortened(head: str, tail: str, left_out: int, errors: Sequence[str]) -> list[OutputLine]:
    but = ", except lines with errors" if errors else ""
    note = f"[… {count_of(left_out, 'byte')} left out{but} …]"
    return output_lines("\n".join([head, note, *errors, tail]))


def _on_terminal(text: str) -> str:
    shown = as_on_terminal(text.encode()).decode("utf-8", "replace")
    return shown.replace("\r\n", "\n")


def output_lines(text: str) -> list[OutputLine]:
    """Mark the lines with errors and warnings."""
    lines = []
    errors = 0
    for line in text.split("\n"):
        mark = _mark(line)
        if mark == "error":
            errors += 1
            lines.append(OutputLine(line, mark, errors))
        else:
            lines.append(OutputLine(line, mark))
    return lines


def _read_part(folder: Path, name: str, begin: int, size: int) -> str:
    """Return a part of a file as a terminal would show it; of a long part, the beginning."""
    with suppress(OSError), open_run_file(folder, name) as file:
        file.seek(begin)
        return _on_terminal(file.read(min(size, _SEARCHED)).decode("utf-8", "replace"))
    return ""


def _errors_in(text: str) -> list[str]:
    """Return the first lines with errors."""
    return list(islice(filter(_is_error, text.split("\n")), _ERRORS))


def _is_error(line: str) -> bool:
    return _mark(line) == "error"


def _mark(line: str) -> Literal["", "error", "warning"]:
    words = _NO_ERRORS.sub("", line[:2000])
    if _ERROR.search(words):
        return "error"
    return "warning" if _WARNING.search(words) else ""
