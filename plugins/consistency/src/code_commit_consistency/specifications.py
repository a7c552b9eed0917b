"""The specifications in the code, and the code without those that a report is not about."""

from __future__ import annotations

from posixpath import basename

from code_commit.plugin_api import NotReady, join_paths
from code_commit_consistency.code_files import Code

SPECIFICATION = "UserSpecification.md"


def specifications_in(code: Code) -> list[str]:
    """Return the paths of all files of this name, sorted."""
    return sorted(path for path in code.files if basename(path) == SPECIFICATION)


def chosen_specifications(code: Code, chosen: str | None) -> list[str]:
    """Return the specifications that a report is about: all, or the `chosen` one.

    Raises:
        NotReady: the code has no such file.
    """
    specifications = specifications_in(code)
    if chosen is None:
        return specifications
    path = code.path_of(chosen)
    if path is None:
        hint = f"the code has {join_paths(specifications)}" if specifications else ""
        raise NotReady(
            f"the code has no file {chosen}", hint=hint or "add it with `code-commit rollup`"
        )
    return [path]


def without_others(rollup: str, code: Code, specifications: list[str]) -> str:
    """Return the rollup without the specifications that are not chosen."""
    for path in specifications_in(code):
        if path not in specifications:
            rollup = rollup.replace(f"--- {path} ---\n{code.files[path].text}", "", 1)
    return rollup
