"""code_search: search for syntax patterns with ast-grep, in a process that can be killed."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from code_commit.plugin_api import (
    Json,
    Run,
    ask_process,
    count_of,
    describe_ending,
    python_command,
    python_environment,
)
from code_commit_toolbox.settings import ToolboxSettings
from code_commit_toolbox.shortening import fitting
from code_commit_toolbox.tool import Tool, ToolContext, ToolError, parameters
from code_commit_toolbox.tools.project_file import folder_named, is_below, require_readable

SUFFIXES = {
    "bash": (".sh", ".bash"),
    "c": (".c", ".h"),
    "cpp": (".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp"),
    "csharp": (".cs",),
    "css": (".css",),
    "elixir": (".ex", ".exs"),
    "go": (".go",),
    "haskell": (".hs",),
    "html": (".html", ".htm"),
    "java": (".java",),
    "javascript": (".js", ".jsx", ".mjs", ".cjs"),
    "json": (".json",),
    "kotlin": (".kt", ".kts"),
    "lua": (".lua",),
    "php": (".php",),
    "python": (".py", ".pyi"),
    "ruby": (".rb",),
    "rust": (".rs",),
    "scala": (".scala",),
    "swift": (".swift",),
    "tsx": (".tsx",),
    "typescript": (".ts", ".mts", ".cts"),
    "yaml": (".yaml", ".yml"),
}
"""The languages and their file extensions."""

MOST_SEARCHES = 20
_SEARCHES = {
    "type": "array",
    "minItems": 1,
    "maxItems": MOST_SEARCHES,
    "items": parameters(
        {
            "pattern": {"type": "string", "minLength": 1},
            "language": {"type": "string", "enum": list(SUFFIXES)},
            "path": {"type": "string", "description": "A folder or file; all files by default."},
            "max_matches": {"type": "integer", "minimum": 1, "maximum": 500, "default": 50},
        },
        required=["pattern", "language"],
    ),
}
_LARGEST_FILE = 1024 * 1024
_MOST_BYTES = 64 * 1024 * 1024
_WORKER = "code_commit_toolbox.tools.search_worker"
_VARIABLES = (
    "PATH",
    "PYTHONPATH",
    "PYTHONHOME",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "SYSTEMROOT",
)


def code_search(settings: ToolboxSettings) -> Tool:
    """Return the tool that runs several searches over the readable files of the project."""

    def call(context: ToolContext, arguments: Json) -> str:
        searches: Sequence[Json] = arguments["searches"]
        files, problems, left_out = _files(context.run, searches)
        if len(problems) == len(searches):
            raise ToolError("\n".join(dict.fromkeys(problems.values())))
        rows, trouble = _search(searches, files, context.seconds(settings.search_seconds))
        rows += [{"search": number, "problem": problem} for number, problem in problems.items()]
        notes = []
        if left_out:
            notes.append(f"[{count_of(left_out, 'file')} left out: too large, or too many]")
        if trouble:
            notes.append(f"[{trouble}]")
        return _format_matches(searches, rows, notes, settings.output_limit)

    return Tool(
        name="code_search",
        description=(
            "Search the project's code by syntax, several searches at once. A pattern is code in "
            "which $NAME stands for one node and $$$NAME for any number, such as "
            "`def $F($$$ARGS): $$$BODY` or `print($X)`. To search for text, use a command."
        ),
        parameters=parameters({"searches": _SEARCHES}, required=["searches"]),
        call=call,
    )


def _files(run: Run, searches: Sequence[Json]) -> tuple[list[dict[str, Any]], dict[int, str], int]:
    """Return the files to search, each with the numbers of its searches.

    Also return the problems with folders of searches, and the number of files left out.
    """
    readable = run.files()
    problems: dict[int, str] = {}
    usable: list[tuple[int, str, tuple[str, ...]]] = []  # number, folder, suffixes
    for number, search in enumerate(searches):
        folder = folder_named(search.get("path", "."))
        if problem := _folder_problem(run, folder, readable):
            problems[number] = problem
        else:
            usable.append((number, folder, SUFFIXES[search["language"]]))
    files: list[dict[str, Any]] = []
    left_out = 0
    room = _MOST_BYTES
    for path in readable:
        suffix = PurePosixPath(path).suffix.lower()
        numbers = [
            number
            for number, folder, suffixes in usable
            if suffix in suffixes and is_below(path, folder)
        ]
        if not numbers:
            continue
        try:
            content = run.tree.read(path, _LARGEST_FILE + 1) or b""
        except OSError:
            continue  # no longer a regular file
        if len(content) > min(_LARGEST_FILE, room):
            left_out += 1
            continue
        room -= len(content)
        text = content.decode("utf-8", "replace")
        files.append({"path": path, "text": text, "searches": numbers})
    return files, problems, left_out


def _folder_problem(run: Run, folder: str, readable: Sequence[str]) -> str:
    """Return why `folder` cannot be searched, or ""."""
    if not folder:
        return ""
    try:
        require_readable(run, folder)
    except ToolError as error:
        return str(error)
    if any(is_below(path, folder) for path in readable):
        return ""
    return f"There are no files in {folder}."


def _search(
    searches: Sequence[Json],
    files: list[dict[str, Any]],
    seconds: float,
) -> tuple[list[dict[str, Any]], str]:
    """Return the matches in order, and a problem, if any.

    ast-grep is native code with untrusted input: in a separate process, a crash does not end the
    host.
    """
    environ = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
    work = {"searches": list(map(dict, searches)), "files": files, "seconds": seconds}
    trouble = ""
    try:
        completed = ask_process(
            python_command(_WORKER),
            json.dumps(work).encode(),
            seconds=seconds,
            env=python_environment(environ),
            cwd="/",
        )
        output = completed.stdout
        if completed.returncode:
            trouble = f"the search {describe_ending(completed.returncode)}"
    except subprocess.TimeoutExpired as error:
        output = error.stdout or b""
        trouble = (
            f"the search was stopped after {seconds:g} s: search in a folder, or run fewer searches"
        )
    except OSError as error:
        raise ToolError(f"The search could not be started: {error.strerror}.") from error
    lines = output.split(b"\n")[:-1]  # the text after the last newline is incomplete
    return [json.loads(line) for line in lines], trouble


def _format_matches(
    searches: Sequence[Json],
    rows: list[dict[str, Any]],
    notes: list[str],
    limit: int,
) -> str:
    lines = []
    for number, search in enumerate(searches):
        own = [row for row in rows if row["search"] == number]
        problems = [row["problem"] for row in own if "problem" in row]
        matches = [row for row in own if "line" in row]
        count = count_of(len(matches), "match", "matches")
        title = f"## {search['pattern']} ({search['language']}): {count}"
        if any("more" in row for row in own):
            title += ", the first of more"
        lines.append(title)
        lines += [f"[{problem}]" for problem in problems]
        lines += [f"{match['path']}:{match['line']}: {match['text']}" for match in matches]
    room = limit - sum(len(note) + 1 for note in notes)
    shown = lines[: fitting(lines, room)]
    if len(shown) < len(lines):
        shown.append("[... more matches are not shown: run fewer searches]")
    return "\n".join([*shown, *notes])
