"""Responses cannot change what git ignores: `git status` would not show it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from code_commit_workspace.git import Git, GitError
from code_commit_workspace.records import Change, Refusal, Tree


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
    ignored = None
    with suppress(GitError):
        ignored = git.ignored(paths)
        if not ignored:
            return {}
    from code_commit_workspace.guard.ignore_rules import reasons

    return reasons(paths, ignored, git)
