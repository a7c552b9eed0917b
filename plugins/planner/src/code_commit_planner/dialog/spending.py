"""Compute what the run has spent so far, from its own events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from code_commit.plugin_api import Run, Usage, cost_of, count_of, read_records, run_document

_PRICES_FROM = 1.0  # seconds of model calls; for less, loading the prices is not worth the time


def spent(run: Run) -> dict[str, Any]:
    """Return the tokens and the cost of the run so far; None for what is unknown."""
    try:
        document = run_document(read_records(run.folder / "events.jsonl"))
    except OSError:
        return {"tokens": None, "cost_usd": None}
    known = [
        count
        for name, count in document["tokens"].items()
        if name in {"input", "output"} and count is not None
    ]
    cost = document["cost_usd"]
    if cost is None and document["seconds"]["model"] >= _PRICES_FROM:
        costs = [cost_of(row["model"], Usage(**row["tokens"])) for row in document["models"]]
        cost = None if None in costs else sum(filter(None, costs))
    return {
        "tokens": sum(known) if known else None,
        "cost_usd": None if cost is None else round(cost, 6),
    }


def describe_spent(so_far: Mapping[str, Any]) -> str:
    """Return the tokens and the cost of `spent` as short text for people; "" if both are unknown."""
    parts = [count_of(so_far["tokens"], "token")] if so_far["tokens"] else []
    return ", ".join(
        [*parts, *([] if so_far["cost_usd"] is None else [f"${so_far['cost_usd']:.4f}"])]
    )
