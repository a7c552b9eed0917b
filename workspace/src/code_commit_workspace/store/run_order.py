"""The order of the runs that have checkpoints, so that the latest is found without reading all."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress

from code_commit_workspace.files.open_flags import APPENDED_FILE
from code_commit_workspace.files.project_tree import open_regular
from code_commit_workspace.store.repository import REFS, PrivateRepository

_FILE = "run-order"
_LARGEST = 64 * 1024 * 1024  # bytes


class RunOrder:
    """A file with the name of each run in a line, in the order of their first checkpoints.

    A run may be gone since. The refs of the runs count, so the file can be written again.
    """

    def __init__(self, repository: PrivateRepository) -> None:
        self._repository = repository
        self._path = repository.path / _FILE

    def add(self, run: str) -> None:
        """Add the latest run."""
        with suppress(OSError):  # a run that is not in the file makes all be read
            handle = os.open(self._path, APPENDED_FILE, 0o600)
            with os.fdopen(handle, "a", encoding="ascii") as file:
                file.write(f"{run}\n")

    def runs(self) -> list[str] | None:
        """Return the runs, oldest first; None if some are not in the file."""
        existing = self._repository.names_below(REFS)
        try:
            with open_regular(self._path) as file:
                lines = file.read(_LARGEST).decode("ascii", "replace").splitlines()
        except OSError:
            return None if existing else []
        latest_first = dict.fromkeys(reversed(lines))  # a name may have been in use before
        known = [run for run in latest_first if run in existing]
        return known[::-1] if len(known) == len(existing) else None

    def write(self, runs: Iterable[str]) -> None:
        """Write the file again."""
        with suppress(OSError):
            self._path.unlink(missing_ok=True)
            self._path.write_text("".join(f"{run}\n" for run in runs), encoding="ascii")
