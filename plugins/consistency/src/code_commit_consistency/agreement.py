"""Join the findings of several reports that say the same."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from code_commit_consistency.findings import Finding

_WORD = re.compile(r"\w{4,}")
_SIMILAR = 0.4  # of the words of two findings are in both
_SIMILAR_IN_PLACE = 0.15  # of two findings about the same lines


def agreed(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings of all reports: one for those of several reports that agree.

    Each has the text of the first report that has it. Sorted by the number of reports, the most
    first.
    """
    joined: list[Finding] = []
    words: list[frozenset[str]] = []
    for finding in findings:
        own = frozenset(_WORD.findall(finding.text.lower()))
        same = _most_similar(finding, own, joined, words)
        if same is None:
            joined.append(finding)
            words.append(own)
        else:
            joined[same] = _join(joined[same], finding)
    return sorted(joined, key=lambda finding: -len(finding.samples))


def _most_similar(
    finding: Finding,
    words: frozenset[str],
    others: list[Finding],
    words_of_others: list[frozenset[str]],
) -> int | None:
    """Return the index of the finding of another report that says the same, or None."""
    best = None
    best_score = 0.0
    for index, other in enumerate(others):
        if other.section != finding.section or set(finding.samples) & set(other.samples):
            continue
        score = _similarity(words, words_of_others[index])
        is_in_place = bool(set(finding.places) & set(other.places))
        limit = _SIMILAR_IN_PLACE if is_in_place else _SIMILAR
        if score >= limit and score > best_score:
            best = index
            best_score = score
    return best


def _similarity(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(len(one | other), 1)


def _join(one: Finding, other: Finding) -> Finding:
    return replace(
        one,
        paths=tuple(dict.fromkeys((*one.paths, *other.paths))),
        places=tuple(dict.fromkeys((*one.places, *other.places))),
        specification=one.specification or other.specification,
        samples=(*one.samples, *other.samples),
    )
