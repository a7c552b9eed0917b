"""What the task agent tells the run log, besides its spans `tasks.step` and `tasks.attempt`.

`step` is the place of a step in the tree, counted from 1: "2" is the second step of the task, "2.1" the first of the
list that it was taken apart into. The task itself is "".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from code_commit.plugin_api import Event


@dataclass(frozen=True, slots=True)
class CodeReceived(Event):
    """An answer is about to run. `code` and `log` are files of the run folder; `log` gets its calls and its output."""

    kind: ClassVar[str] = "tasks.code"
    step: str
    attempt: int
    code: str
    log: str


@dataclass(frozen=True, slots=True)
class FunctionCalled(Event):
    """The code called a tool, or tried to. `call` is one line; `characters` are those of the answer."""

    kind: ClassVar[str] = "tasks.called"
    step: str
    attempt: int
    tool: str
    call: str
    is_error: bool
    seconds: float
    characters: int
    error: str | None = None


@dataclass(frozen=True, slots=True)
class TakenApart(Event):
    """A task or step was taken apart. `steps` are rows of step, title, step_type and exit_requirement."""

    kind: ClassVar[str] = "tasks.listed"
    step: str
    title: str
    steps: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class AttemptJudged(Event):
    """An attempt is over. `reason` says why it did not pass."""

    kind: ClassVar[str] = "tasks.judged"
    step: str
    attempt: int
    passed: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class StepEnded(Event):
    """A step is over: it passed, or its attempts are spent. `earlier`: it passed in the run that is resumed."""

    kind: ClassVar[str] = "tasks.ended"
    step: str
    title: str
    passed: bool
    attempts: int
    characters: int = 0
    earlier: bool = False
