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
from code_commit_workspace.interruption import STOP
from code_commit_workspace.records import Refusal

_ANY_DEPTH = re.compile(r"(?:^|(?<=/))\*\*/")
_LONGEST = 64  # characters of an ordinary name
# Names, each before a slash.
_ORDINARY = re.compile(rf"(?:\w[\w.+-]{{,{_LONGEST - 1}}}+(?<!\.)/)*+", re.ASCII)


def matching(
    paths: AbstractSet[str], patterns: Sequence[str], *, recursive: bool
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
    return _matching(paths, patterns) if recursive else _matching_flat(paths, patterns)


def _matching(paths: Iterable[str], patterns: Sequence[str]) -> set[str]:
    from pathspec import PathSpec

    try:
        return set(PathSpec.from_lines("gitignore", patterns).match_files(paths))
    except re.error as error:  # pathspec does not escape everything that git allows in brackets
        raise ValueError(f"cannot read {' '.join(patterns)!r}: {error}") from error


def _matching_flat(paths: AbstractSet[str], patterns: Sequence[str]) -> set[str]:
    folders = {folder for path in paths if (folder := posixpath.dirname(path))}
    chosen: set[str] = set()
    for given in patterns:
        pattern = _ANY_DEPTH.sub("", given.removeprefix("!"))
        anchored = (
            pattern if pattern.startswith(("/", "#")) or not pattern.strip() else f"/{pattern}"
        )
        # Leave out the files of folders that match as a whole.
        below = _matching(folders, [anchored])
        found = {
            path for path in _matching(paths, [anchored]) if posixpath.dirname(path) not in below
        }
        chosen = chosen - found if given.startswith("!") else chosen | found
    return chosen


def unreadable(
    paths: Sequence[str],
    tree: ProjectTree,
    git: Git,
    closed: ProtectedNames,
    *,
    files_only: bool = False,
) -> dict[str, Refusal]:
    """Return those of `paths` that a model may not see, with the reasons.

    `closed` finds names that it may never see.

    With `files_only`, also return folders and paths that do not exist.
    """
    refused: dict[str, Refusal] = {}
    plain = PlainPath(tree.root)
    try:
        lookup = PathLookup(tree, git)
    except GitError as error:
        return {
            path: Refusal(path, "reading", f"git cannot check this path: {error}.")
            for path in paths
        }
    asked: dict[str, str] = {}
    for folder, group in groupby(paths, lambda path: path.rpartition("/")[0]):
        STOP.check()
        start = len(folder) + bool(folder)
        ordinary = _ordinary_files(folder, lookup, plain, closed) if files_only else ()
        for given in group:
            if given[start:] in ordinary:
                asked[given] = given
                continue
            path = normalise_path(given)
            reason = (
                plain.reason(path)
                or _closed(path, closed)
                or _place(path, lookup, tree, files_only=files_only)
            )
            if reason:
                refused[given] = Refusal(given, "reading", reason)
            else:
                asked[given] = path
    if ignored := ignore_reasons(list(dict.fromkeys(asked.values())), git):
        refused |= {
            given: Refusal(given, "reading", ignored[path])
            for given, path in asked.items()
            if path in ignored
        }
    return refused


def _ordinary_files(
    folder: str, lookup: PathLookup, plain: PlainPath, closed: ProtectedNames
) -> Collection[str]:
    """Return the names of regular files in `folder` that a model may see, without those that need a
    closer look.

    This is much faster than a look at each path.
    """
    longest = f"{folder}{'/' * bool(folder)}{'x' * _LONGEST}"
    if plain.reason(longest) or closed.find(longest):
        return ()
    found = lookup.regular_files(folder)
    text = "/".join([*found, ""])
    if _ORDINARY.fullmatch(text) and closed.names.isdisjoint(text.lower().split("/")):
        return found
    return {
        name
        for name in found
        if _ORDINARY.fullmatch(f"{name}/") and name.lower() not in closed.names
    }


def _closed(path: str, closed: ProtectedNames) -> str | None:
    if (found := closed.find(path)) is None:
        return None
    return f"Models cannot read {found[0].name}."


def _place(path: str, lookup: PathLookup, tree: ProjectTree, *, files_only: bool) -> str | None:
    if path in lookup.submodules:
        return other_repository(path)
    state = lookup.to(path)
    found = look(tree, path) if state.exists and state.reason is None else state.reason
    if found is None:
        return "There is no such file." if files_only else None
    if isinstance(found, str):
        return found
    if stat.S_ISREG(found.st_mode) or (stat.S_ISDIR(found.st_mode) and not files_only):
        return None
    return f"It is {kind_of(found)}; only regular files can be read."
