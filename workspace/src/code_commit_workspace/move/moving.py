"""Move files from one version to another: the only way in which files of the project change."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from code_commit_workspace.errors import Conflict, NotReady
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.move.apply import ChangedMeanwhile, replace
from code_commit_workspace.move.line import Line
from code_commit_workspace.move.survey import Write
from code_commit_workspace.move.three_way import Overlap
from code_commit_workspace.move.versions import Version

_NAMED = 20  # obstacles in one message
_TRIES = 10  # somebody may save a file at the very moment of a move

Read = Callable[[str], tuple[Version | None, os.stat_result | None]]
"""Takes a path, and returns what is there, with its status."""
Choose = Callable[[Version | None], Version | None]
"""Takes what is at a path, and returns what to write there. Raises `Overlap`."""
Difference = tuple[Version | None, Version | None]
"""What is at a path before a move, and after it."""


class Moved(NamedTuple):
    """What was at each path before a move, and what is there after it, also where that is the same.

    `replaced` are the paths where a person's changes overlapped and gave way. `obstacles` say what
    is in the way of files that were not moved.
    """

    versions: Mapping[str, Difference]
    replaced: frozenset[str] = frozenset()
    obstacles: tuple[str, ...] = ()

    def require_all(self) -> None:
        """Check that nothing was in the way.

        Raises:
            NotReady: something was.
        """
        if self.obstacles:
            raise NotReady("; ".join(self.obstacles[:_NAMED]))

    @property
    def differences(self) -> dict[str, Difference]:
        """Those of `versions` that the move wrote."""
        return {path: pair for path, pair in self.versions.items() if pair[0] != pair[1]}


def move(
    tree: ProjectTree,
    home: Path,
    read: Read,
    choices: Mapping[str, Choose],
    *,
    fallback: Mapping[str, Version | None],
    prepare: Callable[[Moved], Line | None],
) -> Moved:
    """Write what `choices` return at each path: all of it, or nothing.

    On an overlap, write the `fallback` of the path, if there is one. `home` is the state folder.
    `prepare` saves what is replaced, and returns the line of the log that tells of the move.

    Raises:
        Conflict: changes overlap; nothing was written.
        NotReady: something cannot be written; the project is unchanged.
    """
    for _ in range(_TRIES):
        moved, seen = _plan(read, choices, fallback)
        writes = [Write.of(path, after) for path, (_, after) in moved.differences.items()]
        line = prepare(moved)
        try:
            replace(tree, home, writes, seen=seen, line=line)
        except ChangedMeanwhile as error:
            changed = error
            continue
        return moved
    raise changed


def _plan(
    read: Read,
    choices: Mapping[str, Choose],
    fallback: Mapping[str, Version | None],
) -> tuple[Moved, Mapping[str, os.stat_result]]:
    """Return what a move writes, and the status of each file there.

    Raises:
        Conflict: changes overlap.
        NotReady: a file cannot be read.
    """
    versions: dict[str, Difference] = {}
    seen: dict[str, os.stat_result] = {}
    conflicts: set[str] = set()
    replaced: set[str] = set()
    for path, choose in choices.items():
        current, status = read(path)
        if status is not None:
            seen[path] = status
        try:
            chosen = choose(current)
        except Overlap:
            if path not in fallback:
                conflicts.add(path)
                continue
            chosen = fallback[path]
            replaced.add(path)
        versions[path] = (current, _with_mode(chosen, current))
    if conflicts:
        raise Conflict(conflicts)
    return Moved(versions, frozenset(replaced)), seen


def _with_mode(chosen: Version | None, current: Version | None) -> Version | None:
    """Return `chosen` with the permission bits of the present file, unless it has its own."""
    if chosen is None or current is None or chosen.mode is not None or chosen.is_link:
        return chosen
    return chosen._replace(mode=current.mode)
