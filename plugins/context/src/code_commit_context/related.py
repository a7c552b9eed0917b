"""Find further files for a repair: those that its failure names, and those that change together."""

from __future__ import annotations

from collections.abc import Sequence

from code_commit_context.named import FileNames
from code_commit_context.past import together
from code_commit_context.ranking import Ranking, best_first, normalised

_TOGETHER = 0.6  # a file that changed together, against the best one of the query
_MOST = 20  # files


def related_files(ranking: Ranking, failure: str, changed: Sequence[str]) -> list[str]:
    """Return files that a repair may need, best first, without those `changed`."""
    places = {path: place for place, path in enumerate(ranking.files)}
    edited = {places[path] for path in changed if path in places}
    beside = normalised(together(ranking.commits, edited, len(places)))
    scores = [
        score + _TOGETHER * weight
        for score, weight in zip(normalised(ranking.scores), beside, strict=True)
    ]
    named = FileNames(ranking.files).named_in(failure)
    ranked = [ranking.files[place] for place in best_first(scores)]
    known = set(changed)
    paths = [path for path in dict.fromkeys([*named, *ranked]) if path not in known]
    return paths[:_MOST]
