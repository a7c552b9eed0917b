"""Responses cannot change what git ignores: `git status` would not show it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from code_commit_workspace.git import CHECK_IGNORE, Git, GitError, listing
from code_commit_workspace.records import Change, Refusal, Tree

_EXPLAINED = 100  # ignored paths whose rule is looked up
_EXPLAINED_DEPTH = 12
_MOST_QUESTIONS = 100  # to git, to find the paths that it fails at


class Ignored:
    """Refuses the files that git itself calls ignored."""

    name = "ignored"

    def __init__(self, git: Git) -> None:
        self._git = git
        # Changes are checked, and once more before they are written.
        self._asked: Sequence[str] = ()
        self._reasons: Mapping[str, str] = {}

    def judge(self, changes: Sequence[Change], tree: Tree) -> Iterator[Refusal]:  # noqa: ARG002 - git looks by itself
        """Refuse paths that git ignores, tracked or not, and paths that it cannot decide."""
        paths = [change.path for change in changes]
        if paths != self._asked:
            self._reasons = ignore_reasons(paths, self._git)
            self._asked = paths
        for path, reason in self._reasons.items():
            yield Refusal(path, self.name, reason)


def ignore_reasons(paths: Sequence[str], git: Git) -> dict[str, str]:
    """Return those of `paths` that git ignores or cannot decide, and why."""
    undecided: dict[str, GitError] = {}
    try:
        ignored = git.ignored(paths)
    except GitError:
        ignored, undecided = _ask_in_parts(paths, git)
    reasons = dict.fromkeys(ignored, "git ignores it.")
    if explained := [path for path in paths if path in ignored][:_EXPLAINED]:
        for path, rule in ignore_rules(explained, git).items():
            if path in reasons:
                reasons[path] = f"git ignores it, by {rule}."
    for path, error in undecided.items():
        reasons[path] = f"git cannot check whether it ignores this path: {error}."
    return reasons


def ignore_rules(paths: Sequence[str], git: Git) -> dict[str, str]:
    """Return the rules by which git ignores `paths`, where git can explain them.

    These are for messages, not for decisions.
    """
    # With --verbose, git 2.39 reads freed memory (and may crash) below about 24 folders.
    paths = [path for path in paths if path.count("/") < _EXPLAINED_DEPTH]
    answer = git.run([*CHECK_IGNORE, "--verbose"], stdin=listing(paths), check=False)
    fields = iter(answer.split(b"\0"))
    rules: dict[str, str] = {}
    for source, line, pattern, name in zip(fields, fields, fields, fields, strict=False):
        path = os.fsdecode(name.removeprefix(b"./"))
        rules[path] = f"{_text(pattern)!r} in line {_text(line)} of {_text(source)}"
    return rules


def _ask_in_parts(paths: Sequence[str], git: Git) -> tuple[frozenset[str], dict[str, GitError]]:
    """Ask about ever smaller parts where git fails, so that one bad path affects no other."""
    ignored: frozenset[str] = frozenset()
    undecided: dict[str, GitError] = {}
    parts = [paths]
    questions = 0
    while parts:
        part = parts.pop()
        questions += 1
        try:
            ignored |= git.ignored(part)
        except GitError as error:
            if len(part) == 1 or questions >= _MOST_QUESTIONS:
                undecided.update(dict.fromkeys(part, error))
            else:
                middle = len(part) // 2
                parts += [part[middle:], part[:middle]]
    return ignored, undecided


def _text(data: bytes) -> str:
    return data.decode(errors="backslashreplace")
