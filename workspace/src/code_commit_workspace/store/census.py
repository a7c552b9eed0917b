"""Count all files of a project, without keeping the status of each."""

from __future__ import annotations

import stat
from collections import defaultdict

from code_commit_workspace.store.last_look import FileState, file_state
from code_commit_workspace.store.visible import Modes, Statuses, modes_of

MANY = 10_000  # files; so many are no longer looked at one by one
SECOND = 10**9  # nanoseconds


class Census:
    """What a checkpoint has to know of all files.

    `now` is the time of the look, `index_time` when the index was written, both in nanoseconds by
    the clock of files. `paths` are the files, `total` and `largest` are in bytes. `to_read` are the
    bytes of the files that were changed since the index was written, `largest_to_read` is the path
    of one. `recent` has the states of those that were changed within the second of the look.
    """

    def __init__(self, now: int, index_time: int) -> None:
        self._now = now
        self._index_time = index_time
        self._by_mode: dict[int, list[str]] = defaultdict(list)
        self.paths: set[str] = set()
        self.recent: dict[str, FileState] = {}
        self.total = 0
        self.largest = 0
        self.to_read = 0
        self.largest_to_read = ""
        self._most_to_read = -1

    def add(self, files: Statuses) -> None:
        """Count `files`."""
        self.paths.update(files)
        for path, status in files.items():
            size = status.st_size
            self.total += size
            self.largest = max(self.largest, size)
            if stat.S_ISREG(status.st_mode):
                self._by_mode[status.st_mode & 0o777].append(path)
            if status.st_ctime_ns >= self._index_time:
                self.to_read += size
                if size > self._most_to_read:
                    self._most_to_read = size
                    self.largest_to_read = path
            if status.st_ctime_ns // SECOND >= self._now // SECOND and len(self.recent) <= MANY:
                self.recent[path] = file_state(status)

    def modes(self) -> Modes:
        """Return the permission bits of the files."""
        return modes_of(self._by_mode)
