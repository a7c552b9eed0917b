"""Rank files by how likely a change that a query describes needs them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from code_commit_context.bm25 import bm25
from code_commit_context.kinds import is_code, is_test
from code_commit_context.named import FileNames
from code_commit_context.past import Commit, past_commits, recent, similar
from code_commit_context.scan import Scan, scan
from code_commit_context.terms import terms_of

if TYPE_CHECKING:
    from code_commit_commit.hooks import ContextRequest

# What the score of a file consists of: each part is between 0 and its weight. They are measured
# (see docs/context.md); half of a weight, or twice as much, hardly makes a difference.
_CONTENT = 1.0
_PATH = 0.4
_PAST = 0.5
_RECENT = 0.15
_PAIR = 0.15
# What the score is multiplied by.
_TEST = 0.9
_NOT_CODE = 0.5
_GENERATED = 0.5
_SIZE = 0.1  # a power of the tokens
_SMALL = 200  # tokens; smaller files count as this large
BYTES_PER_TOKEN = 4

_CONTENT_B, _PATH_B = 0.75, 0.5  # of BM25
_NAME = 3  # times that a word in the name of a file counts
_BEST = 5  # files whose pairs count
_WORD = re.compile(r"[^\W_]+")
_OF_TEST = re.compile(r"^tests?_|[._-]?(?:tests?|specs?)$", re.IGNORECASE)
_COMMON_NAMES = frozenset({"", "__init__", "conftest", "index", "main", "mod"})


@dataclass(frozen=True, slots=True)
class Ranking:
    """The text files of a request, best first, with their `sizes` in bytes.

    The first of them are `named` by the query. `commits` are git's past, whose files are places in
    `files`, the paths in the order of the request; `scores` belong to these.
    """

    paths: Sequence[str] = field(repr=False)
    sizes: Mapping[str, int] = field(repr=False)
    named: Sequence[str]
    files: Sequence[str] = field(repr=False)
    scores: Sequence[float] = field(repr=False)
    commits: Sequence[Commit] = field(repr=False)
    generated: int
    not_text: int
    has_terms: bool


def rank(request: ContextRequest) -> Ranking:
    """Rank the files of a request without a call. The same input gives the same ranking."""
    terms = terms_of(request.query)
    files = scan(request.project.tree, request.paths, list(terms))
    places = {path: place for place, path in enumerate(files.paths)}
    commits = past_commits(request.project, places)
    scores = _scores(files, terms, commits)
    ranked = [files.paths[place] for place in best_first(scores)]
    named = FileNames(files.paths).named_in(request.query)
    return Ranking(
        paths=list(dict.fromkeys([*named, *ranked])),
        sizes=dict(zip(files.paths, files.sizes, strict=True)),
        named=named,
        files=files.paths,
        scores=scores,
        commits=commits,
        generated=sum(files.generated),
        not_text=files.not_text,
        has_terms=_have_terms(files, terms),
    )


def _have_terms(files: Scan, terms: Iterable[str]) -> bool:
    """Return whether a file has one of the terms, in its content or path."""
    paths = "\n".join(files.paths).lower()
    return any(map(any, files.counts)) or any(term in paths for term in terms)


def best_first(scores: Sequence[float]) -> list[int]:
    """Return the places of `scores`, the highest first; equal ones stay in their order."""
    return sorted(range(len(scores)), key=lambda place: -scores[place])


def normalised(scores: Sequence[float]) -> list[float]:
    """Return `scores` divided by the highest one."""
    highest = max(scores, default=0) or 1
    return [score / highest for score in scores]


def _scores(files: Scan, terms: Mapping[str, float], commits: Sequence[Commit]) -> list[float]:
    count = len(files.paths)
    columns = (
        (_CONTENT, bm25(terms.values(), files.counts, files.sizes, _CONTENT_B)),
        (_PATH, _fit_of_paths(files.paths, terms)),
        (_PAST, similar(commits, terms, count)),
        (_RECENT, recent(commits, count)),
    )
    sums = [0.0] * count
    for weight, column in columns:
        for place, score in enumerate(normalised(column)):
            sums[place] += weight * score
    factors = [_factor(files, place) for place in range(count)]
    scores = [total * factor for total, factor in zip(sums, factors, strict=True)]
    for place in _paired(files.paths, best_first(scores)[:_BEST]):
        scores[place] += _PAIR * factors[place]
    return scores


def _fit_of_paths(paths: Sequence[str], terms: Mapping[str, float]) -> list[float]:
    """Return how well the words of each path fit; those of its last part count more."""
    lower = [path.lower() for path in paths]
    names = [path.rpartition("/")[2] for path in lower]
    counts = [
        [
            path.count(term) + (_NAME - 1) * name.count(term)
            for path, name in zip(lower, names, strict=True)
        ]
        for term in terms
    ]
    lengths = [
        _words_in(path) + (_NAME - 1) * _words_in(name)
        for path, name in zip(lower, names, strict=True)
    ]
    return bm25(terms.values(), counts, lengths, _PATH_B)


def _words_in(path: str) -> int:
    return len(_WORD.findall(path))


def _factor(files: Scan, place: int) -> float:
    """Return what kind and size of a file do to its score."""
    path = files.paths[place]
    factor = 1.0
    if not is_code(path):
        factor = _NOT_CODE
    elif is_test(path):
        factor = _TEST
    if files.generated[place]:
        factor *= _GENERATED
    tokens = max(_SMALL, files.sizes[place] / BYTES_PER_TOKEN)
    return factor * math.pow(tokens, -_SIZE)


def _paired(paths: Sequence[str], best: Sequence[int]) -> list[int]:
    """Return the places of the tests and sources that belong to other files, the `best` ones."""
    stems = Counter(_stem(paths[place]) for place in best)
    for common in _COMMON_NAMES:
        del stems[common]
    places = [place for place, path in enumerate(paths) if _stem(path) in stems]
    alone = {place for place in best if stems[_stem(paths[place])] == 1}
    return [place for place in places if place not in alone]


def _stem(path: str) -> str:
    """Return what the name of a source and that of its test have in common."""
    return _OF_TEST.sub("", path.rpartition("/")[2].partition(".")[0].lower())
