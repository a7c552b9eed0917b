"""Make room for files to restore: move what stands in their place into the state folder.

A build can leave a pipe, a socket, a device, another repository or a folder with ignored files
where a file was. No checkpoint has those, so they cannot just be removed. A file that a checkpoint
has is somebody's, and stays.
"""

from __future__ import annotations

import os
import posixpath
import stat
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.open_flags import CLOSED_FOLDER, FOLDER
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.files.tree_removal import remove_tree
from code_commit_workspace.move.home import open_folder, open_home

_FOLDER_NAME = "put-aside"
_USABLE = os.R_OK | os.W_OK | os.X_OK


class PutAside:
    """Moves things out of the way of the `run`'s files. `moved` has their new places, by path."""

    def __init__(self, tree: ProjectTree, home: Path, run: str) -> None:
        self.moved: dict[str, str] = {}
        self._tree = tree
        self._home = home
        self._run = run
        self._folders: set[str] = set()  # that exist

    def make_room(
        self,
        written: Collection[str],
        removed: Collection[str],
        visible: Callable[[], Collection[str]],
        too_large: Collection[str],
    ) -> None:
        """Move away what would keep files from being `written` once those at `removed` are gone.

        Also move those of `written` that are `too_large` for a checkpoint. `visible` is called if
        something is in the way.

        Raises:
            NotReady: something cannot be moved.
        """
        for path in sorted(written):
            if path in too_large:
                obstacle = path
            else:
                obstacle = self._obstacle(path, removed)
            if obstacle and not _is_somebodys(obstacle, removed, visible()):
                self._move(obstacle)

    def blocked(
        self,
        written: Collection[str],
        removed: Collection[str],
        visible: Callable[[], Collection[str]],
    ) -> set[str]:
        """Return those of the files to be `written` that a `visible` file is in the way of."""
        blocked: set[str] = set()
        for path in written:
            with suppress(PermissionError):  # nothing is visible in a closed folder
                obstacle = self._obstacle(path, removed)
                if obstacle and _is_somebodys(obstacle, removed, visible()):
                    blocked.add(path)
        return blocked

    def open_folders(self, paths: Collection[str]) -> bool:
        """Let the owner write in the folders above `paths` again; return whether one was closed."""
        opened = False
        if any("/" not in path for path in paths):
            opened = self._open_root()
        folders = {folder for path in paths for folder in _above(path)}
        for folder in sorted(folders):
            with suppress(OSError), self._tree.parent(folder) as (parent, name):
                status = os.stat(name, dir_fd=parent, follow_symlinks=False)
                is_usable = os.access(name, _USABLE, dir_fd=parent, effective_ids=True)
                if stat.S_ISDIR(status.st_mode) and not is_usable:
                    _set_mode(parent, name, status.st_mode | stat.S_IRWXU)
                    opened = True
        return opened

    def _open_root(self) -> bool:
        root = self._tree.root
        if os.access(root, _USABLE, effective_ids=True):
            return False
        with suppress(OSError):
            root.chmod(stat.S_IMODE(root.stat().st_mode) | stat.S_IRWXU)
        return True

    def take_back(self) -> None:
        """Move everything back: the files are not written after all."""
        for path, place in reversed(self.moved.items()):
            with suppress(OSError), self._tree.parent(path) as (parent, name):
                os.rename(self._tree.root / place, name, dst_dir_fd=parent)
        self.moved.clear()

    def _obstacle(self, path: str, removed: Collection[str]) -> str:
        """Return the path of what is in the way of a file, or an empty text."""
        for folder in _above(path):
            if folder in self._folders:
                continue
            status = self._tree.lstat(folder)
            if status is None:
                return ""
            if not stat.S_ISDIR(status.st_mode):
                is_removed = folder in removed and _has_content(status)
                return "" if is_removed else folder
            self._folders.add(folder)
        return path if self._is_in_place(path, removed) else ""

    def _is_in_place(self, path: str, removed: Collection[str]) -> bool:
        """Return whether at `path` itself is what cannot be replaced by a file."""
        status = self._tree.lstat(path)
        if status is None or stat.S_ISLNK(status.st_mode):
            return False
        if stat.S_ISDIR(status.st_mode):
            return self._stays(path, removed)
        return not (stat.S_ISREG(status.st_mode) and is_readable(self._tree, path))

    def _stays(self, folder: str, removed: Collection[str]) -> bool:
        """Return whether a folder holds anything but files that are `removed` and folders."""
        folders = [folder]
        while folders:
            try:
                entries = self._tree.entries(folders.pop())
            except OSError:
                return True
            for path, is_folder in entries:
                if is_folder:
                    folders.append(path)
                elif path not in removed:
                    return True
        return False

    def _move(self, path: str) -> None:
        try:
            with self._new_place() as (place, handle), self._tree.parent(path) as (parent, name):
                _move_any(parent, name, handle)
                self.moved[path] = posixpath.join(place, name)
        except OSError as error:
            raise NotReady(
                f"{path} cannot be moved out of the way: {error.strerror}",
                hint="nothing was restored; move it away, then run again",
            ) from error

    @contextmanager
    def _new_place(self) -> Iterator[tuple[str, int]]:
        """Make a new folder in the state folder; yield its path below the root, and a handle."""
        names = (_FOLDER_NAME, self._run, f"{time.time_ns()}-{len(self.moved)}")
        state_folder = self._home.relative_to(self._tree.root).as_posix()
        handle = open_home(self._home)
        try:
            for name in names:
                below = open_folder(handle, name)
                os.close(handle)
                handle = below
            yield posixpath.join(state_folder, *names), handle
        finally:
            os.close(handle)


