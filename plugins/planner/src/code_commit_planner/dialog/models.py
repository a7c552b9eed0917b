"""Show which models work, and what they cost."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from code_commit.plugin_api import Model, Run, Usage, cost_of
from code_commit_planner.dialog.messages import ROLE_MODEL
from code_commit_planner.dialog.notices import show
from code_commit_planner.dialog.text import fill

_TOKENS = 1000  # few: the price of a long prompt may be higher
_PRICED = 1_000_000


def show_models(run: Run, models: Mapping[str, Model]) -> None:
    """Show the model of each role; on a terminal, also the prices, which take time to load."""
    priced = sys.__stdout__ is not None and sys.__stdout__.isatty()
    lines = [
        fill(
            ROLE_MODEL,
            role=role.capitalize(),
            model=model.name,
            reason=model.reason,
            price=_price(model.name) if priced else "",
        )
        for role, model in models.items()
    ]
    show(run, "\n".join(lines))


def _price(model: str) -> str:
    """Return the price of a model in words, "" if it is unknown."""
    read = cost_of(model, Usage(input=_TOKENS, output=0))
    written = cost_of(model, Usage(input=0, output=_TOKENS))
    if read is None or written is None:
        return ""
    dollars = [f"${cost * _PRICED / _TOKENS:.2f}" for cost in (read, written)]
    return f", {dollars[0]} in and {dollars[1]} out per million tokens"
