"""Events of the task agent, in addition to its spans `tasks.step` and `tasks.attempt`.

`step` is the place of a step in the tree, counted from 1: "2" is the second step of the task, "2.1"
its first part. The task itself is "".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from code_commit.plugin_api import Event


@dataclass(frozen=True, slots=True)
class CodeReceived(Event):
    """An answer is about to run.

    `code` and `log` are files of the run folder; `log` receives its calls and output.
    """

    kind: ClassVar[str] = "tasks.code"
    step: str
    attempt: int
    code: str
    log: str


@dataclass(frozen=True, slots=True)
class FunctionCalled(Event):
    """The code called a tool, or tried to.

    `call` is one line; `characters` is the length of the answer.
    """

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
class TaskDivided(Event):
    """A task or step was divided.

    `steps` are rows of step, title, step_type, exit_requirement and verifies.

    `verifies` is the exit requirement in words.
    """

    kind: ClassVar[str] = "tasks.listed"
    step: str
    title: str
    steps: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class AttemptJudged(Event):
    """An attempt ended. `reason` is why it did not pass."""

    kind: ClassVar[str] = "tasks.judged"
    step: str
    attempt: int
    passed: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class StepEnded(Event):
    """A step ended: it passed, or all attempts failed.

    `earlier` means that it passed in the run that is resumed.
    """

    kind: ClassVar[str] = "tasks.ended"
    step: str
    title: str
    passed: bool
    attempts: int
    characters: int = 0
    earlier: bool = False
