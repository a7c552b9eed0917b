"""Describe for people what an operation that puts files back left or took."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from code_commit_workspace import join_paths

if TYPE_CHECKING:
    from code_commit_workspace.checkpoint.restore import PutBack

_NAMED = 20  # paths in one message


def describe_put_back(put_back: PutBack) -> Iterator[str]:
    """Yield a line for files that stay because a person changed them, and for files that may be a person's."""
    if put_back.edited:
        paths = join_paths(put_back.edited, _NAMED)
        yield f"not restored, because somebody changed them after the run wrote them: {paths}"
    if put_back.unclaimed:
        paths = join_paths(put_back.unclaimed, _NAMED)
        yield f"changed while a process ran, so it may be your work: {paths}; `code-commit redo` brings it back"
