"""The prompt of a consistency report and its inputs."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files

from code_commit.plugin_api import NotReady, Tree, read_text
from code_commit_workspace import RolledUp, join_paths

QUERIES = ("agent-config/consistency-query.txt", "agent-config/query.txt")
SPECIFICATION = "UserSpecification.md"
CODEBASE = "agent-config/codeRollup.txt"


def system_prompt() -> str:
    """Return the system prompt of seed 001, "Checking Consistency", word for word, with a final newline."""
    return (files("code_commit_consistency") / "system_prompt.txt").read_text("utf-8")


def consistency_prompt(query: str, codebase: str) -> str:
    """Return the whole prompt. As the system prompt says, `query` may be empty and `codebase` partial."""
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
    if codebase is None or not codebase.strip():
        what = "is missing" if codebase is None else "is empty"
        raise NotReady(f"{CODEBASE} {what}", hint="collect the code with codeRollup.sh or `code-commit rollup`")
    return codebase


def codebase_warnings(tree: Tree, codebase: str) -> Iterator[str]:
    """Yield what makes the code rollup a poor base for a report."""
    if changed := RolledUp.of(tree, codebase).changed():
        yield f"changed since the rollup: {join_paths(changed)}; update it with codeRollup.sh or `code-commit rollup`"
    if SPECIFICATION not in codebase:
        yield f"{CODEBASE} contains no {SPECIFICATION}"


def _labelled(label: str, text: str) -> str:
    ended = text if not text or text.endswith("\n") else text + "\n"
    return f"[{label}]\n{ended}"
