"""Select the files of a commit. Nothing here calls git."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

    from code_commit_workspace import StatusEntry

# Temporary artifacts of running, testing or editing, in .gitignore syntax. Those up to `temp/` are
# from seed 003.
TEMPORARY = [
    r"target/",
    r"node_modules/",
    r"__pycache__/",
    r".venv/",
    r"*.log",
    r"*.tmp",
    r"*.bak",
    r".ds_store",
    r"thumbs.db",
    r"*.pyc",
    r"tmp/",
    r"temp/",
    r".pytest_cache/",
    r".mypy_cache/",
    r".ruff_cache/",
    r".tox/",
    r".nox/",
    r".hypothesis/",
    r"*.egg-info/",
    r"*.pyo",
    r".coverage",
    r"coverage.xml",
    r"htmlcov/",
    r"desktop.ini",
    r"*.pid",
    r"core.[0-9]*",
    r"*~",
    r"*.swp",
    r"*.swo",
    r"*.orig",
    r"*.rej",
    r".#*",
    r"\#*#",
]


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
    foreign_paths = frozenset(foreign)
    stage = []
    temporary = []
    unclear = []
    for entry in entries:
        if entry.path in foreign_paths or not (entry.unstaged or entry.unmerged):
            continue
        if entry.unmerged or entry.path.endswith("/"):  # the slash: a nested repository
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
