"""Format values for a page."""

from __future__ import annotations

import time

GOOD = frozenset({"reached"})


def money(cost: float | None) -> str:
    """Format USD; `?` if unknown."""
    return "?" if cost is None else f"${cost:.4f}"


def bill(usd: float, *, complete: bool) -> str:
    """Format a sum of costs in USD; `and more` if a part is unknown, `?` if all is."""
    if complete:
        return money(usd)
    return f"{money(usd)} and more" if usd else "?"


def count(number: int | None) -> str:
    """Format a number with thousands separators; `?` if unknown."""
    return "?" if number is None else f"{number:,}"


def local(at: float) -> str:
    """Format seconds since the epoch as local time."""
    return time.strftime("%Y-%m-%d %H:%M:%S %Z", time.localtime(at)) if at else "?"


def tone(outcome: str) -> str:
    """Return the CSS class of an outcome's badge."""
    if outcome in GOOD:
        return "good"
    return "open" if outcome in {"", "running"} else "bad"
