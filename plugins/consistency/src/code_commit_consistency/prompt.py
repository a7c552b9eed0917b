"""The prompt of a consistency report (seed 001, "Checking Consistency"), and what goes into it."""

from __future__ import annotations

from importlib.resources import files

from code_commit.plugin_api import NotReady, Tree

QUERIES = ("agent-config/consistency-query.txt", "agent-config/query.txt")
CODEBASE = "agent-config/codeRollup.txt"


def system_prompt() -> str:
    """Return the seed's system prompt, word for word, ending in a newline."""
    return (files("code_commit_consistency") / "system_prompt.txt").read_text("utf-8")


def consistency_prompt(query: str, codebase: str) -> str:
    """Return the whole prompt. `query` may be empty, `codebase` a part of the project: the system prompt says so."""
    return "\n".join((system_prompt(), _labelled("query", query), _labelled("codebase", codebase)))


def read_query(tree: Tree) -> str:
    """Return the first of `QUERIES` that exists, as it is; without one, the query is empty.

    Raises:
        NotReady: it cannot be read or is not UTF-8.
    """
    for path in QUERIES:
        query = _read(tree, path)
        if query is not None:
            return query
    return ""


def read_codebase(tree: Tree) -> str:
    """Return the code rollup.

    Raises:
        NotReady: it is missing, empty, cannot be read, or is not UTF-8.
    """
    codebase = _read(tree, CODEBASE)
    if codebase is None or not codebase.strip():
        what = "is missing" if codebase is None else "is empty"
        raise NotReady(f"{CODEBASE} {what}", hint="collect the code with codeRollup.sh or `code-commit rollup`")
    return codebase


def _read(tree: Tree, path: str) -> str | None:
    try:
        content = tree.read(path)
    except OSError as error:
        raise NotReady(f"{path} cannot be read: {error.strerror}", hint="it must be a regular file") from error
    if content is None:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise NotReady(
            f"{path} is not UTF-8: line {line}, byte {error.start}", hint="convert it, or leave that file out"
        ) from None


def _labelled(label: str, text: str) -> str:
    ended = text if not text or text.endswith("\n") else text + "\n"
    return f"[{label}]\n{ended}"
