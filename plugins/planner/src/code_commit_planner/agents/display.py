"""The agents' work as text: one line per tool call, the todo list, and what agents say up to a
limit.
"""

from __future__ import annotations

import json
import shutil
from typing import Any

from code_commit_planner.dialog.text import columns, shortened, wrap
from code_commit_planner.plan_folder.todo import Todos
from code_commit_toolbox.outcome import CalledTool

_WIDEST, _NARROWEST = 80, 30  # columns
FEEDBACK_LINES = 25
TODO_LINES = 15
_REASON = 40
_SUBJECT_ARGUMENTS = ("path", "command", "pattern", "searches")
_WITHOUT_SUBJECT = ("final_output", "todo_write")  # shown in other ways
_SUCCEEDED = "ended with exit code 0"  # `ProcessResult.ending`


def width() -> int:
    """Return how many columns a line has: those of the terminal, at most 80."""
    return max(_NARROWEST, min(_WIDEST, shutil.get_terminal_size((_WIDEST, 24)).columns))


def tool_line(agent: str, called: CalledTool) -> str:
    """Return a call as one line that fits the terminal, and 80 columns."""
    subject = _one_line(_subject(called))
    reason = f"  -> {_one_line(called.text)}" if called.is_error else _ending(called)
    mark = "!" if called.is_error else " "
    reason = shortened(reason, min(_REASON, width() // 2))
    return (
        shortened(f" {mark}{agent}: {called.name} {subject}".rstrip(), width() - columns(reason))
        + reason
    )


def text_lines(agent: str, text: str, whole: str) -> str:
    """Return what an agent says, in at most 25 lines below its name."""
    return f" {agent} says:\n{feedback_lines(text, whole)}"


def todo_lines(todos: Todos) -> str:
    """Return a todo list in at most 15 lines below the number of its finished items."""
    lines = [shortened(f"  {_one_line(line)}", width()) for line in todos.lines]
    if len(lines) > TODO_LINES:
        lines = [*lines[: TODO_LINES - 1], f"  ... {len(lines) - TODO_LINES + 1} more"]
    return "\n".join([f" todos: {todos.all - len(todos.open)} of {todos.all} done", *lines])


def feedback_lines(feedback: str, whole: str) -> str:
    """Return at most 25 wrapped lines of the feedback; `whole` is the file with all of it."""
    lines = [
        f"  {piece}"
        for line in feedback.split("\n")
        if line.strip()
        for piece in wrap(line, width() - 2, columns)
    ]
    if len(lines) > FEEDBACK_LINES:
        left = len(lines) - (FEEDBACK_LINES - 1)
        lines = [
            *lines[: FEEDBACK_LINES - 1],
            shortened(f"  ... {left} more lines, see {whole}", width()),
        ]
    return "\n".join(lines)


def _ending(called: CalledTool) -> str:
    """Return how a command ended, unless it succeeded."""
    ending = called.text.partition("\n")[0]
    failed = called.name == "shell" and ending != _SUCCEEDED
    return f"  -> {_one_line(ending).removeprefix('ended with ')}" if failed else ""


def _subject(called: CalledTool) -> str:
    """Return the most informative argument of a call."""
    try:
        given: Any = json.loads(called.arguments)
    except ValueError:
        return called.arguments
    if not isinstance(given, dict):
        return called.arguments
    for name in _SUBJECT_ARGUMENTS:
        value = given.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            patterns = [str(each.get("pattern", "")) for each in value if isinstance(each, dict)]
            return ", ".join(patterns)
    if called.name in _WITHOUT_SUBJECT:
        return ""
    # A server's tool.
    return next((str(value) for value in given.values() if isinstance(value, str | int)), "")


def _one_line(text: str) -> str:
    return " ".join("".join(each if each.isprintable() else " " for each in text).split())
