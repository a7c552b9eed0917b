"""The contexts of this plugin, for one run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from code_commit_commit.hooks import Context, ContextRequest, Selection
from code_commit_context import navigator, ranked
from code_commit_context.ranking import Ranking, rank
from code_commit_context.related import related_files


def contexts() -> list[Context]:
    """Return the contexts."""
    return [
        _context("ranked", "files that fit the words of the query", ranked.choose),
        _context("map", "files that a model chooses from a map of the code", navigator.choose),
    ]


def _context(
    name: str,
    help_text: str,
    choose: Callable[[ContextRequest, Ranking], Selection],
) -> Context:
    ranked_files = _Ranked(choose)
    return Context(name, help_text, ranked_files.choose, ranked_files.related)


class _Ranked:
    """Chooses files, and keeps their ranking for the repairs of the run."""

    def __init__(self, choose: Callable[[ContextRequest, Ranking], Selection]) -> None:
        self._choose = choose
        self._ranking: Ranking | None = None

    def choose(self, request: ContextRequest) -> Selection:
        self._ranking = rank(request)
        return self._choose(request, self._ranking)

    def related(
        self,
        request: ContextRequest,
        failure: str,
        changed: Sequence[str],
    ) -> Sequence[str]:
        ranking = self._ranking or rank(request)
        return related_files(ranking, failure, changed)