def is_readable(tree: ProjectTree, path: str) -> bool:
    """Return whether this account can read the file at `path`."""
    with tree.parent(path) as (folder, name):
        return os.access(name, os.R_OK, dir_fd=folder, effective_ids=True)


def forget_put_aside(home: Path, runs: Collection[str]) -> None:
    """Remove what was moved out of the way of the files of `runs`."""
    for run in runs:
        with suppress(OSError, NotReady):
            handle = open_home(home)
            try:
                aside = os.open(_FOLDER_NAME, FOLDER, dir_fd=handle)
            finally:
                os.close(handle)
            try:
                remove_tree(run, dir_fd=aside)
            finally:
                os.close(aside)


def _above(path: str) -> Iterator[str]:
    """Yield the folders above `path`, outermost first, without the root."""
    end = path.find("/")
    while end >= 0:
        yield path[:end]
        end = path.find("/", end + 1)


def _is_somebodys(obstacle: str, removed: Collection[str], visible: Collection[str]) -> bool:
    """Return whether an obstacle is a visible file that stays, or a folder with one."""
    prefix = f"{obstacle}/"
    staying = (path for path in visible if path not in removed)
    return any(path == obstacle or path.startswith(prefix) for path in staying)


def _has_content(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)


def _move_any(parent: int, name: str, into: int) -> None:
    """Move a file or folder. To move a folder, its owner must be able to write in it."""
    try:
        os.rename(name, name, src_dir_fd=parent, dst_dir_fd=into)
    except PermissionError:
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        if not stat.S_ISDIR(status.st_mode):
            raise
        _set_mode(parent, name, status.st_mode | stat.S_IRWXU)
        os.rename(name, name, src_dir_fd=parent, dst_dir_fd=into)


def _set_mode(parent: int, name: str, mode: int) -> None:
    """Set the mode of a folder, also of one that cannot be opened, but not through a link."""
    handle = os.open(name, CLOSED_FOLDER, dir_fd=parent)
    try:
        Path(f"/proc/self/fd/{handle}").chmod(stat.S_IMODE(mode))
    finally:
        os.close(handle)
