"""The cost of the calls of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from code_commit.plugin_api import run_cost

if TYPE_CHECKING:
    from code_commit.plugin_api import Usage

# After these errors, the service may still charge for the request.
_MAY_HAVE_COST = frozenset({"network", "server", "invalid_response", "interrupted"})


@dataclass(frozen=True, slots=True)
class Cost:
    """A cost in USD. `complete` is False if a price or a number of tokens is unknown."""

    usd: float
    complete: bool

    def __str__(self) -> str:
        """Format for people: `$0.0123`, `$0.0123+` if a part is unknown, `?` if all is unknown."""
        if self.complete:
            return f"${self.usd:.4f}"
        return f"${self.usd:.4f}+" if self.usd else "?"

    @classmethod
    def of_call(
        cls,
        provider: str,
        model: str,
        usage: Usage,
        *,
        recorded: float | None,
        error_kind: str | None,
    ) -> Cost:
        """Return the cost of one call.

        `recorded` is the cost in the log; `error_kind` is None without an error.
        """
        if recorded is not None:
            return cls(recorded, complete=True)
        if provider == "replay":
            return cls(0.0, complete=True)  # no service was called
        if error_kind is not None:
            return cls(0.0, complete=error_kind not in _MAY_HAVE_COST)
        from code_commit.plugin_api import cost_of  # a list of runs needs no price

        usd = cost_of(model, usage)
        return cls(usd or 0.0, complete=usd is not None)

    @classmethod
    def of_model(cls, row: Mapping[str, Any]) -> Cost:
        """Return the cost of a model in `run.json`, which may contain anything."""
        usd = row.get("cost_usd")
        if not isinstance(usd, int | float):
            return cls(0.0, complete=False)
        return cls(float(usd), complete=row.get("unpriced") == 0)

    @classmethod
    def of_run(cls, document: Mapping[str, Any]) -> Cost:
        """Return the cost of a run from its `run.json`."""
        usd, complete = run_cost(document)
        return cls(usd, complete)

    @classmethod
    def sum(cls, costs: Iterable[Cost]) -> Cost:
        """Add costs; the sum is complete if all of them are."""
        costs = list(costs)
        return cls(sum(cost.usd for cost in costs), complete=all(cost.complete for cost in costs))
