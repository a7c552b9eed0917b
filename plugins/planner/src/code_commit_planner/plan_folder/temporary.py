"""Recognize temporary files by their names."""

from __future__ import annotations

from functools import cache
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
    r"vendor/bundle/",
    r"*.tsbuildinfo",
]


def is_temporary(path: str, *, left_by_command: bool = False) -> bool:
    """Return whether `path` looks like a temporary artifact, ignoring case.

    With `left_by_command`, also whether it looks like what a build leaves.
    """
    return _temporary(left_by_command).match_file(path.casefold())


@cache
def _temporary(left_by_command: bool) -> GitIgnoreSpec:  # noqa: FBT001 - of `cache`
    from pathspec import GitIgnoreSpec

    if left_by_command:
        return GitIgnoreSpec.from_lines([*TEMPORARY, *LEFT_BY_COMMANDS])
    return GitIgnoreSpec.from_lines(TEMPORARY)
