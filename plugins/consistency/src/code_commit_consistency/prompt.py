"""The prompt of a consistency report and its inputs."""

from __future__ import annotations

from importlib.resources import files

from code_commit.plugin_api import (
    Model,
    NotReady,
    PromptPart,
    PromptSize,
    Tree,
    read_text,
)

QUERIES = ("agent-config/consistency-query.txt", "agent-config/query.txt")
CODEBASE = "agent-config/codeRollup.txt"
_LARGE = 4 << 20  # bytes; less is read before anybody asks whether it fits
_COLLECT = "collect the code with codeRollup.sh or `code-commit rollup`"
_SHORTEN = "leave code out with `code-commit rollup --exclude PATTERN`, or choose another model"


def system_prompt() -> str:
    """Return the system prompt of seed 001, "Checking Consistency", with a final newline."""
    return (files("code_commit_consistency") / "system_prompt.txt").read_text("utf-8")


def consistency_prompt(query: str, codebase: str) -> str:
    """Return the whole prompt.

    As the system prompt says, `query` may be empty and `codebase` partial.
    """
    return "\n".join((system_prompt(), _labelled("query", query), _labelled("codebase", codebase)))


def read_query(tree: Tree) -> str:
    """Return the first of `QUERIES` that exists, unchanged, or "" if there is none.

    Raises:
        NotReady: it cannot be read or is not UTF-8.
    """
    for path in QUERIES:
        query = read_text(tree, path)
        if query is not None:
            return query
    return ""


def read_codebase(tree: Tree) -> str:
    """Return the code rollup.

    Raises:
        NotReady: it is missing, empty, cannot be read, or is not UTF-8.
    """
    codebase = read_text(tree, CODEBASE)
    if codebase is None:
        raise NotReady(f"{CODEBASE} is missing", hint=_COLLECT)
    if not codebase.strip():
        raise NotReady(f"{CODEBASE} is empty", hint=_COLLECT)
    return codebase


def prompt_parts(query: str, codebase: str) -> tuple[PromptPart, ...]:
    """Return the parts of the prompt, for the refusal of one that exceeds the model's window."""
    return PromptPart.of("the query", query), PromptPart.of("the code", codebase, _SHORTEN)


def require_files_fit(tree: Tree, model: Model) -> None:
    """Check large files before they are read whole.

    Raises:
        NotReady: one of them is far longer than the model's window.
    """
    for path in (CODEBASE, *QUERIES):
        if tree.size(path) <= _LARGE:
            continue
        if path == CODEBASE:
            model.require_fit(PromptSize.of_file(tree, path, "the code", _SHORTEN))
        else:
            model.require_fit(PromptSize.of_file(tree, path, "the query"))


def _labelled(label: str, text: str) -> str:
    if text and not text.endswith("\n"):
        text += "\n"
    return f"[{label}]\n{text}"
