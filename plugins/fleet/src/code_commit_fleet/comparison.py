"""Compare models: how often each reaches its goal, and what a success costs, with confidence
intervals of 95 %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_Z = 1.96  # standard errors on each side of a mean


@dataclass(frozen=True, slots=True)
class Interval:
    """A value and the limits of its confidence interval, None if there are too few samples for
    them.
    """

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """A finished unit: whether it was reached, and the USD of all its tries, None if unknown."""

    reached: bool
    cost: float | None


def success_rate(samples: Sequence[Sample]) -> Interval | None:
    """Return the share of reached units with Wilson's score interval, which suits few units; None
    without units.
    """
    n = len(samples)
    if not n:
        return None
    p = sum(each.reached for each in samples) / n
    middle = p + _Z**2 / (2 * n)
    spread = _Z * math.sqrt(p * (1 - p) / n + _Z**2 / (4 * n**2))
    whole = 1 + _Z**2 / n
    return Interval(p, max(0.0, (middle - spread) / whole), min(1.0, (middle + spread) / whole))


def price_of_success(samples: Sequence[Sample]) -> Interval | None:
    """Return the USD of all units, also failed ones, per reached unit; None if a cost is unknown or
    no unit is reached.

    The interval is for a ratio of two means on a logarithmic scale (delta method), so that it stays
    above 0.
    """
    n, costs = len(samples), [each.cost for each in samples if each.cost is not None]
    successes = sum(each.reached for each in samples)
    if len(costs) < n or not successes:
        return None
    ratio = sum(costs) / successes
    mean, p = sum(costs) / n, successes / n
    if n < 2 or not mean:  # noqa: PLR2004 - one sample has no spread
        return Interval(ratio)
    # Relative to their means: the square of a tiny cost would be 0.
    pairs = [
        (each.cost / mean - 1, each.reached / p - 1) for each in samples if each.cost is not None
    ]
    variance = sum((cost - success) ** 2 for cost, success in pairs) / (n - 1) / n
    factor = math.exp(_Z * math.sqrt(variance))
    return Interval(ratio, ratio / factor, ratio * factor)
