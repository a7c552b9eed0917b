"""Select the files of a commit. Nothing here calls git."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

    from code_commit_workspace import StatusEntry

# Temporary artifacts of running, testing or editing, in .gitignore syntax. The first lines are from
# seed 003.
TEMPORARY = (
    *("target/", "node_modules/", "__pycache__/", ".venv/"),
    *("*.log", "*.tmp", "*.bak"),
    *(".ds_store", "thumbs.db"),
    "*.pyc",
    *("tmp/", "temp/"),
    *(
        ".pytest_cache/",
        ".mypy_cache/",
        ".ruff_cache/",
        ".tox/",
        ".nox/",
        ".hypothesis/",
        "*.egg-info/",
    ),
    *("*.pyo", ".coverage", "coverage.xml", "htmlcov/", "desktop.ini", "*.pid", "core.[0-9]*"),
    *("*~", "*.swp", "*.swo", "*.orig", "*.rej", ".#*", "\\#*#"),
)


@dataclass(frozen=True, slots=True)
class Selection:
    """How the files that differ from the last commit are treated."""

    stage: tuple[str, ...]
    temporary: tuple[str, ...]
    unclear: tuple[str, ...]


def select(entries: Iterable[StatusEntry], foreign: Iterable[str], prefix: str) -> Selection:
    """Choose the files to stage.

    `foreign` files were staged before by someone else and stay unchanged. `prefix` is the codepath
    below the top, with a trailing slash: folders above it do not count, so that a codebase may be
    inside a `tmp/`.
    """
    others = frozenset(foreign)
    stage, temporary, unclear = [], [], []
    for entry in entries:
        if entry.path in others or not (entry.unstaged or entry.unmerged):
            continue
        if entry.unmerged or entry.path.endswith("/"):  # the latter: a nested repository
            unclear.append(entry.path)
        elif is_temporary(entry.path.removeprefix(prefix)):
            temporary.append(entry.path)
        else:
            stage.append(entry.path)
    return Selection(tuple(stage), tuple(temporary), tuple(unclear))


def is_temporary(path: str) -> bool:
    """Return whether `path` looks like a temporary artifact, ignoring case."""
    return _temporary().match_file(path.casefold())


@cache
def _temporary() -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(TEMPORARY)
