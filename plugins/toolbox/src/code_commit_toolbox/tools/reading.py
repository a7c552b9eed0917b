"""read_file and list_files."""

from __future__ import annotations

from collections.abc import Sequence

from code_commit.plugin_api import Json, count_of
from code_commit_toolbox.settings import ToolboxSettings
from code_commit_toolbox.shortening import fitting
from code_commit_toolbox.tool import Tool, ToolContext, ToolError, parameters
from code_commit_toolbox.tools.project_file import (
    folder_named,
    is_below,
    require_readable,
    show_text,
)


def read_file(settings: ToolboxSettings) -> Tool:
    """Return the tool that reads a file of the project, or some of its lines, unchanged."""

    def call(context: ToolContext, arguments: Json) -> str:
        text = show_text(context, arguments["path"], settings.file_limit)
        first = arguments.get("start_line", 1)
        last = arguments.get("end_line")
        return lines_of(text, first, last, settings.output_limit)

    return Tool(
        name="read_file",
        description=(
            "Read a text file of the project, unchanged. Returns the requested lines of a long "
            "file, or as many as fit, followed by a line in brackets with their numbers."
        ),
        parameters=parameters(
            {
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
            required=["path"],
        ),
        call=call,
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
    requested = lines[first - 1 : last]
    shown = requested[: fitting(requested, limit)]
    if requested and not shown:
        line = requested[0]
        part = f"the first {limit} of {len(line)} characters of line {first}"
        return f"{line[:limit]}\n[{part}; the file has {count_of(count, 'line')}]"
    end = first + len(shown) - 1
    note = f"lines {first} to {end} of {count}"
    if len(shown) < len(requested):
        note += f"; continue with start_line {end + 1}"
    return "\n".join([*shown, f"[{note}]"])


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
        shown = paths[: fitting(paths, settings.output_limit)]
        if len(shown) < len(paths):
            shown.append(f"[... and {len(paths) - len(shown)} more; choose a folder]")
        return "\n".join(shown)

    return Tool(
        name="list_files",
        description=(
            "List the files of the project, or of one of its folders, one path per line, "
            "without those that git ignores."
        ),
        parameters=parameters(
            {
                "path": {
                    "type": "string",
                    "description": "A folder, relative to the project's root; the root by default.",
                },
                "pattern": {
                    "type": "string",
                    "minLength": 1,
                    "description": (
                        "Only matching files, with the syntax of .gitignore: *.py, src/**/*.ts."
                    ),
                },
                "recursive": {
                    "type": "boolean",
                    "description": (
                        "Whether to list files in subfolders (the default); "
                        "if not, the subfolders are listed, with a slash at the end."
                    ),
                },
            }
        ),
        call=call,
    )


def listing(
    context: ToolContext,
    folder: str,
    patterns: Sequence[str],
    *,
    recursive: bool,
) -> list[str]:
    """Return the matching readable files in `folder`; "" is the root.

    Without `recursive`, return those directly in it, and its subfolders.

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
