"""Build a commit message from the model's text and the completed files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from code_commit_planner.dialog.text import legible, plain_lines, wrap
from code_commit_planner.plan_folder.history import Completed

WIDTH = 72
LINES = 10  # of the description, with the added file names
_LABEL = re.compile(
    r"(?:summary|subject|commit message|commit|title|description|body)(?: line)?\s*:\s*",
    re.IGNORECASE,
)
# `commit_message` adds these lines.
_ADDED = re.compile(r"(?:requirements|todos?)\s*:\s*completed_\S+", re.IGNORECASE)
_PAIRS = "*_`\"'"


@dataclass(frozen=True, slots=True)
class CommitMessage:
    """A summary of at most 72 characters, and a description of at most 10 lines of at most 72."""

    summary: str
    description: tuple[str, ...]

    def __str__(self) -> str:
        """Return the message for git."""
        return "\n".join([self.summary, "", *self.description]) + "\n"


def commit_message(
    written: str,
    completion: Completed,
    trailers: Mapping[str, str] = MappingProxyType({}),
) -> CommitMessage:
    """Make a message from the model's text: its first line, then the rest, wrapped.

    A summary that is too long continues in the description. The names of the completed files come
    last, with the `trailers` below them.
    """
    unlabelled = (_unlabelled(line) for line in plain_lines(written))
    lines = [line for line in unlabelled if line and not _ADDED.match(line)]
    first = _unmarked(lines[0]).removesuffix(".") if lines else ""
    summary, *overflow = wrap(first, WIDTH) or [f"Complete {completion.requirements}"]
    body = []
    for line in (" ".join(overflow), *lines[1:]):
        body += wrap(line, WIDTH)
    last_lines = [*_file_lines(completion), *trailer_lines(trailers)]
    body = body[: max(0, LINES - len(last_lines) - 1)]
    if body:
        body.append("")
    return CommitMessage(summary, (*body, *last_lines))


def trailer_lines(trailers: Mapping[str, str]) -> list[str]:
    """Return the facts of the acceptance checks as lines."""
    return [f"{name}: {text}" for name, text in trailers.items()]


def _unmarked(line: str) -> str:
    """Return a line without heading marks, and without marks or quotes around all of it."""
    line = line.strip()
    if line.startswith("#"):
        line = line.strip("# ")
    while _is_enclosed(line):
        line = line[1:-1].strip()
    return line


def _is_enclosed(line: str) -> bool:
    """Return whether one pair of marks or quotes encloses the line."""
    if len(line) < 2 or line[0] != line[-1]:  # noqa: PLR2004 - a pair
        return False
    mark = line[0]
    return mark in _PAIRS and mark not in line[1:-1].strip(mark)


def edited_message(written: str, completion: Completed) -> CommitMessage:
    """Return a person's own message: its first line, then the rest as it is.

    The names of the completed files come last, where the person left them out.
    """
    lines = [line.rstrip() for line in written.strip().split("\n")]
    summary = lines.pop(0)
    while lines and not lines[0]:
        del lines[0]
    missing = [line for line in _file_lines(completion) if line.partition(": ")[2] not in written]
    if missing and lines and not _ADDED.match(lines[-1]):
        lines.append("")
    return CommitMessage(legible(summary), (*lines, *missing))


def _file_lines(completion: Completed) -> list[str]:
    lines = [f"Requirements: {completion.requirements}"]
    if completion.with_todo:
        lines.append(f"Todo: {completion.todo}")
    return lines


def _unlabelled(line: str) -> str:
    """Return a line without a label such as `Summary:`."""
    match = _LABEL.match(line.lstrip("#* "))
    if match is None:
        return line
    return match.string[match.end() :].lstrip("* ")
