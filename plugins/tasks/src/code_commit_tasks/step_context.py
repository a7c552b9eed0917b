"""The requested context of a step: files, results of earlier steps, a text."""

from __future__ import annotations

from collections.abc import Sequence

from code_commit.plugin_api import count_of
from code_commit_tasks.prompts import fenced
from code_commit_tasks.task_list import ContextSpec
from code_commit_toolbox.shortening import head_and_tail
from code_commit_toolbox.tool import ToolContext, ToolError
from code_commit_toolbox.tools.project_file import show_text
from code_commit_workspace import normalise_path

_NAMED = 50  # left-out files to list by name


def sections(
    tools: ToolContext,
    context: ContextSpec,
    results: Sequence[tuple[str, str]],
    *,
    limit: int,
) -> list[str]:
    """Return the sections of a prompt for `context`.

    `tools` is the context of the agent that gets the prompt, which has then seen the files.
    `results` are titles and results of the previous steps, in order. All files together take at
    most `limit` characters, and so do all results; files that do not fit are named, and a line
    marks a cut.

    Raises:
        NotReady: the project is not in a git repository.
    """
    parts = []
    if context.explicit_content:
        parts.append(f"[context]\n{context.explicit_content.rstrip()}\n")
    if context.files:
        parts.append("[files]\n" + _files(tools, context, limit))
    chosen = list(dict.fromkeys(context.previous_steps))
    for index in chosen:
        title, result = results[index]
        text = head_and_tail(result, limit // len(chosen))
        parts.append(f"[result of step {index}, {title}]\n{fenced(text, tools.run.token)}")
    return parts


def _files(tools: ToolContext, context: ContextSpec, limit: int) -> str:
    run = tools.run
    pieces: list[str] = []
    left_out: list[str] = []
    shown: set[str] = set()
    room = limit
    for files in context.files:
        try:
            paths = run.files([normalise_path(files.pattern)], recursive=files.recursive)
        except ValueError as error:
            pieces.append(f"({files.pattern}: this pattern is invalid: {error})\n")
            continue
        if not paths:
            pieces.append(f"({files.pattern}: no file matches)\n")
        for path in paths:
            if path in shown:
                continue
            shown.add(path)
            try:
                text = show_text(tools, path, limit)
            except ToolError as error:
                left_out.append(f"{path} ({error})")
                continue
            if len(text) > room:
                left_out.append(f"{path} ({count_of(len(text), 'character')})")
                continue
            room -= len(text)
            pieces.append(f"{path}:\n{fenced(text, run.token)}")
    if left_out:
        names = ", ".join(left_out[:_NAMED])
        if len(left_out) > _NAMED:
            names += f", and {len(left_out) - _NAMED} more"
        pieces.append(f"(left out, because they do not fit or are not text: {names})\n")
    return "".join(pieces)
