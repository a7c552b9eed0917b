"""Select files by patterns, and refuse what a model may not see."""

from __future__ import annotations

import posixpath
import re
import stat
from collections.abc import Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from itertools import groupby

from code_commit_workspace.files.path_kinds import kind_of
from code_commit_workspace.files.project_tree import ProjectTree, normalise_path
from code_commit_workspace.git import Git, GitError
from code_commit_workspace.guard.ignored import ignore_reasons
from code_commit_workspace.guard.names import PlainPath
from code_commit_workspace.guard.places import PathLookup, look, other_repository
from code_commit_workspace.guard.protected import ProtectedNames
from code_commit_workspace.records import Refusal
from code_commit_workspace.stop import STOP

_ANY_DEPTH = re.compile(r"(?:^|(?<=/))\*\*/")
_LONGEST = 64  # characters of an ordinary name
# Ordinary names, each with a slash after it.
_ORDINARY = re.compile(rf"(?:\w[\w.+-]{{,{_LONGEST - 1}}}+(?<!\.)/)*+", re.ASCII)


def matching(
    paths: AbstractSet[str],
    patterns: Sequence[str],
    *,
    recursive: bool,
) -> AbstractSet[str]:
    """Return those of `paths` that match `patterns`; all of them without patterns.

    `patterns` have the syntax of a `.gitignore` file in the root: the last match decides, `!`
    excludes again. If `recursive`, a plain name matches at any depth, and a folder matches
    everything below it. Otherwise nothing below a pattern's own folder matches: `*.py` matches
    files in the root; `src/*.py`, `src/**/*.py` and `src/` match those directly in `src`.

    Raises:
        ValueError: a pattern is malformed.
    """
    if not patterns:
        return paths
    if recursive:
        return _matching(paths, patterns)
    return _matching_flat(paths, patterns)


def _matching(paths: Iterable[str], patterns: Sequence[str]) -> set[str]:
    from pathspec import PathSpec

    try:
        return set(PathSpec.from_lines("gitignore", patterns).match_files(paths))
    except re.error as error:  # pathspec does not escape everything that git allows in brackets
        raise ValueError(f"cannot read {' '.join(patterns)!r}: {error}") from error


def _matching_flat(paths: AbstractSet[str], patterns: Sequence[str]) -> set[str]:
    folders = {folder for path in paths if (folder := posixpath.dirname(path))}
    chosen: set[str] = set()
    for pattern in patterns:
        anchored = _anchored(pattern.removeprefix("!"))
        # Leave out the files of folders that match as a whole.
        whole_folders = _matching(folders, [anchored])
        matches = {
            path
            for path in _matching(paths, [anchored])
            if posixpath.dirname(path) not in whole_folders
        }
        if pattern.startswith("!"):
            chosen -= matches
        else:
            chosen |= matches
    return chosen


def _anchored(pattern: str) -> str:
    """Return `pattern` as one that matches only in its own folder."""
    pattern = _ANY_DEPTH.sub("", pattern)
    is_comment = pattern.startswith("#")
    if is_comment or pattern.startswith("/") or not pattern.strip():
        return pattern
    return f"/{pattern}"


def unreadable(
    paths: Sequence[str],
    tree: ProjectTree,
    git: Git,
    closed: ProtectedNames,
    *,
    files_only: bool = False,
) -> dict[str, Refusal]:
    """Return those of `paths` that a model may not see, with the reasons.

    `closed` finds names that it may never see. With `files_only`, also return folders and paths
    that do not exist.
    """
    refusals: dict[str, Refusal] = {}
    plain = PlainPath(tree.root)
    try:
        lookup = PathLookup(tree, git)
    except GitError as error:
        reason_of_all = f"git cannot check this path: {error}."
        return {path: Refusal(path, "reading", reason_of_all) for path in paths}
    spellings: dict[str, str] = {}  # the remaining paths, as in `paths` and normalised
    for folder, group in groupby(paths, lambda path: path.rpartition("/")[0]):
        STOP.check()
        ordinary: Collection[str] = ()
        if files_only:
            ordinary = _ordinary_files(folder, lookup, plain, closed)
        start = len(folder) + 1 if folder else 0
        for spelling in group:
            if spelling[start:] in ordinary:
                spellings[spelling] = spelling
                continue
            path = normalise_path(spelling)
            reason = (
                plain.reason(path)
                or _why_closed(path, closed)
                or _wrong_place(path, lookup, tree, files_only=files_only)
            )
            if reason:
                refusals[spelling] = Refusal(spelling, "reading", reason)
            else:
                spellings[spelling] = path
    ignored = ignore_reasons(list(dict.fromkeys(spellings.values())), git)
    if ignored:
        for spelling, path in spellings.items():
            if path in ignored:
                refusals[spelling] = Refusal(spelling, "reading", ignored[path])
    return refusals


def _ordinary_files(
    folder: str,
    lookup: PathLookup,
    plain: PlainPath,
    closed: ProtectedNames,
) -> Collection[str]:
    """Return the names of regular files in `folder` that a model may see.

    Names that need a closer look are left out. This is much faster than a look at each path.
    """
    longest = "x" * _LONGEST
    if folder:
        longest = f"{folder}/{longest}"
    if plain.reason(longest) or closed.find(longest):
        return ()
    names = lookup.regular_files(folder)
    text = "/".join([*names, ""])
    if _ORDINARY.fullmatch(text) and closed.names.isdisjoint(text.lower().split("/")):
        return names
    return {
        name
        for name in names
        if _ORDINARY.fullmatch(f"{name}/") and name.lower() not in closed.names
    }


def _why_closed(path: str, closed: ProtectedNames) -> str | None:
    match = closed.find(path)
    if match is None:
        return None
    entry, _ = match
    return f"Models cannot read {entry.name}."


def _wrong_place(
    path: str,
    lookup: PathLookup,
    tree: ProjectTree,
    *,
    files_only: bool,
) -> str | None:
    """Return why what is at `path` cannot be read, or None."""
    if path in lookup.submodules:
        return other_repository(path)
    state = lookup.to(path)
    if state.reason is not None:
        return state.reason
    status = look(tree, path) if state.exists else None
    if isinstance(status, str):
        return status
    if status is None:
        return "There is no such file." if files_only else None
    is_folder = stat.S_ISDIR(status.st_mode)
    if stat.S_ISREG(status.st_mode) or (is_folder and not files_only):
        return None
    return f"It is {kind_of(status)}; only regular files can be read."
