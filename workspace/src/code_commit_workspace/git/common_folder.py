"""The folder that git gets as a repository's common folder.

It has links to what counts in the real one, and our own configuration.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import threading
import time
import weakref
from contextlib import suppress
from pathlib import Path

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.open_flags import FOLDER
from code_commit_workspace.files.path_kinds import exists
from code_commit_workspace.files.path_text import within
from code_commit_workspace.stop import STOP

_LINKS = (
    "HEAD",
    "info/exclude",
    "logs",
    "objects",
    "packed-refs",
    "refs",
    "reftable",
    "shallow",
    "worktrees",
)
_ATTRIBUTES = b"* !diff\n"  # nobody can hide changes from a diff by declaring a text file binary
_SETTINGS = "more-settings"
_PREFIX = "code-commit-git-"
_SECONDS_TO_LOCK = 60.0  # after the folder is created


class CommonFolder:
    """A folder with links to the parts of `real` that count. It is removed with this object.

    Raises:
        NotReady: it cannot be created.
    """

    def __init__(self, real: Path) -> None:
        try:
            self.path = Path(_new_folder(real))
            lock = os.open(self.path, FOLDER)
            removal = weakref.finalize(self, _remove, str(self.path), lock, os.getpid())
            STOP.process.on_end(removal)  # which may be without Python's shutdown
            fcntl.flock(lock, fcntl.LOCK_SH)
            (self.path / "info").mkdir()
            (self.path / "info/attributes").write_bytes(_ATTRIBUTES)
            for name in _LINKS:
                (self.path / name).symlink_to(real / name)
        except OSError as error:
            raise _no_folder(error) from error

    def write_config(self, text: str) -> None:
        """Write the configuration, which is missing at first."""
        try:
            (self.path / "config").write_bytes(os.fsencode(text))
        except OSError as error:
            raise _no_folder(error) from error

    def write_settings(self, text: str) -> Path:
        """Write more settings to a file that git does not read by itself, and return its path."""
        path = self.path / _SETTINGS
        try:
            if not exists(path) or path.read_bytes() != os.fsencode(text):
                new = self.path / f"{_SETTINGS}.{threading.get_ident()}"
                new.write_bytes(os.fsencode(text))
                new.replace(path)  # another thread may run git with it
        except OSError as error:
            raise _no_folder(error) from error
        return path


def _no_folder(error: OSError) -> NotReady:
    return NotReady(
        f"cannot create a temporary folder for git: {error.strerror}",
        hint="set TMPDIR to a folder with free space outside the project",
    )


def _new_folder(real: Path) -> str:
    """Create a folder that no sandboxed process sees.

    Avoid the folder of `real`: a build can write there.

    Raises:
        OSError: it cannot be created.
    """
    usual = tempfile.gettempdir()
    for place in ("/dev/shm", usual, "/var/tmp"):  # noqa: S108 - the first is quick: folders on a disk are slow to remove
        if not within(os.path.realpath(place), str(real.parent)):
            with suppress(OSError):
                _sweep(place)
                return tempfile.mkdtemp(prefix=_PREFIX, dir=place)
    return tempfile.mkdtemp(prefix=_PREFIX)


def _sweep(place: str) -> None:
    """Remove the folders of killed processes; a running one holds a lock on its folder."""
    with os.scandir(place) as entries:
        folders = [entry.path for entry in entries if entry.name.startswith(_PREFIX)]
    for folder in folders:
        with suppress(OSError):
            status = os.lstat(folder)
            is_old = status.st_mtime < time.time() - _SECONDS_TO_LOCK
            if is_old and status.st_uid == os.geteuid():
                lock = os.open(folder, FOLDER)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                finally:
                    os.close(lock)
                _empty(folder)


def _remove(folder: str, lock: int, process: int) -> None:
    os.close(lock)
    if process == os.getpid():  # not in a forked child
        _empty(folder)


def _empty(folder: str) -> None:
    for name in (*_LINKS, "info/attributes", "config", _SETTINGS):
        with suppress(OSError):
            os.unlink(f"{folder}/{name}")  # noqa: PTH108 - quick
    for name in ("/info", ""):
        with suppress(OSError):
            os.rmdir(f"{folder}{name}")  # noqa: PTH106 - quick
