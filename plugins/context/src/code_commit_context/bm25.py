"""The ranking function BM25, with the terms of one query."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

_K1 = 1.2


def bm25(
    weights: Iterable[float],
    counts: Iterable[Sequence[int]],
    lengths: Sequence[int],
    b: float,
) -> list[float]:
    """Return the score of each document.

    `counts` has, for each term, how often each document has it; `b` is how much the length of a
    document matters.
    """
    scores = [0.0] * len(lengths)
    if not lengths:
        return scores
    mean = sum(lengths) / len(lengths) or 1
    norms = [_K1 * (1 - b + b * length / mean) for length in lengths]
    for weight, column in zip(weights, counts, strict=True):
        having = len(column) - column.count(0)
        rarity = math.log(1 + (len(column) - having + 0.5) / (having + 0.5))
        factor = weight * rarity * (_K1 + 1)
        for at, count in enumerate(column):
            if count:
                scores[at] += factor * count / (count + norms[at])
    return scores
