"""`code-commit runs cost`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from code_commit.plugin_api import ExitCode, Host
from code_commit_history.cost import Cost
from code_commit_history.past_runs import PastRun, list_runs
from code_commit_history.runs import words
from code_commit_history.runs.selection import chosen, started

_UNKNOWN_DAY = "?"
_HEAD = ("DAY", "MODEL", "RUNS", "CALLS", "TOKENS IN / OUT", "COST")


@dataclass(slots=True)
class Bill:
    """What runs spent, on one model of a day or in total."""

    runs: int = 0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0
    is_complete: bool = True

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a row of `models` in a `run.json`, which may contain anything."""
        self.calls += words.whole(row.get("calls"))
        tokens = words.table(row, "tokens")
        self.input_tokens += words.whole(tokens.get("input"))
        self.output_tokens += words.whole(tokens.get("output"))
        cost = Cost.of_model(row)
        self.usd += cost.usd
        self.is_complete &= cost.complete

    @property
    def cells(self) -> tuple[str, ...]:
        """Return its columns of the table."""
        tokens = words.tokens(self.input_tokens, self.output_tokens)
        return str(self.runs), str(self.calls), tokens, str(Cost(self.usd, self.is_complete))

    @property
    def document(self) -> dict[str, Any]:
        """Return its fields for `--json`; the cost is in USD."""
        return {
            "runs": self.runs,
            "calls": self.calls,
            "tokens": {"input": self.input_tokens, "output": self.output_tokens},
            "cost_usd": round(self.usd, 6),
            "cost_complete": self.is_complete,
        }


def cost(host: Host, arguments: argparse.Namespace) -> int:
    """Print what the chosen runs cost, per day and model, and in total."""
    past_runs = chosen(list_runs(host.root), arguments)
    bills, total = _bills(past_runs)
    if arguments.json:
        rows = [{"day": day, "model": model, **bill.document} for (day, model), bill in bills]
        host.out.document({"rows": rows, "total": total.document})
        return ExitCode.REACHED
    lines = [(day, model, *bill.cells) for (day, model), bill in bills]
    host.out.table([_HEAD, *lines, ("total", "", *total.cells)])
    return ExitCode.REACHED


def _bills(past_runs: list[PastRun]) -> tuple[list[tuple[tuple[str, str], Bill]], Bill]:
    """Return the bill of each day and model, the oldest first, and that of all runs."""
    bills: dict[tuple[str, str], Bill] = {}
    total = Bill(runs=len(past_runs))
    for past_run in past_runs:
        start = started(past_run)
        day = start.date().isoformat() if start else _UNKNOWN_DAY
        models = set()
        for row in words.model_rows(past_run.document):
            if row.get("provider") == "replay":
                continue  # its tokens are those of the recorded run, and no service was called
            key = (day, str(row.get("model")))
            bill = bills.setdefault(key, Bill())
            bill.runs += key not in models
            models.add(key)
            bill.add(row)
            total.add(row)
    return sorted(bills.items()), total
