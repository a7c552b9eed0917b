"""Build a commit message from the model's text and the completed files."""

from __future__ import annotations

import re
from dataclasses import dataclass

from code_commit_planner.dialog.text import legible, plain_lines, wrap
from code_commit_planner.plan_folder.history import Completed

WIDTH = 72
LINES = 10  # of the description, with the added file names
_LABEL = re.compile(
    r"(?:summary|subject|commit message|commit|title|description|body)(?: line)?\s*:\s*",
    re.IGNORECASE,
)
# We add these ourselves.
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


def commit_message(written: str, completion: Completed) -> CommitMessage:
    """Make a message from the model's text: its first line, then the rest, wrapped.

    A summary that is too long continues in the description. The names of the completed files come
    last.
    """
    lines = [
        line
        for line in (_unlabelled(line) for line in plain_lines(written))
        if line and not _ADDED.match(line)
    ]
    first = _unmarked(lines[0]).removesuffix(".") if lines else ""
    summary, *rest = wrap(first, WIDTH) or [f"Complete {completion.requirements}"]
    files = [f"Requirements: {completion.requirements}"]
    if completion.with_todo:
        files.append(f"Todo: {completion.todo}")
    body = [
        *wrap(" ".join(rest), WIDTH),
        *(piece for line in lines[1:] for piece in wrap(line, WIDTH)),
    ]
    body = body[: LINES - len(files) - 1]
    return CommitMessage(summary, (*body, *([""] if body else []), *files))


def _unmarked(line: str) -> str:
    """Return a line without Markdown marks at its front, and without pairs of marks or quotes
    around all of it.
    """
    line = line.strip().lstrip("# ").rstrip("# ") if line.lstrip().startswith("#") else line.strip()
    while (
        len(line) > 1
        and line[0] == line[-1]
        and line[0] in _PAIRS
        and line[0] not in line[1:-1].strip(line[0])
    ):
        line = line[1:-1].strip()
    return line


def edited_message(written: str) -> CommitMessage:
    """Return a person's own message: its first line, then the rest as it is."""
    first, *rest = [line.rstrip() for line in written.strip().split("\n")]
    while rest and not rest[0]:
        del rest[0]
    return CommitMessage(legible(first), tuple(rest))


def _unlabelled(line: str) -> str:
    return (
        _LABEL.sub("", line.lstrip("#* "), count=1).lstrip("* ")
        if _LABEL.match(line.lstrip("#* "))
        else line
    )
