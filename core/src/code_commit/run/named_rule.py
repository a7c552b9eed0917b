"""A path rule of a plugin that is named while it runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from code_commit.plugin_api.running_code import running
from code_commit_workspace import Change, PathRule, Refusal, Tree


@dataclass(eq=False, slots=True)
class NamedRule:
    """Implements `PathRule` with a rule of `distribution`."""

    distribution: str
    rule: PathRule
    name: str = field(init=False)

    def __post_init__(self) -> None:
        self.name = getattr(self.rule, "name", type(self.rule).__name__)

    def judge(self, changes: Sequence[Change], tree: Tree) -> Iterable[Refusal]:
        """Return what the rule returns."""
        with running(f"the path rule {self.name}", self.distribution):
            answer = self.rule.judge(changes, tree)
        if isinstance(answer, Iterator):
            return self._items(answer)
        return answer

    def _items(self, answer: Iterator[Refusal]) -> Iterator[Refusal]:
        with running(f"the path rule {self.name}", self.distribution):
            yield from answer
