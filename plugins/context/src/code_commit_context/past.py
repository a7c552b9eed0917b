"""Read git's past: which commits resemble the query, what changed lately, what changed together."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING

from code_commit.plugin_api import NotReady
from code_commit_context.bm25 import bm25

if TYPE_CHECKING:
    from code_commit_commit.hooks import Project

_COMMITS = 2000
_RECENT = 1000  # commits
_HALF = 100  # commits until one counts half
_BEST = 40  # commits that resemble the query
_LARGEST_OUTPUT = 8 * 1024 * 1024  # bytes
_LONGEST_MESSAGE = 4000  # bytes
_B = 0.75
_TOGETHER = 30  # files; a larger commit tells little
_LOG = (
    *("log", "-z", "--no-renames", "--no-merges", "--name-only", "--relative"),
    *(f"--max-count={_COMMITS}", "--format=%x00%B", "HEAD"),
)


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit: its message in lower case, and its files as places in a list of paths.

    `size` counts all of its files, also those that no longer exist.
    """

    message: bytes = field(repr=False)
    files: Sequence[int] = field(repr=False)
    size: int


def past_commits(project: Project, places: Mapping[str, int]) -> list[Commit]:
    """Return the last commits, the latest first; none without a past.

    `places` has the place of each path. Messages are not trusted: they count, nobody sees them.
    """
    try:
        output = project.git(*_LOG, check=False, most=_LARGEST_OUTPUT)
    except NotReady:
        return []
    return list(_commits(output[:_LARGEST_OUTPUT], places))


def _commits(output: bytes, places: Mapping[str, int]) -> Iterator[Commit]:
    """Parse git's output: an empty field, a message, and the paths, the first after a newline."""
    fields = iter(output.split(b"\0"))
    next(fields, None)
    for message in fields:
        paths = [os.fsdecode(path) for path in takewhile(bool, fields)]
        paths[:1] = [path.removeprefix("\n") for path in paths[:1]]
        files = [places[path] for path in paths if path in places]
        yield Commit(message[:_LONGEST_MESSAGE].lower(), files, len(paths))


def similar(commits: Sequence[Commit], terms: Mapping[str, float], files: int) -> list[float]:
    """Return a score for each of `files` that commits changed whose messages have the terms."""
    scores = [0.0] * files
    counts = [[commit.message.count(term.encode()) for commit in commits] for term in terms]
    lengths = [len(commit.message) for commit in commits]
    fits = bm25(terms.values(), counts, lengths, _B)
    best = sorted(range(len(commits)), key=lambda at: -fits[at])[:_BEST]
    for at in best:
        commit = commits[at]
        for file in commit.files:
            scores[file] += fits[at] / math.sqrt(commit.size + 0.5)
    return scores


def recent(commits: Sequence[Commit], files: int) -> list[float]:
    """Return a score for each of `files`: how often and how lately commits changed it."""
    scores = [0.0] * files
    for age, commit in enumerate(commits[:_RECENT]):
        for file in commit.files:
            scores[file] += 1 / (1 + age / _HALF)
    return [math.log1p(score) for score in scores]


def together(commits: Sequence[Commit], changed: AbstractSet[int], files: int) -> list[float]:
    """Return a score for each of `files`: how often it changed together with those `changed`."""
    scores = [0.0] * files
    for commit in commits:
        if commit.size <= _TOGETHER and not changed.isdisjoint(commit.files):
            for file in commit.files:
                scores[file] += 1 / math.sqrt(commit.size)
    return scores
