"""syntax_check: whether files parse, for languages with an installed grammar."""

from __future__ import annotations

from collections.abc import Sequence

from code_commit.plugin_api import Run
from code_commit_tasks.workers.asking import WorkerFailed, WorkerTooSlow, ask_worker

_LARGEST = 4 * 1024 * 1024  # bytes of one file
_LANGUAGES = {
    language: endings.split()
    for language, endings in {
        "bash": "sh bash",
        "c": "c h",
        "cpp": "cc cpp cxx hh hpp hxx",
        "csharp": "cs",
        "css": "css",
        "elixir": "ex exs",
        "go": "go",
        "haskell": "hs",
        "java": "java",
        "javascript": "js cjs mjs jsx",
        "json": "json",
        "kotlin": "kt kts",
        "lua": "lua",
        "php": "php",
        "python": "py pyi",
        "ruby": "rb",
        "rust": "rs",
        "scala": "scala sbt",
        "swift": "swift",
        "tsx": "tsx",
        "typescript": "ts cts mts",
        "yaml": "yaml yml",
    }.items()
}
_LANGUAGE_OF = {ending: language for language, endings in _LANGUAGES.items() for ending in endings}


def syntax_errors(  # noqa: PLR0911 - one per reason
    run: Run, paths: Sequence[str], *, seconds: float
) -> str:
    """Return the syntax errors in `paths`, one per line, or why the check failed, or "".

    Skip files of other languages; if no file is left, nothing was checked, and the check fails.
    """
    if not paths:
        return "The task has changed no file: there is nothing to check."
    files = []
    for path in paths:
        _, _, ending = path.rpartition("/")[2].rpartition(".")
        language = _LANGUAGE_OF.get(ending.lower())
        if language is None:
            continue
        content = run.tree.read(path, _LARGEST + 1)
        if content is None:
            continue
        if len(content) > _LARGEST:
            return f"{path} is too large to check."
        try:
            files.append((path, language, content.decode()))
        except UnicodeDecodeError as error:
            return f"{path} is not UTF-8: byte {error.start}."
    if not files:
        return f"No changed file is in a supported language: {', '.join(paths[:10])}."
    try:
        errors = ask_worker("syntax_search", files, seconds=seconds)
    except WorkerTooSlow:
        return f"The files could not be parsed within {seconds:g} s."
    except WorkerFailed as error:
        return f"The files could not be parsed: {error}."
    return "\n".join(f"{path}:{line}:{column}: {text}" for path, line, column, text in errors)
