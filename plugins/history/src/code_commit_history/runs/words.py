"""Figures of a run, for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from code_commit.plugin_api import RunSummary, Usage


def outcome(summary: RunSummary) -> str:
    """How a run ended, or that it did not: `running`, `killed`."""
    return summary.outcome or summary.state


def models(document: Mapping[str, Any]) -> list[str]:
    """The models that answered, by the service's names."""
    rows = document.get("models")
    return [str(row.get("model")) for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []


def table(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A part of the document that should be a table: a log may hold anything."""
    value = document.get(name)
    return value if isinstance(value, Mapping) else {}


def tokens(count: Mapping[str, Any] | Usage) -> str:
    """Tokens in and out: `12,345 / 678`, a `?` for what was not told."""
    pair = (count.input, count.output) if isinstance(count, Usage) else (count.get("input"), count.get("output"))
    return " / ".join(f"{each:,}" if isinstance(each, int) else "?" for each in pair)


def duration(seconds: float | None) -> str:
    """`3.2 s`, `4:05`, `1:02:03`."""
    if seconds is None:
        return "?"
    if seconds < 60:  # noqa: PLR2004 - a minute
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def total_seconds(document: Mapping[str, Any]) -> float | None:
    """How long the run took, or has taken so far."""
    seconds = document.get("seconds")
    total = seconds.get("total") if isinstance(seconds, Mapping) else None
    return float(total) if isinstance(total, int | float) else None
