"""Move files from one version to another: the only way in which files of the project change."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import NamedTuple

from code_commit_workspace.errors import Conflict
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.move.apply import ChangedMeanwhile, replace
from code_commit_workspace.move.disk import Step, no_step
from code_commit_workspace.move.survey import Write
from code_commit_workspace.move.three_way import Overlap
from code_commit_workspace.move.versions import Version, read_version

_TRIES = 10  # somebody may save a file at the very moment of a move

Choose = Callable[[Version | None], Version | None]
"""Takes what is at a path, and returns what to write there. Raises `Overlap`."""
Difference = tuple[Version | None, Version | None]
"""What is at a path before a move, and after it."""


class Moved(NamedTuple):
    """The paths that a move wrote, with what was there before and after.

    `replaced` are those where a person's changes overlapped and gave way.
    """

    differences: Mapping[str, Difference]
    replaced: frozenset[str] = frozenset()


def move(
    tree: ProjectTree,
    home: Path,
    choices: Mapping[str, Choose],
    *,
    fallback: Mapping[str, Version | None] | None = None,
    over_links: bool = True,
    recording: Callable[[Moved], AbstractContextManager[object]] = lambda _moved: nullcontext(),
    step: Step = no_step,
) -> Moved:
    """Write what `choices` return at each path: all of it, or nothing.

    On an overlap, write the `fallback` of the path, if there is one. `home` is the state folder.
    `recording` is around the writes, so that what is replaced is saved before. `over_links` allows
    to replace and remove links themselves.

    Raises:
        Conflict: changes overlap; nothing was written.
        NotReady: something cannot be written; the project is unchanged.
    """
    for _ in range(_TRIES):
        moved, seen = _plan(tree, choices, fallback or {})
        writes = [_write(path, after) for path, (_, after) in moved.differences.items()]
        try:
            with recording(moved):
                replace(tree, home, writes, over_links=over_links, seen=seen, step=step)
        except ChangedMeanwhile as error:
            changed = error
            continue
        return moved
    raise changed


def _plan(
    tree: ProjectTree,
    choices: Mapping[str, Choose],
    fallback: Mapping[str, Version | None],
) -> tuple[Moved, Mapping[str, os.stat_result]]:
    """Return what a move writes, and the status of each file there.

    Raises:
        Conflict: changes overlap.
        NotReady: a file cannot be read.
    """
    differences: dict[str, Difference] = {}
    seen: dict[str, os.stat_result] = {}
    conflicts: set[str] = set()
    replaced: set[str] = set()
    for path, choose in choices.items():
        current, status = read_version(tree, path)
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
        if chosen != current:
            differences[path] = (current, chosen)
    if conflicts:
        raise Conflict(conflicts)
    return Moved(differences, frozenset(replaced)), seen


def _write(path: str, version: Version | None) -> Write:
    if version is None:
        return Write(path, None)
    return Write(path, version.content, version.mode, version.is_link)
