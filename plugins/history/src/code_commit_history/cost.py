"""What the calls of a run cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from code_commit.plugin_api import Usage, cost_of

# The service may have worked on a request that failed so.
_MAY_HAVE_COST = frozenset({"network", "server", "invalid_response", "interrupted"})


@dataclass(frozen=True, slots=True)
class Cost:
    """USD, as far as prices and tokens are known; `complete` says whether nothing is missing in it."""

    usd: float
    complete: bool

    def __str__(self) -> str:
        """For people: `$0.0123`, `$0.0123+` when a part is not known, `?` when nothing is."""
        if self.complete:
            return f"${self.usd:.4f}"
        return f"${self.usd:.4f}+" if self.usd else "?"

    @classmethod
    def of_call(cls, provider: str, model: str, usage: Usage, *, told: float | None, failed: str | None) -> Cost:
        """Return what one call cost. `told`: what the run itself counted; `failed`: the kind of error it ended with."""
        if told is not None:
            return cls(told, complete=True)
        if provider == "replay":
            return cls(0.0, complete=True)  # nobody was asked
        if failed is not None:
            return cls(0.0, complete=failed not in _MAY_HAVE_COST)
        usd = cost_of(model, usage)
        return cls(usd or 0.0, complete=usd is not None)

    @classmethod
    def sum(cls, costs: Iterable[Cost]) -> Cost:
        """Add costs up; the sum is complete if all of them are."""
        costs = list(costs)
        return cls(sum(cost.usd for cost in costs), complete=all(cost.complete for cost in costs))
