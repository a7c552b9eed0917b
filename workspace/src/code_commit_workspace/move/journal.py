"""The undo journal: everything that a rollback needs.

    stage             state                                                      the next start
    journal/staging   being written; the project is unchanged                    removes it
    journal/active    the project is being changed                               rolls it back
    journal/done      all changes are made, or all are undone                    removes it

One rename leads from each stage to the next. For file `n` of the plan, the folder has `new-n`, its
new content until it is moved into place, and `old-n`, a hard link to the old file (which keeps
inode, times and owner), or a copy with mode 0600 where the file system cannot link. `back-n` is a
file that is being restored.

A hostile build may have edited the journal: `parse_plan` checks the plan before anything is used.
"""

from __future__ import annotations

import fcntl
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Self

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.open_flags import FOLDER
from code_commit_workspace.files.tree_removal import remove_tree
from code_commit_workspace.move.home import open_folder, open_home, unlock

STAGING = "staging"
ACTIVE = "active"
DONE = "done"


class Journal:
    """The journal's folder, locked by one process at a time."""

    def __init__(self, home: Path) -> None:
        self.path = home / "journal"
        self.private_folder = home.parent.name
        self.home = home
        self.handle = -1

    def __enter__(self) -> Self:
        home = open_home(self.home)
        try:
            self.handle = open_folder(home, "journal")
        except OSError as error:
            raise NotReady(
                f"the journal {self.path} cannot be used: {error.strerror}",
                hint="it must be a writable folder, not a link",
            ) from error
        finally:
            os.close(home)
        try:
            fcntl.flock(self.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self.handle)
            raise NotReady(
                "another run is changing files of this project", hint="wait until it ends"
            ) from None
        except OSError:
            pass  # a file system without locks: the project's lock must suffice
        return self

    def __exit__(self, *_: object) -> None:
        handle = self.handle
        self.handle = -1
        unlock(handle)

    def has(self, stage: str) -> bool:
        """Return whether `stage` exists."""
        try:
            os.stat(stage, dir_fd=self.handle, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    def open(self, stage: str) -> int:
        """Return a handle on the folder of `stage`.

        Raises:
            OSError: it does not exist, or is a link or file.
        """
        return os.open(stage, FOLDER, dir_fd=self.handle)

    def begin(self) -> int:
        """Create the folder of `STAGING` and return a handle on it."""
        os.mkdir(STAGING, 0o700, dir_fd=self.handle)
        return self.open(STAGING)

    def move(self, stage: str, following: str) -> None:
        """Turn one stage into the next, with a single rename."""
        os.rename(stage, following, src_dir_fd=self.handle, dst_dir_fd=self.handle)

    def flush(self) -> None:
        """Make the last `move` survive a power loss, before anything that depends on it."""
        os.fsync(self.handle)

    def drop(self, stage: str) -> None:
        """Remove `stage`, if it exists.

        Raises:
            OSError: it cannot be removed.
        """
        with suppress(FileNotFoundError):
            status = os.stat(stage, dir_fd=self.handle, follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                remove_tree(stage, dir_fd=self.handle)
            else:
                os.unlink(stage, dir_fd=self.handle)
