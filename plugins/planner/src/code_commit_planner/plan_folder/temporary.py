"""Recognize temporary files by their names."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

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

# What compilers, bundlers and test tools leave, in addition.
LEFT_BY_COMMANDS = [
    r"build/",
    r"dist/",
    r"out/",
    r"obj/",
    r"*.o",
    r"*.obj",
    r"*.a",
    r"*.so",
    r"*.dylib",
    r"*.dll",
    r"*.exe",
    r"*.class",
    r"*.gcda",
    r"*.gcno",
    r"a.out",
    r"coverage/",
    r".nyc_output/",
    r".cache/",
    r".parcel-cache/",
    r".turbo/",
    r".next/",
    r".nuxt/",
    r".svelte-kit/",
    r".gradle/",
    r".eggs/",
    r"*.tsbuildinfo",
]

_USUAL = "\n".join(TEMPORARY)
_WITH_LEFT = "\n".join([*TEMPORARY, *LEFT_BY_COMMANDS])


def is_temporary(path: str, *, left_by_command: bool = False) -> bool:
    """Return whether `path` looks like a temporary artifact, ignoring case.

    With `left_by_command`, also whether it looks like what a build leaves.
    """
    *folders, name = path.casefold().split("/")
    patterns = _WITH_LEFT if left_by_command else _USUAL
    return any(_matches(f"{folder}/", patterns) for folder in folders) or _matches(name, patterns)


@lru_cache(maxsize=10_000)  # there may be 100,000 paths, of few names
def _matches(name: str, patterns: str) -> bool:
    return _spec(patterns).match_file(name)


@cache
def _spec(patterns: str) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(patterns.split("\n"))
