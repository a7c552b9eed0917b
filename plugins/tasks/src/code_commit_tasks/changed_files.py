"""Which files have changed since a task began, whoever changed them."""

from __future__ import annotations

import os
from collections.abc import Iterable

from code_commit.plugin_api import Run

State = tuple[int, int, int, int]


class ChangedFiles:
    """Remembers the project's visible files, by what the system tells of each without reading it.

    The time of a change of status (ctime) is part of it: a command can set any other time of a file, but not that one.
    """

    def __init__(self, run: Run, earlier: Iterable[str] = ()) -> None:
        """Begin now; `earlier` have changed before, in a run that is resumed."""
        self._run = run
        self._before = self._states()
        self._earlier = frozenset(earlier)

    def paths(self) -> tuple[str, ...]:
        """Return the files that are new or other than before, sorted; those that are gone are not among them."""
        now = self._states()
        return tuple(sorted(path for path in now if path in self._earlier or now[path] != self._before.get(path)))

    def _states(self) -> dict[str, State]:
        states = {}
        for path in self._run.files():
            try:
                found = os.lstat(self._run.root / path)
            except OSError:
                continue  # gone meanwhile
            states[path] = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        return states
