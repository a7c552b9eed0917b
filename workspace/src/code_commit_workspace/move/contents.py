"""Copy and compare existing files and links.

This is for a rollback, and for files that cannot be linked or renamed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat

from code_commit_workspace.files.open_flags import NEW_FILE
from code_commit_workspace.files.project_tree import open_regular
from code_commit_workspace.move.disk import digest_of, give


def digest(folder: int, name: str) -> str | None:
    """Return the kind and SHA-256 of the file or link `name` in `folder`; None if it is neither.

    Raises:
        FileNotFoundError: it does not exist.
    """
    mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    if stat.S_ISLNK(mode):
        return digest_of(os.fsencode(os.readlink(name, dir_fd=folder)), link=True)
    if not stat.S_ISREG(mode):
        return None
    with open_regular(name, folder=folder) as file:
        return "file " + hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]


def copy(source: int, name: str, folder: int, copied: str, *, private: bool = False) -> None:
    """Copy a file or link with its mode, its times and, if permitted, its owner.

    If it is `private`, the copy gets mode 0600 and keeps our owner.
    """
    status = os.stat(name, dir_fd=source, follow_symlinks=False)
    if stat.S_ISLNK(status.st_mode):
        os.symlink(os.readlink(name, dir_fd=source), copied, dir_fd=folder)
        return
    with open_regular(name, folder=source) as old:
        handle = os.open(copied, NEW_FILE, 0o600, dir_fd=folder)
        with os.fdopen(handle, "wb", buffering=0) as new:
            shutil.copyfileobj(old, new, 1 << 20)
            if not private:
                give(handle, status.st_uid, status.st_gid)
                os.fchmod(handle, stat.S_IMODE(status.st_mode) & 0o777)
            os.utime(handle, ns=(status.st_atime_ns, status.st_mtime_ns))
            os.fsync(handle)
