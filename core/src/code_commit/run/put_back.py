"""What people learn of operations that put files back: what stayed, and what may be theirs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from code_commit_workspace import Workspace
from code_commit_workspace.words import join_paths

if TYPE_CHECKING:
    from code_commit_workspace import PutBack

_NAMED = 20  # paths in one message


def describe_put_back(put_back: PutBack) -> Iterator[str]:
    """Yield a line for files that a person changed, and for files that may be a person's."""
    if put_back.edited:
        paths = join_paths(put_back.edited, _NAMED)
        yield f"not restored, because somebody changed them after the run wrote them: {paths}"
    if put_back.moved:
        moved = [f"{path} to {place}" for path, place in put_back.moved]
        yield f"in the way of restored files, so moved: {join_paths(moved, _NAMED)}"
    if put_back.left_out:
        paths = join_paths(put_back.left_out, _NAMED)
        yield f"not restored, because checkpoints.max_file or max_total leaves them out: {paths}"
    if put_back.unclaimed:
        paths = join_paths(put_back.unclaimed, _NAMED)
        yield (
            f"changed while a process ran, so it may be your work: {paths}; "
            "`code-commit redo` brings it back"
        )


def trial_marker(workspace: Workspace, run: str) -> Path:
    """Return the file that exists while a trial of `run` shows files from before it."""
    return workspace.state("trial") / run


def take_killed_trials(workspace: Workspace) -> Iterator[str]:
    """Yield a line for each run that was killed while files from before it were shown, once."""
    for marker in sorted(workspace.state("trial").iterdir()):
        with suppress(OSError):
            marker.unlink()
            yield (
                f"the run {marker.name} was killed while files from before it were built, "
                "so its changes are not all in place; "
                f"`code-commit redo {marker.name}` brings them back"
            )
