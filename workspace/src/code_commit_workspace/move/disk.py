"""Single disk operations through directory handles: flush, write, move into place."""

from __future__ import annotations

import errno
import os
import posixpath
from collections.abc import Callable, Collection
from contextlib import suppress

from code_commit_workspace.files.open_flags import NEW_FILE, OLD_FILE
from code_commit_workspace.files.project_tree import ProjectTree

Step = Callable[[str], None]  # called before each change on disk; a test may raise or kill there

# Flush up to this many files one by one: the whole file system may have gigabytes of other data to
# flush.
FEW = 16


def no_step(_step: str) -> None:
    """Do nothing: the default step."""


def flush_files(folder: int, names: Collection[str]) -> None:
    """Make the files `names` in `folder`, and the folder itself, survive a power loss."""
    if len(names) > FEW:
        flush_file_system(folder)
        return
    for name in names:
        # A file that we cannot read is not one that we just wrote.
        with suppress(PermissionError):
            handle = os.open(name, OLD_FILE, dir_fd=folder)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
    os.fsync(folder)


def flush_file_system(handle: int) -> None:
    """Make everything on the file system of `handle` survive a power loss.

    Raises:
        OSError: a write to the disk failed.
    """
    import ctypes

    try:
        syncfs = ctypes.CDLL(None, use_errno=True).syncfs
    except (AttributeError, OSError):  # not Linux
        os.sync()
        return
    if syncfs(handle) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def flush_parents(tree: ProjectTree, paths: Collection[str]) -> None:
    """Make the presence or absence of `paths` survive a power loss."""
    folders = {posixpath.dirname(path) for path in paths}
    devices: set[int] = set()
    for path in sorted(folders):
        with suppress(FileNotFoundError, NotADirectoryError), tree.folder(path) as handle:
            if len(folders) <= FEW:
                os.fsync(handle)
            elif (device := os.fstat(handle).st_dev) not in devices:
                devices.add(device)
                flush_file_system(handle)


def digest_of(content: bytes | memoryview, *, link: bool) -> str:
    """Return what `contents.digest` returns for a file or link with this content."""
    import hashlib  # slow

    kind = "link" if link else "file"
    return f"{kind} {hashlib.sha256(content).hexdigest()}"


def write_file(folder: int, name: str, content: bytes | memoryview, mode: int | None) -> int:
    """Write a new file and return an open handle on it.

    With `mode` None, the umask decides its permission bits.
    """
    handle = os.open(name, NEW_FILE, 0o666 if mode is None else 0o600, dir_fd=folder)
    try:
        remaining = memoryview(content)
        while remaining:
            remaining = remaining[os.write(handle, remaining) :]
        if mode is not None:
            os.fchmod(handle, mode)
    except BaseException:
        os.close(handle)
        raise
    return handle


def give(handle: int, owner: int, group: int) -> None:
    """Set a file's owner and group, as far as permitted."""
    status = os.fstat(handle)
    if (status.st_uid, status.st_gid) != (owner, group):
        with suppress(PermissionError):
            os.fchown(handle, owner, group)


def place(source: int, staged: str, folder: int, name: str, temporary: str) -> os.stat_result:
    """Move `staged` to `name` atomically and return its status there.

    Across a mount point, copy it first to `temporary`, in the target's folder.
    """
    status = os.stat(staged, dir_fd=source, follow_symlinks=False)
    try:
        os.rename(staged, name, src_dir_fd=source, dst_dir_fd=folder)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        from code_commit_workspace.move.contents import copy

        try:
            copy(source, staged, folder, temporary)
            status = os.stat(temporary, dir_fd=folder, follow_symlinks=False)
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            remove(folder, temporary)
            raise
    return status


def remove(folder: int, name: str) -> None:
    """Remove a file or link, if it exists."""
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)
