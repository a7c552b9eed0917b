"""The agents' work as text: tool calls, todo lists, and what agents say, each up to a limit."""

from __future__ import annotations

import json
import shutil
from typing import Any

from code_commit.plugin_api import describe_ending, printable
from code_commit_planner.agents.edits import Edit
from code_commit_planner.dialog.text import columns, folded, shortened
from code_commit_planner.plan_folder.todo import Todos
from code_commit_toolbox.outcome import CalledTool
from code_commit_toolbox.process_report import OUTPUT_MARK

_COLUMNS = 80  # without a terminal
_NARROWEST = 30
_LAST_LINES = 3  # of a failed command
FEEDBACK_LINES = 25
TODO_LINES = 15
_REASON = 40
_SUBJECT_ARGUMENTS = ("path", "command", "pattern", "searches")
_WITHOUT_SUBJECT = ("final_output", "todo_write")  # shown in other ways


def width() -> int:
    """Return the columns of a line: those of the terminal, or 80."""
    terminal = shutil.get_terminal_size((_COLUMNS, 24))
    return max(_NARROWEST, terminal.columns)


def edit_line(agent: str, edit: Edit) -> str:
    """Return a change of a file as one line."""
    counts = f" +{edit.added} -{edit.removed}"
    edited = f"  {agent}: edit {_one_line(edit.path)}"
    return shortened(edited, width() - len(counts)) + counts


def last_output(called: CalledTool) -> str:
    """Return the last three lines that a failed command wrote, "" for any other call."""
    _, _, output = called.text.partition(f"\n{OUTPUT_MARK}\n")
    if called.name != "shell" or not (called.is_error or _ending(called)):
        return ""
    lines = [line for line in output.split("\n") if line.strip()]
    return "\n".join(shortened(f"    {printable(line)}", width()) for line in lines[-_LAST_LINES:])


def tool_line(agent: str, called: CalledTool) -> str:
    """Return a call as one line that fits the terminal."""
    mark = "!" if called.is_error else " "
    call = f" {mark}{agent}: {called.name} {_one_line(_subject(called))}".rstrip()
    reason = shortened(_reason(called), min(_REASON, width() // 2))
    return shortened(call, width() - columns(reason)) + reason


def text_lines(agent: str, text: str, whole: str) -> str:
    """Return what an agent says, in at most 25 lines below its name."""
    return f" {agent} says:\n{feedback_lines(text, whole)}"


def todo_lines(todos: Todos) -> str:
    """Return a todo list, open items first, in at most 15 lines below the number of ticked ones."""
    sorted_lines = [*todos.open, *(line for line in todos.lines if line not in todos.open)]
    lines = [shortened(f"  {_one_line(line)}", width()) for line in sorted_lines]
    if len(lines) > TODO_LINES:
        missing = len(lines) - TODO_LINES + 1
        lines = [*lines[: TODO_LINES - 1], f"  ... {missing} more"]
    return "\n".join([f" todos: {todos.ticked} of {todos.all} done", *lines])


def feedback_lines(feedback: str, whole: str) -> str:
    """Return at most 25 lines of the feedback, broken between words.

    `whole` is the file with all of it.
    """
    lines = []
    for line in feedback.split("\n"):
        lines += [f"  {piece}" for piece in folded(line, width() - 2)]
    if len(lines) > FEEDBACK_LINES:
        missing = len(lines) - FEEDBACK_LINES + 1
        more = shortened(f"  ... {missing} more lines, see {whole}", width())
        lines = [*lines[: FEEDBACK_LINES - 1], more]
    return "\n".join(lines)


def _reason(called: CalledTool) -> str:
    """Return why a call failed, or how a command ended that did not succeed."""
    if called.is_error:
        return f"  -> {_one_line(called.text)}"
    return _ending(called)


def _ending(called: CalledTool) -> str:
    """Return how a command ended, unless it succeeded."""
    ending = called.text.partition("\n")[0]
    failed = called.name == "shell" and ending != describe_ending(0)
    return f"  -> {_one_line(ending).removeprefix('ended with ')}" if failed else ""


def _subject(called: CalledTool) -> str:
    """Return the most informative argument of a call."""
    try:
        arguments: Any = json.loads(called.arguments)
    except ValueError:
        return called.arguments
    if not isinstance(arguments, dict):
        return called.arguments
    for name in _SUBJECT_ARGUMENTS:
        value = arguments.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            searches = [search for search in value if isinstance(search, dict)]
            return ", ".join(str(search.get("pattern", "")) for search in searches)
    if called.name in _WITHOUT_SUBJECT:
        return ""
    # A server's tool.
    values = [str(value) for value in arguments.values() if isinstance(value, str | int)]
    return values[0] if values else ""


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()))
