"""code_search: search for syntax patterns with ast-grep, in a separate process that can be killed."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from itertools import accumulate
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
from code_commit_toolbox.tool import Tool, ToolContext, ToolError
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
_LARGEST_FILE = 1024 * 1024
_MOST_BYTES = 64 * 1024 * 1024
_WORKER = "code_commit_toolbox.tools.search_worker"
_KEPT = ("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")


def code_search(settings: ToolboxSettings) -> Tool:
    """Return the tool that runs several searches over the readable files of the project."""

    def call(context: ToolContext, arguments: Json) -> str:
        searches: Sequence[Json] = arguments["searches"]
        files, problems, left_out = _files(context.run, searches)
        if len(problems) == len(searches):
            raise ToolError("\n".join(dict.fromkeys(problems.values())))
        found, trouble = _search(searches, files, context.seconds(settings.search_seconds))
        found += [{"search": number, "problem": problem} for number, problem in problems.items()]
        notes = []
        if left_out:
            notes.append(f"[{count_of(left_out, 'file')} left out: too large, or too many]")
        if trouble:
            notes.append(f"[{trouble}]")
        return _format_matches(searches, found, notes, settings.output_limit)

    return Tool(
        "code_search",
        "Search the project's code by syntax, several searches at once. A pattern is code in which $NAME stands for "
        "one node and $$$NAME for any number, such as `def $F($$$ARGS): $$$BODY` or `print($X)`. To search for "
        "text, use a command.",
        {
            "type": "object",
            "properties": {
                "searches": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": MOST_SEARCHES,
                    "items": {
                        "type": "object",
                        "properties": {
                            "pattern": {"type": "string", "minLength": 1},
                            "language": {"type": "string", "enum": list(SUFFIXES)},
                            "path": {
                                "type": "string",
                                "description": "A folder or file; all files by default.",
                            },
                            "max_matches": {
                                "type": "integer",
                                "minimum": 1,
                                "maximum": 500,
                                "default": 50,
                            },
                        },
                        "required": ["pattern", "language"],
                        "additionalProperties": False,
                    },
                }
            },
            "required": ["searches"],
            "additionalProperties": False,
        },
        call,
    )


def _files(run: Run, searches: Sequence[Json]) -> tuple[list[dict[str, Any]], dict[int, str], int]:
    """Return the files to search, each with the numbers of its searches.

    Also return the problems with folders of searches, and the number of files left out.
    """
    folders = [folder_named(search.get("path", ".")) for search in searches]
    readable = run.files()
    checked = (
        (number, _folder_problem(run, folder, readable)) for number, folder in enumerate(folders)
    )
    problems = {number: problem for number, problem in checked if problem}
    files: list[dict[str, Any]] = []
    left_out, room = 0, _MOST_BYTES
    for path in readable:
        suffix = PurePosixPath(path).suffix.lower()
        wanted = [
            number
            for number, (search, folder) in enumerate(zip(searches, folders, strict=True))
            if suffix in SUFFIXES[search["language"]]
            and is_below(path, folder)
            and number not in problems
        ]
        if not wanted:
            continue
        try:
            content = run.tree.read(path, _LARGEST_FILE + 1) or b""
        except OSError:
            continue  # no longer a regular file
        if len(content) > min(_LARGEST_FILE, room):
            left_out += 1
            continue
        room -= len(content)
        files.append({"path": path, "text": content.decode("utf-8", "replace"), "searches": wanted})
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
    searches: Sequence[Json], files: list[dict[str, Any]], seconds: float
) -> tuple[list[dict[str, Any]], str]:
    """Return the matches in order, and a problem, if any.

    ast-grep is native code with untrusted input: in a separate process, a crash does not end the
    host.
    """
    environ = {name: os.environ[name] for name in _KEPT if name in os.environ}
    work = {"searches": list(map(dict, searches)), "files": files, "seconds": seconds}
    try:
        ended = ask_process(
            python_command(_WORKER),
            json.dumps(work).encode(),
            seconds=seconds,
            env=python_environment(environ),
            cwd="/",
        )
        output, code = ended.stdout, ended.returncode
        trouble = f"the search {describe_ending(code)}" if code else ""
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
    searches: Sequence[Json], found: list[dict[str, Any]], notes: list[str], limit: int
) -> str:
    lines = []
    for number, search in enumerate(searches):
        own = [each for each in found if each["search"] == number]
        problems = [each["problem"] for each in own if "problem" in each]
        matches = [each for each in own if "line" in each]
        more = ", the first of more" if any("more" in each for each in own) else ""
        count = count_of(len(matches), "match", "matches")
        lines.append(f"## {search['pattern']} ({search['language']}): {count}{more}")
        lines += [f"[{problem}]" for problem in problems]
        lines += [f"{each['path']}:{each['line']}: {each['text']}" for each in matches]
    room = limit - sum(len(note) + 1 for note in notes)
    fitting = sum(total <= room for total in accumulate(len(line) + 1 for line in lines))
    cut = ["[... more matches are not shown: run fewer searches]"] if fitting < len(lines) else []
    return "\n".join([*lines[:fitting], *cut, *notes])
