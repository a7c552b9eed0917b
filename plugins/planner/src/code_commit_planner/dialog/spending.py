"""Compute what the run has spent so far, from its own events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from code_commit.plugin_api import Event, Run, Usage, cost_of, count_of, read_records, run_document

_PRICES_FROM = 1.0  # seconds of model calls; for less, loading the prices is not worth the time


@dataclass(frozen=True, slots=True)
class Spent(Event):
    """What the run has spent so far, before a turn or at the end; None for what is unknown."""

    kind: ClassVar[str] = "planner.spent"
    tokens: int | None
    cost_usd: float | None


def report_spent(run: Run) -> str:
    """Emit what the run has spent so far; return it as short text, "" if it is unknown."""
    spent = _spent(run)
    run.emit(spent)
    parts = []
    if spent.tokens:
        parts.append(count_of(spent.tokens, "token"))
    if spent.cost_usd is not None:
        parts.append(f"${spent.cost_usd:.4f}")
    return ", ".join(parts)


def _spent(run: Run) -> Spent:
    """Sum up the events of the run."""
    try:
        document = run_document(read_records(run.folder / "events.jsonl"))
    except OSError:
        return Spent(None, None)
    counts = [document["tokens"].get(name) for name in ("input", "output")]
    known_counts = [count for count in counts if count is not None]
    cost = document["cost_usd"]
    if cost is None and document["seconds"]["model"] >= _PRICES_FROM:
        cost = _cost(document["models"])
    return Spent(
        tokens=sum(known_counts) if known_counts else None,
        cost_usd=None if cost is None else round(cost, 6),
    )


def _cost(models: Iterable[Mapping[str, Any]]) -> float | None:
    """Return what the calls of `models` cost, or None if the price of one is unknown."""
    costs = [cost_of(row["model"], Usage(**row["tokens"])) for row in models]
    if None in costs:
        return None
    return sum(filter(None, costs))
