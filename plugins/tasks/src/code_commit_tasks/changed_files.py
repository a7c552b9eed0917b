"""The files that a task changed, in this run and in those that it continues.

What people change meanwhile is not among them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from code_commit.plugin_api import Run, WorkDone, count_of, printable
from code_commit_tasks.saved import SavedTask

_SHOWN = 20  # files


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that the task changed, with its added and removed lines, None if it is binary.

    A person changed a `shared` file, too; the numbers have these lines only where both changes
    overlap.
    """

    path: str
    added: int | None
    removed: int | None
    shared: bool

    def __str__(self) -> str:
        counts = "binary" if self.added is None else f"+{self.added} -{self.removed}"
        line = f"{printable(self.path, newlines=False)} {counts}"
        return f"{line} (you changed it, too)" if self.shared else line


class ChangedFiles:
    """Tells what the task changed until now. `task` keeps the moments when its runs began."""

    def __init__(self, run: Run, task: SavedTask) -> None:
        self._run = run
        self._moments = task.moments
        self._moments.append(run.moment())

    def paths(self) -> tuple[str, ...]:
        """Return those that exist and that a model may read, sorted."""
        changed = _paths(self._work())
        return tuple(path for path in self._run.files() if path in changed)

    def files(self) -> list[ChangedFile]:
        """Return those that a model may read, and deleted ones, sorted."""
        work, paths = self.visible()
        return [
            ChangedFile(file.path, file.added, file.removed, file.path in work.by_people)
            for file in work.diffs(paths, most=0)
        ]

    def visible(self) -> tuple[WorkDone, frozenset[str]]:
        """Return what the task did, and what it changed and a model may read, or that is gone."""
        work = self._work()
        visible = {*self._run.files()}
        paths = (path for path in _paths(work) if path in visible or self._is_deleted(path))
        return work, frozenset(paths)

    def _work(self) -> WorkDone:
        return self._run.changes_since(*self._moments)

    def _is_deleted(self, path: str) -> bool:
        return not os.path.lexists(self._run.root / path)


def describe_files(files: Sequence[ChangedFile]) -> list[str]:
    """Return a line for each file."""
    lines = [f"changed {file}" for file in files]
    if len(lines) > _SHOWN:
        lines[_SHOWN:] = [f"changed {count_of(len(lines) - _SHOWN, 'more file', 'more files')}"]
    return lines


def _paths(work: WorkDone) -> frozenset[str]:
    return work.written | work.by_commands
