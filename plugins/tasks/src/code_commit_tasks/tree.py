"""The tree of steps and their attempts: text for people, JSON for later runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from code_commit.plugin_api import printable, shorten
from code_commit_tasks.task_list import TaskStep

_LONGEST_LINE = 160
_LONGEST_TITLE = 100


@dataclass(slots=True)
class Attempt:
    """One attempt at a step.

    `code` and `log` are files of the run folder; `reason` is why it did not pass.
    """

    number: int
    passed: bool = False
    reason: str = ""
    code: str = ""
    log: str = ""


@dataclass(slots=True)
class Node:
    """A step, or the task itself, with the place "" and no `step`.

    `steps` are its parts in the last attempt. Places count from 1: "2.1". `within` are the numbers
    of the attempts that it is part of, "" for a step of the task: "3" is the third attempt at step
    2, "3.1" is an attempt at one of its parts.
    """

    place: str
    step: TaskStep | None = None
    attempts: list[Attempt] = field(default_factory=list)
    passed: bool = False
    result: str | None = None
    list_title: str = ""
    steps: list[Node] = field(default_factory=list)
    within: str = ""

    @property
    def title(self) -> str:
        """Return its title on one line."""
        if self.step is None:
            return "task"
        return _line(self.step.title, _LONGEST_TITLE)

    @property
    def depth(self) -> int:
        """Return its depth in the tree."""
        return self.place.count(".") + 1 if self.place else 0

    def child(self, number: int, step: TaskStep) -> Node:
        """Return a new node for the step `number` of its list, counted from 1."""
        within = self._number(self.attempts[-1]) if self.place and self.attempts else ""
        return Node(f"{self.place}.{number}".removeprefix("."), step, within=within)

    def name_of(self, attempt: Attempt) -> str:
        """Return a name for files that no other attempt of the task has: step-2.1-attempt-3.1."""
        name = f"step-{self.place}" if self.place else "task"
        return f"{name}-attempt-{self._number(attempt)}"

    def _number(self, attempt: Attempt) -> str:
        return f"{self.within}.{attempt.number}".removeprefix(".")


def lines(node: Node, above: str = "") -> Iterator[str]:
    """Yield the tree as lines of text."""
    if not node.place:
        yield _line(f"task: {_ending(node)}")
    for number, child in enumerate(node.steps, 1):
        is_last = number == len(node.steps)
        branch = "└─" if is_last else "├─"
        yield _line(f"{above}{branch} {child.place} {child.title}: {_ending(child)}")
        below = above + ("   " if is_last else "│  ")
        for attempt in child.attempts:
            if not attempt.passed and attempt.reason:
                yield _line(f"{below}   attempt {attempt.number}: {attempt.reason}")
        yield from lines(child, below)


def indent(node: Node) -> str:
    """Return the indentation of `node` for messages while the tree grows."""
    if node.depth == 0:
        return ""
    return "│  " * (node.depth - 1) + "├─ "


def _ending(node: Node) -> str:
    attempts = len(node.attempts)
    if node.passed:
        return f"passed at attempt {attempts}" if attempts > 1 else "passed"
    if not attempts:
        return "not started"
    return "failed" if node.attempts[-1].reason else "not finished"


def _line(text: str, longest: int = _LONGEST_LINE) -> str:
    return shorten(printable(" ".join(text.splitlines()), newlines=False), longest)
