"""The context `ranked`: files by words, paths, git's past and pairs, without a call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from code_commit.plugin_api import count_of, join_paths, printable
from code_commit_commit.hooks import Selection
from code_commit_context.filling import Filling, tokens_of
from code_commit_context.ranking import BYTES_PER_TOKEN, Ranking
from code_commit_context.scan import LARGEST, is_text

if TYPE_CHECKING:
    from code_commit_commit.hooks import ContextRequest

_BEST = 10  # files; it is told which of them do not fit
_SHOWN = 3  # paths


def choose(request: ContextRequest, ranking: Ranking, first: Sequence[str] = ()) -> Selection:
    """Choose the files `first`, then those that fit the query best, and the map of the next."""
    named = set(request.named)
    order = [path for path in dict.fromkeys([*first, *ranking.paths]) if path not in named]
    filling = Filling(request.project.tree, ranking.sizes, request.tokens - _taken(request))
    filling.fill(order)
    reason = "; ".join(_reasons(ranking, order, request.tokens))
    return Selection(paths=filling.whole, map=filling.map, reason=reason)


def _taken(request: ContextRequest) -> int:
    """Return the tokens of the files that the user named."""
    contents = request.project.tree.contents(request.named, LARGEST)
    texts = [(path, content) for path, content in contents if content and is_text(content)]
    return sum(tokens_of(path, content) for path, content in texts)


def _reasons(ranking: Ranking, order: Sequence[str], tokens: int) -> Iterator[str]:
    """Yield how the files were chosen, and what was left out that a person may miss."""
    if not order:
        yield "there is no text file to choose from"
        return
    if ranking.has_terms:
        yield f"by words of the query, paths and {count_of(len(ranking.commits), 'past commit')}"
    else:
        yield "no file has a word of the query; those that changed lately come first"
    if ranking.named:
        yield f"the query names {_some(ranking.named)}"
    most = tokens * BYTES_PER_TOKEN
    too_large = [path for path in order[:_BEST] if ranking.sizes[path] > most]
    if too_large:
        yield f"larger than the budget: {_some(too_large)}"
    if ranking.generated:
        yield f"{count_of(ranking.generated, 'generated file ranks', 'generated files rank')} lower"
    if ranking.not_text:
        yield f"{count_of(ranking.not_text, 'file is', 'files are')} not text"


def _some(paths: Sequence[str]) -> str:
    return printable(join_paths(paths, _SHOWN), newlines=False)
