"""A file that grows line by line, locked while the process that writes it lives."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress

from code_commit_workspace.files.open_flags import NEW_FILE


class LineFile:
    """Appends lines to a new file in an open folder. It is not thread-safe.

    `is_locked` detects the lock. On a file system without locks, there is none.
    """

    def __init__(self, folder: int, name: str) -> None:
        self._handle = os.open(name, NEW_FILE | os.O_APPEND, 0o600, dir_fd=folder)
        with suppress(OSError):
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._torn = False

    def append(self, line: bytes) -> None:
        """Append a line; after an incomplete one, begin a new line first.

        Raises:
            OSError: it cannot be written, or only in part.
        """
        if self._torn:
            line = b"\n" + line
        unwritten = memoryview(line)
        while unwritten:
            self._torn = True
            size = os.write(self._handle, unwritten)
            unwritten = unwritten[size:]
        self._torn = False

    def close(self) -> None:
        """Close the file and release its lock. A second call does nothing."""
        handle, self._handle = self._handle, -1
        if handle >= 0:
            with suppress(OSError):
                # Explicitly: a child shares the descriptor until its exec.
                fcntl.flock(handle, fcntl.LOCK_UN)
            os.close(handle)
