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
from code_commit_workspace.transaction.home import open_folder

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
        try:
            folder = place / blake2b(os.fsencode(root), digest_size=8).hexdigest()
            # `parents` have the umask's mode.
            for each in (place.parent.parent, place.parent, place):
                if not exists(each):
                    each.mkdir(mode=0o700, parents=True, exist_ok=True)
            with locked(place, fcntl.LOCK_SH):  # `old_caches` removes none meanwhile
                folder.mkdir(mode=0o700, exist_ok=True)
                (folder / "cache").mkdir(mode=0o700, exist_ok=True)
                (folder / "cache").chmod(0o700)  # an earlier process may have closed it
                if not (folder / PROJECT).exists():
                    (folder / PROJECT).write_bytes(os.fsencode(root))
                run, handle = _new_run(folder)
            for name in ("tmp", "var-tmp"):
                (run / name).mkdir()
                (run / name).chmod(0o1777)  # nobody else can enter the folder above
            (run / "empty").touch(mode=0o444)
        except OSError as error:
            raise NotReady(
                f"private temporary folders cannot be created in {place}: {error.strerror}",
                hint="set XDG_CACHE_HOME to a writable folder outside the project",
            ) from error
        self.cache = str(folder / "cache")
        self.temporary, self.other_temporary = str(run / "tmp"), str(run / "var-tmp")
        self.empty = str(run / "empty")
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
    *above, name = Path(path).parts
    handle = os.open(base, FOLDER)
    try:
        for part in [*above, name] if folder else above:
            _remove_unless(stat.S_ISDIR, part, handle)
            below = _open_anyway(handle, part)
            os.close(handle)
            handle = below
        if not folder:
            _remove_unless(stat.S_ISREG, name, handle)
            os.close(
                os.open(
                    name,
                    os.O_CREAT | os.O_NOFOLLOW | os.O_WRONLY | os.O_CLOEXEC,
                    0o600,
                    dir_fd=handle,
                )
            )
    finally:
        os.close(handle)


def _open_anyway(parent: int, name: str) -> int:
    """Return a handle on the folder `name`, which is no link, as `open_folder` does; let its owner
    enter it.
    """
    try:
        return open_folder(parent, name)
    except PermissionError:
        os.chmod(name, 0o700, dir_fd=parent)
        return open_folder(parent, name)


def _remove_unless(expected: Callable[[int], bool], name: str, folder: int) -> None:
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode) and not expected(mode):
        remove_tree(name, dir_fd=folder)
    elif not expected(mode):
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


def _new_run(folder: Path) -> tuple[Path, int]:
    """Create a folder for one run and lock it; remove the folders of killed runs."""
    with locked(folder, fcntl.LOCK_EX):
        for left in folder.glob(f"{_RUN}*"):
            with suppress(OSError):
                _remove_run(left, _lock_of(left))
        run = Path(tempfile.mkdtemp(prefix=_RUN, dir=folder))
        return run, _lock_of(run)


def _lock_of(run: Path) -> int:
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
