"""The changes of a run, step by step, from its checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from code_commit_history.story import Applied


@dataclass(frozen=True, slots=True)
class Step:
    """One applied change set: `old` and `new` are the commits before and after it.

    `number` is the number of the attempt, or a count in workflows without attempts.
    """

    number: int
    old: str
    new: str
    applied: Applied | None = None


def steps_of(checkpoints: Sequence[tuple[str, str]], applied: Sequence[Applied]) -> list[Step]:
    """Pair the checkpoints of a run, (label, commit) in order, with the change sets that it
    applied.

    There is a checkpoint after each change set; the checkpoint before it is the state after the
    last build or at the start of the run. If checkpoints and change sets do not match one to one,
    the steps are numbered from 1.
    """
    indices = [
        index for index, (label, _) in enumerate(checkpoints) if index and _is_applied(label)
    ]
    change_sets: Sequence[Applied | None] = (
        applied if len(applied) == len(indices) else [None] * len(indices)
    )
    steps = []
    for count, (index, each) in enumerate(zip(indices, change_sets, strict=True), 1):
        number = count if each is None or each.attempt is None else each.attempt
        steps.append(Step(number, checkpoints[index - 1][1], checkpoints[index][1], each))
    return steps


def whole_change(checkpoints: Sequence[tuple[str, str]]) -> tuple[str, str] | None:
    """Return the first and the last commit of a run, or None if it wrote nothing."""
    return (checkpoints[0][1], checkpoints[-1][1]) if checkpoints else None


def _is_applied(label: str) -> bool:
    return label.partition("-")[0] == "applied"
