"""Select the project's files that a model may see, by patterns."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

from code_commit_workspace.git import Git, GitError
from code_commit_workspace.guard import Guard

_ANY_DEPTH = re.compile(r"(?:^|(?<=/))\*\*/")


def readable_files(
    git: Git,
    guard: Guard,
    patterns: Sequence[str] = (),
    *,
    recursive: bool = True,
    among: AbstractSet[str] | None = None,
) -> tuple[str, ...]:
    """Return the regular files that git tracks or does not ignore and that a model may see, sorted.

    `patterns` are those of a `.gitignore` file in the root: the last match decides, `!` excludes again. Without
    patterns, all files are selected. With `recursive`, a plain name matches at any depth, and a folder selects
    everything below it. Without, nothing below a pattern's own folder matches: `*.py` selects files in the root;
    `src/*.py`, `src/**/*.py` and `src/` select those directly in `src`. Links and files in submodules are left out.
    (Seed 004, `context.files`.) `among` is an earlier result of `listed`.

    Raises:
        NotReady: the root is not in a git repository, or git cannot list its files.
        ValueError: a pattern is malformed.
    """
    paths = listed(git) if among is None else among
    if patterns:
        paths = _matching(paths, patterns) if recursive else _matching_flat(paths, patterns)
    found = sorted(paths)
    refused = guard.unreadable(found, files_only=True)
    return tuple(path for path in found if path not in refused)


def listed(git: Git) -> set[str]:
    """Return all paths that git tracks or does not ignore.

    Raises:
        NotReady: the root is not in a git repository, or git cannot list its files.
    """
    try:
        listing = git.run(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
    except GitError:
        git.require_repository()
        raise
    return set(os.fsdecode(listing).split("\0")) - {""}


def _matching(paths: Iterable[str], patterns: Sequence[str]) -> set[str]:
    from pathspec import PathSpec

    return set(PathSpec.from_lines("gitignore", patterns).match_files(paths))


def _matching_flat(paths: Iterable[str], patterns: Sequence[str]) -> set[str]:
    paths = set(paths)
    folders = {folder for path in paths if (folder := posixpath.dirname(path))}
    chosen: set[str] = set()
    for given in patterns:
        pattern = _ANY_DEPTH.sub("", given.removeprefix("!"))
        anchored = pattern if pattern.startswith(("/", "#")) or not pattern.strip() else f"/{pattern}"
        below = _matching(folders, [anchored])  # leave out folders that match as a whole
        found = {path for path in _matching(paths, [anchored]) if posixpath.dirname(path) not in below}
        chosen = chosen - found if given.startswith("!") else chosen | found
    return chosen
