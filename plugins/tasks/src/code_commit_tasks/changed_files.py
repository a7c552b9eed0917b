"""Track the files that changed since a task began, by anyone."""

from __future__ import annotations

import os
from collections.abc import Iterable

from code_commit.plugin_api import Run

State = tuple[int, int, int, int]


class ChangedFiles:
    """Compares the status of the project's visible files, without reading them.

    The status includes the ctime, the only time that a command cannot set.
    """

    def __init__(self, run: Run, earlier: Iterable[str] = ()) -> None:
        """Start tracking; `earlier` files changed before, in a run that is resumed."""
        self._run = run
        self._before = self._states()
        self._earlier = frozenset(earlier)

    def paths(self) -> tuple[str, ...]:
        """Return new and changed files, sorted, without deleted ones."""
        changed = [
            path
            for path, state in self._states().items()
            if path in self._earlier or state != self._before.get(path)
        ]
        return tuple(sorted(changed))

    def _states(self) -> dict[str, State]:
        states = {}
        for path in self._run.files():
            try:
                status = os.lstat(self._run.root / path)
            except OSError:
                continue  # just deleted
            states[path] = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        return states
