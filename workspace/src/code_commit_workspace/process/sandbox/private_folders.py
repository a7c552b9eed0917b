"""The folders that a sandboxed process sees instead of /tmp, /var/tmp and the user's cache."""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.open_flags import FOLDER
from code_commit_workspace.files.path_kinds import exists, is_folder
from code_commit_workspace.files.path_text import within
from code_commit_workspace.files.tree_removal import remove_tree
from code_commit_workspace.move.home import open_folder

PROJECT = "project"
"""The file in a project's private folders with the path of the project."""
_RUN = "run-"


class PrivateFolders:
    """The private folders of one run in the project at `root`, a real path.

    `cache` is kept for the next run; `close` removes `temporary`, `other_temporary` and the file
    `empty`.
    """

    def __init__(self, root: str, environ: Mapping[str, str]) -> None:
        """Create the folders.

        Raises:
            NotReady: they cannot be created.
        """
        place = private_place(root, environ)
        folder = place / blake2b(os.fsencode(root), digest_size=8).hexdigest()
        try:
            # `parents` have the umask's mode.
            for above in (place.parent.parent, place.parent, place):
                if not exists(above):
                    above.mkdir(mode=0o700, parents=True, exist_ok=True)
            with locked(place, fcntl.LOCK_SH):  # `old_caches` removes none meanwhile
                cache = _cache_of(root, folder)
                run, handle = _new_run(folder)
            temporary = run / "tmp"
            other_temporary = run / "var-tmp"
            for shared in (temporary, other_temporary):
                shared.mkdir()
                shared.chmod(0o1777)  # nobody else can enter the folder above
            empty = run / "empty"
            empty.touch(mode=0o444)
        except OSError as error:
            raise NotReady(
                f"private temporary folders cannot be created in {place}: {error.strerror}",
                hint="set XDG_CACHE_HOME to a writable folder outside the project",
            ) from error
        self.cache = str(cache)
        self.temporary = str(temporary)
        self.other_temporary = str(other_temporary)
        self.empty = str(empty)
        self.close = weakref.finalize(self, _remove_run, run, handle)


def private_place(root: str, environ: Mapping[str, str]) -> Path:
    """Return the folder that contains the private folders of all projects.

    Raises:
        NotReady: there is no home folder.
    """
    named = environ.get("XDG_CACHE_HOME", "")
    if not Path(named).is_absolute() or within(os.path.realpath(named), root):
        named = f"{home_folder(environ)}/.cache"
    return Path(os.path.realpath(named), "code-commit", "sandbox")


def home_folder(environ: Mapping[str, str]) -> str:
    """Return the real path of the home folder.

    Raises:
        NotReady: there is none.
    """
    home = environ.get("HOME") or os.path.expanduser("~")  # noqa: PTH111 - it does not raise
    if not Path(home).is_absolute() or not is_folder(home):
        raise NotReady(f"there is no home folder {home}", hint="set HOME to one")
    return os.path.realpath(home)


def make_mount_point(base: str, path: str, *, folder: bool) -> None:
    """Create the folder or file `path` below `base`, with all folders above it.

    Earlier processes could write to `base`, so replace links and files that they left in the way,
    and open the folders that they closed.

    Raises:
        OSError: it cannot be created.
    """
    try:
        _make_mount_point(base, path, folder=folder)
    except OSError as error:
        raise OSError(error.errno, error.strerror, f"{base}/{path}") from error


def _make_mount_point(base: str, path: str, *, folder: bool) -> None:
    parts = Path(path).parts
    folders = parts if folder else parts[:-1]
    handle = os.open(base, FOLDER)
    try:
        for name in folders:
            _remove_unless(stat.S_ISDIR, name, handle)
            below = _open_anyway(handle, name)
            os.close(handle)
            handle = below
        if not folder:
            _make_file(handle, parts[-1])
    finally:
        os.close(handle)


def _make_file(parent: int, name: str) -> None:
    _remove_unless(stat.S_ISREG, name, parent)
    flags = os.O_CREAT | os.O_NOFOLLOW | os.O_WRONLY | os.O_CLOEXEC
    os.close(os.open(name, flags, 0o600, dir_fd=parent))


def _open_anyway(parent: int, name: str) -> int:
    """Return a handle on the folder `name`, as `open_folder` does; let its owner enter it.

    The folder is no link.
    """
    try:
        return open_folder(parent, name)
    except PermissionError:
        os.chmod(name, 0o700, dir_fd=parent)
        return open_folder(parent, name)


def _remove_unless(expected: Callable[[int], bool], name: str, folder: int) -> None:
    """Remove `name` in `folder` if its mode is not `expected`."""
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return
    if expected(mode):
        return
    if stat.S_ISDIR(mode):
        remove_tree(name, dir_fd=folder)
    else:
        os.unlink(name, dir_fd=folder)


@contextmanager
def locked(folder: Path, kind: int) -> Iterator[None]:
    """Hold the lock of `folder`.

    Raises:
        OSError: it is missing, or, with `LOCK_NB`, another process holds the lock.
    """
    handle = os.open(folder, FOLDER)
    try:
        fcntl.flock(handle, kind)
        yield
    finally:
        os.close(handle)


def in_use(folder: Path) -> bool:
    """Return whether a run uses the private folders in `folder`."""
    for run in folder.glob(f"{_RUN}*"):
        try:
            os.close(_lock_of(run))
        except OSError:
            return True
    return False


def _cache_of(root: str, folder: Path) -> Path:
    """Create the folder of the project `root` and the cache in it; return the cache."""
    folder.mkdir(mode=0o700, exist_ok=True)
    cache = folder / "cache"
    cache.mkdir(mode=0o700, exist_ok=True)
    cache.chmod(0o700)  # an earlier process may have closed it
    project = folder / PROJECT
    if not project.exists():
        project.write_bytes(os.fsencode(root))
    return cache


def _new_run(folder: Path) -> tuple[Path, int]:
    """Create a folder for one run and lock it; remove the folders of killed runs."""
    with locked(folder, fcntl.LOCK_EX):
        for earlier_run in folder.glob(f"{_RUN}*"):
            with suppress(OSError):
                _remove_run(earlier_run, _lock_of(earlier_run))
        run = Path(tempfile.mkdtemp(prefix=_RUN, dir=folder))
        return run, _lock_of(run)


def _lock_of(run: Path) -> int:
    """Return a handle on the folder `run` that holds its lock.

    Raises:
        OSError: another process holds it.
    """
    handle = os.open(run, FOLDER)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise
    return handle


def _remove_run(run: Path, handle: int) -> None:
    try:
        with suppress(OSError):
            remove_tree(run)  # also folders that nobody may write to, such as a cache of Go modules
    finally:
        os.close(handle)
