"""No response may change what git ignores: `git status` would not show it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from code_commit_workspace.git import Git, GitError
from code_commit_workspace.records import Change, Refusal, Tree

_EXPLAINED = 100  # ignored paths whose pattern is looked up
_QUESTIONS = 100  # to git, to find the paths that it fails at


class Ignored:
    """Refuses the files that git ignores, by its own decision."""

    name = "ignored"

    def __init__(self, git: Git) -> None:
        self._git = git

    def judge(self, changes: Sequence[Change], tree: Tree) -> Iterator[Refusal]:  # noqa: ARG002 - git looks by itself
        """Refuse what git ignores, tracked or not, and what it cannot decide."""
        for path, reason in ignore_reasons([change.path for change in changes], self._git).items():
            yield Refusal(path, self.name, reason)


def ignore_reasons(paths: Sequence[str], git: Git) -> dict[str, str]:
    """Return those of `paths` that git ignores or cannot decide, and why."""
    ignored, undecided = _verdicts(paths, git)
    first = [path for path in paths if path in ignored][:_EXPLAINED]
    rules = git.ignore_rules(first) if first else {}
    said = {path: f"git ignores it, by {rules[path]}." if path in rules else "git ignores it." for path in ignored}
    return said | {path: f"git cannot tell whether it ignores this path: {why}." for path, why in undecided.items()}


def _verdicts(paths: Sequence[str], git: Git) -> tuple[set[str], dict[str, GitError]]:
    """Ask about all at once, and about ever smaller parts if git fails, so that a bad path spoils no other."""
    ignored: set[str] = set()
    undecided: dict[str, GitError] = {}
    parts = [paths]
    questions = 0
    while parts:
        part = parts.pop()
        questions += 1
        try:
            ignored |= git.ignored(part)
        except GitError as error:
            if len(part) == 1 or questions >= _QUESTIONS:
                undecided.update(dict.fromkeys(part, error))
            else:
                middle = len(part) // 2
                parts += [part[middle:], part[:middle]]
    return ignored, undecided
