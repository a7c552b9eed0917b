"""read_file and list_files."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from code_commit.plugin_api import Json, count_of
from code_commit_toolbox.settings import ToolboxSettings
from code_commit_toolbox.tool import Tool, ToolContext, ToolError
from code_commit_toolbox.tools.project_file import (
    folder_named,
    is_below,
    read_text,
    require_readable,
)


def read_file(settings: ToolboxSettings) -> Tool:
    """Return the tool that reads a file of the project, or some of its lines, unchanged."""

    def call(context: ToolContext, arguments: Json) -> str:
        text = read_text(context.run, arguments["path"], settings.file_limit)
        return lines_of(
            text, arguments.get("start_line", 1), arguments.get("end_line"), settings.output_limit
        )

    return Tool(
        "read_file",
        "Read a text file of the project, unchanged. Returns the requested lines of a long file, or as many as fit, "
        "followed by a line in brackets with their numbers.",
        {
            "type": "object",
            "properties": {
                "path": {
                    "type": "string",
                    "description": "Relative to the project's root, such as src/main.py.",
                },
                "start_line": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "The first line to show; 1 by default.",
                },
                "end_line": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "The last line to show.",
                },
            },
            "required": ["path"],
            "additionalProperties": False,
        },
        call,
    )


def lines_of(text: str, first: int, last: int | None, limit: int) -> str:
    """Return lines `first` to `last` of `text`, counted from 1, up to `limit` characters.

    If only a part is returned, the last line says which part.

    Raises:
        ToolError: the lines do not exist.
    """
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()  # nothing follows the last newline
    count = len(lines)
    last = count if last is None else min(last, count)
    if first > last and (first, count) != (1, 0):
        raise ToolError(f"There are no lines {first} to {last}: the file has {count}.")
    if (first, last) == (1, count) and len(text) <= limit:
        return text
    wanted = lines[first - 1 : last]
    fitting = sum(total <= limit for total in accumulate(len(line) + 1 for line in wanted))
    if not fitting and wanted:
        part = f"the first {limit} of {len(wanted[0])} characters of line {first}"
        return f"{wanted[0][:limit]}\n[{part}; the file has {count_of(count, 'line')}]"
    end = first + fitting - 1
    rest = f"; continue with start_line {end + 1}" if fitting < len(wanted) else ""
    return (
        "".join(f"{line}\n" for line in wanted[:fitting])
        + f"[lines {first} to {end} of {count}{rest}]"
    )


def list_files(settings: ToolboxSettings) -> Tool:
    """Return the tool that lists readable files."""

    def call(context: ToolContext, arguments: Json) -> str:
        patterns = [arguments["pattern"]] if "pattern" in arguments else []
        paths = listing(
            context,
            folder_named(arguments.get("path", ".")),
            patterns,
            recursive=arguments.get("recursive", True),
        )
        fitting = sum(
            total <= settings.output_limit for total in accumulate(len(path) + 1 for path in paths)
        )
        rest = (
            f"[... and {len(paths) - fitting} more; choose a folder]"
            if fitting < len(paths)
            else ""
        )
        return "\n".join([*paths[:fitting], *([rest] if rest else [])])

    return Tool(
        "list_files",
        "List the files of the project, or of one of its folders, one path per line, without those that git ignores.",
        {
            "type": "object",
            "properties": {
                "path": {
                    "type": "string",
                    "description": "A folder, relative to the project's root; the root by default.",
                },
                "pattern": {
                    "type": "string",
                    "minLength": 1,
                    "description": "Only matching files, with the syntax of .gitignore: *.py, src/**/*.ts.",
                },
                "recursive": {
                    "type": "boolean",
                    "description": "Whether to list files in subfolders (the default); "
                    "if not, the subfolders are listed, with a slash at the end.",
                },
            },
            "required": [],
            "additionalProperties": False,
        },
        call,
    )


def listing(
    context: ToolContext, folder: str, patterns: Sequence[str], *, recursive: bool
) -> list[str]:
    """Return the matching readable files in `folder` ("" is the root); without `recursive`, only
    those directly in it.

    Raises:
        ToolError: a model may not read the folder, it does not exist, or a pattern is invalid.
    """
    if folder:
        require_readable(context.run, folder)
    prefix = f"{folder}/" if folder else ""
    try:
        files = context.run.files(patterns)
    except ValueError as error:
        raise ToolError(f"The pattern is invalid: {error}") from error
    paths = [path for path in files if is_below(path, folder)]
    if not paths and (folder or patterns):
        raise ToolError(f"There are no such files in {folder or 'the project'}.")
    if recursive:
        return paths
    inside = (path.removeprefix(prefix).partition("/") for path in paths)
    return list(dict.fromkeys(prefix + name + slash for name, slash, _ in inside))
