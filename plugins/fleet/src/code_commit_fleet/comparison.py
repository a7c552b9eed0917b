"""Compare models: how often each reaches its goal, and what a success costs.

The confidence intervals are those of 95 %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_Z = 1.96  # standard errors on each side of a mean


@dataclass(frozen=True, slots=True)
class Interval:
    """A value and the limits of its confidence interval, None if there are too few samples."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """A finished unit: whether it was reached, and the USD of all its tries, None if unknown."""

    reached: bool
    cost: float | None


def success_rate(samples: Sequence[Sample]) -> Interval | None:
    """Return the share of reached units; None without units.

    The interval is Wilson's score interval, which suits few units.
    """
    n = len(samples)
    if not n:
        return None
    p = sum(sample.reached for sample in samples) / n
    middle = p + _Z**2 / (2 * n)
    spread = _Z * math.sqrt(p * (1 - p) / n + _Z**2 / (4 * n**2))
    whole = 1 + _Z**2 / n
    low = max(0.0, (middle - spread) / whole)
    high = min(1.0, (middle + spread) / whole)
    return Interval(p, low, high)


def price_of_success(samples: Sequence[Sample]) -> Interval | None:
    """Return the USD of all units, also failed ones, per reached unit.

    Return None if a cost is unknown or no unit is reached. The interval is for a ratio of two means
    on a logarithmic scale (delta method), so that it stays above 0.
    """
    n = len(samples)
    costs = [sample.cost for sample in samples if sample.cost is not None]
    successes = sum(sample.reached for sample in samples)
    if len(costs) < n or not successes:
        return None
    ratio = sum(costs) / successes
    mean = sum(costs) / n
    if n < 2 or not mean:  # noqa: PLR2004 - one sample has no spread
        return Interval(ratio)
    # Relative to their means: the square of a tiny cost would be 0.
    p = successes / n
    differences = [
        (cost / mean - 1) - (sample.reached / p - 1)
        for cost, sample in zip(costs, samples, strict=True)
    ]
    variance = sum(difference**2 for difference in differences) / (n - 1) / n
    factor = math.exp(_Z * math.sqrt(variance))
    return Interval(ratio, ratio / factor, ratio * factor)
