"""The changes of a run, step by step, from its checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

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
    """Pair the checkpoints of a run with the change sets that it applied.

    Checkpoints are pairs of label and commit, in order.

    There is a checkpoint after each change set; the checkpoint before it is the state after the
    last build or at the start of the run. If checkpoints and change sets do not match one to one,
    the steps are numbered from 1.
    """
    steps: list[Step] = []
    for (_, old), (label, new) in pairwise(checkpoints):
        if _is_applied(label):
            steps.append(Step(len(steps) + 1, old, new))
    if len(steps) != len(applied):
        return steps
    return [
        _with_changes(step, change_set) for step, change_set in zip(steps, applied, strict=True)
    ]


def _with_changes(step: Step, applied: Applied) -> Step:
    number = step.number if applied.attempt is None else applied.attempt
    return replace(step, number=number, applied=applied)


def whole_change(checkpoints: Sequence[tuple[str, str]]) -> tuple[str, str] | None:
    """Return the first and the last commit of a run, or None if it wrote nothing."""
    if not checkpoints:
        return None
    (_, first), (_, last) = checkpoints[0], checkpoints[-1]
    return first, last


def _is_applied(label: str) -> bool:
    return label.partition("-")[0] == "applied"
