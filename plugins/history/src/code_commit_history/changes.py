"""The changes of a run, step by step, from its checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from code_commit_history.story import Applied


@dataclass(frozen=True, slots=True)
class Step:
    """From the tree before a change to the tree with it, as commits; `number` is the attempt's where there are such."""

    number: int
    old: str
    new: str
    applied: Applied | None = None


def steps_of(checkpoints: Sequence[tuple[str, str]], applied: Sequence[Applied]) -> list[Step]:
    """Pair the checkpoints of a run, as (label, commit) in order, with the changes that it applied.

    Each change has a checkpoint taken when it was in place; the one before shows the tree as the model's last build
    or the start left it. Where the two do not match one to one, the steps are counted.
    """
    places = [index for index, (label, _) in enumerate(checkpoints) if index and _is_applied(label)]
    told: Sequence[Applied | None] = applied if len(applied) == len(places) else [None] * len(places)
    steps = []
    for count, (at, each) in enumerate(zip(places, told, strict=True), 1):
        number = count if each is None or each.attempt is None else each.attempt
        steps.append(Step(number, checkpoints[at - 1][1], checkpoints[at][1], each))
    return steps


def whole_change(checkpoints: Sequence[tuple[str, str]]) -> tuple[str, str] | None:
    """Return the first and the last commit of a run, or None when it wrote nothing."""
    return (checkpoints[0][1], checkpoints[-1][1]) if checkpoints else None


def _is_applied(label: str) -> bool:
    return label.partition("-")[0] == "applied"
