"""Detect whether a process altered what checks the project.

This is the build script, git's own files and its ignore rules, and our private folder.

Small files are compared by content, so that touching one is harmless. A file above 4 MiB, such as a
rollup, is compared by inode, size and times: every change updates its ctime, which only root can
set back.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from code_commit_workspace.files.path_kinds import is_file, is_folder, is_link, is_plain_folder
from code_commit_workspace.files.project_tree import open_regular
from code_commit_workspace.process.checked_files import (
    CheckedFiles,
    FindIgnored,
    find_checked_files,
    folder_of,
)
from code_commit_workspace.process.clearing import clear_new_bits, remove_special, reopen
from code_commit_workspace.process.folders import Folders
from code_commit_workspace.stop import STOP

BUILD_SCRIPT = "build.sh"

_LARGE = 4 * 1024 * 1024
_CLOCK_TICK = 20_000_000  # nanoseconds by which the clock of files may lag
_GIT_PARTS = ("config", "config.worktree", "commondir", "hooks", "info")


@dataclass(frozen=True, slots=True)
class Seal:
    """The state of one path.

    `digest` is empty for a large file, which is compared by its `stamp`.
    """

    kind: str
    digest: bytes = b""
    stamp: tuple[int, ...] = ()

    def holds(self, other: Seal | None) -> bool:
        """Return whether `other`, taken later, shows the same state."""
        if other is None or self.kind != other.kind:
            return False
        if self.digest and other.digest:
            return self.digest == other.digest
        return self.stamp == other.stamp


@dataclass(frozen=True, slots=True)
class Sealed:
    """The state of all checked files at one moment.

    `root` is the status of the root; None if it is gone. `time` is in nanoseconds, by the clock of
    files. `skipped` are the folders that are not searched for set-uid files; None if no folder is.
    """

    root: os.stat_result | None
    seals: dict[str, Seal]
    files: CheckedFiles
    time: int
    skipped: frozenset[str] | None


class IntegrityCheck:
    """Compares the files that check responses in the project at `root` before and after a process.

    `git_folders` are git's folders other than `root/.git`: of a linked worktree, or of a repository
    whose top is above. `ignored` returns which of some folders git ignores: a `.gitignore` in one
    of those has no effect. `state_folder`, below the root, is directly in the private folder.
    `state_hidden` is whether processes cannot reach the state folder. `not_searched` are folders at
    the root that no change may touch anyway, so no `.gitignore` in them counts. `unreachable` are
    files and folders at the root that the process cannot change, if they exist before; None if
    set-uid files do not count. `tree` may know the folders already.
    """

    def __init__(
        self,
        root: Path,
        *,
        state_folder: str,
        build_script: str = BUILD_SCRIPT,
        not_searched: Iterable[str] = (),
        git_folders: Iterable[Path] = (),
        ignored: FindIgnored | None = None,
        state_hidden: bool = False,
        unreachable: Iterable[str] | None = (),
        tree: Folders | None = None,
    ) -> None:
        self._root = root
        self._state_folder = root / state_folder
        self._build_script = build_script
        self._not_searched = frozenset({self._state_folder.parent.name, *not_searched})
        self._git_folders = tuple(git_folders)
        self._ignored = ignored
        self._state_hidden = state_hidden
        self._unreachable = unreachable
        self._tree = tree or Folders(root)

    def seal(self, folders: frozenset[str] = frozenset()) -> Sealed:
        """Record the current state.

        `folders` are those of an earlier seal: they do not count as caches, even if they have the
        mark of one now.
        """
        now = time.time_ns() - _CLOCK_TICK
        files = find_checked_files(
            self._tree, known=folders, not_searched=self._not_searched, ignored=self._ignored
        )
        skip = ""
        if self._state_hidden:
            skip = os.path.realpath(self._state_folder)
        root = _status(self._root)
        seals = {"": _place(root)}
        for name in (self._build_script, *files.rules):
            seals |= self._file(self._root / name)
        for place in (self._root / ".git", *self._git_folders):
            seals |= self._git(place, skip)
        for folder in files.repositories:
            place = self._root / folder / ".git"
            if is_link(place):  # do not follow it: its target may be any folder on the disk
                seals |= self._file(place)
            else:
                seals |= self._git(place, skip, follow=False)
        seals |= self._below(self._state_folder.parent, skip)
        return Sealed(root, seals, files, now, self._skipped())

    def altered(self, before: Sealed) -> tuple[str, ...]:
        """Return what differs from `before`: paths relative to the root; `.` is the root.

        Clear what would harm others or stop us: the names of these paths have a remark.
        """
        is_closed = before.root is not None and reopen(self._root, before.root)
        after = self.seal(before.files.folders)
        changed = {
            name for name, seal in before.seals.items() if not seal.holds(after.seals.get(name))
        }
        # Caches and virtual environments have their own .gitignore. One in a new folder affects no
        # old file.
        fresh_rules = {
            name for name in after.files.rules if folder_of(name) not in before.files.folders
        }
        changed |= after.seals.keys() - before.seals.keys() - fresh_rules
        for folder in set(after.files.repositories) - set(before.files.repositories):
            git_folder = f"{folder}/.git"
            changed = {name for name in changed if not name.startswith(f"{git_folder}/")}
            changed.add(git_folder)
        changed |= after.files.links - before.files.links
        for name in set(after.files.special) - set(before.files.special):
            changed.discard(name)
            changed.add(f"{name} ({remove_special(self._root / name)})")
        changed |= self._made_programs(before)
        if is_closed:
            changed.add(". (was closed)")
        return tuple(sorted(_shown(name) for name in changed))

    def _skipped(self) -> frozenset[str] | None:
        """Return the folders that are not searched for set-uid files; None if none is."""
        if self._unreachable is None:
            return None
        folders = [f"{self._root}/{name}" for name in (".git", *self._unreachable)]
        return frozenset(filter(is_plain_folder, folders))

    def _made_programs(self, before: Sealed) -> set[str]:
        """Return the files below the root that were set-uid or set-gid, and clear their bits."""
        if before.skipped is None:
            return set()
        made = clear_new_bits(str(self._root), skip=before.skipped, since=before.time)
        return {f"{self._name(path)} ({remark})" for path, remark in made}

    def _git(self, folder: Path, skip: str, *, follow: bool = True) -> dict[str, Seal]:
        """Seal a `.git`: a folder, a file that names one, or a link.

        With `follow`, also seal the targets of links in it.
        """
        if is_file(folder):
            return self._file(folder)
        seals = self._link(folder)
        for part in _GIT_PARTS:
            seals |= self._below(folder / part, skip, modes=part == "hooks", follow=follow)
        return seals

    def _file(self, path: Path) -> dict[str, Seal]:
        seal = _seal(str(path))
        return {self._name(str(path)): seal} if seal else {}

    def _link(self, path: Path) -> dict[str, Seal]:
        """Seal a link itself; anything else has no seal of this kind."""
        return self._file(path) if is_link(path) else {}

    def _below(
        self,
        top: Path,
        skip: str,
        *,
        modes: bool = False,
        follow: bool = True,
    ) -> dict[str, Seal]:
        """Seal the file `top`, or every file below the folder `top` except in the folder `skip`.

        With `follow`, follow `top` if it is a link; links below it are never followed.
        """
        is_searched = is_folder(top) if follow else is_plain_folder(top)
        if not is_searched:
            return self._file(top)
        seals = self._link(top)
        real = os.path.realpath(top)
        for path in _files(real, skip):
            seal = _seal(path, mode=modes)
            if seal:
                inside = path.removeprefix(real).lstrip("/")
                seals[self._name(f"{top}/{inside}")] = seal
        return seals

    def _name(self, path: str) -> str:
        return path.removeprefix(f"{self._root}/")


def _files(top: str, skip: str) -> Iterator[str]:
    """Yield the paths below `top` of all but folders, except in the folder `skip`."""
    folders = [top]
    while folders:
        STOP.check()
        folder = folders.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if not entry.is_dir(follow_symlinks=False):
                        yield entry.path
                    elif entry.path != skip:
                        folders.append(entry.path)
        except OSError:
            continue


def _status(folder: Path) -> os.stat_result | None:
    try:
        return folder.stat()
    except OSError:
        return None


def _place(root: os.stat_result | None) -> Seal:
    if root is None:
        return Seal("absent")
    return Seal("root", stamp=(root.st_dev, root.st_ino))


def _seal(path: str, *, mode: bool = False) -> Seal | None:
    """Seal what is at `path`; with `mode`, also whether it is executable."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    kind = f"{stat.S_IFMT(status.st_mode):o}"
    if mode:
        kind += f" {status.st_mode & 0o111:o}"
    if stat.S_ISLNK(status.st_mode):
        target = os.fsencode(Path(path).readlink())
        behind = _content(path) or b""
        return Seal(kind, blake2b(target + b"\0" + behind).digest())
    if not stat.S_ISREG(status.st_mode):
        return Seal(kind, stamp=(status.st_ino,))
    content = _content(path)
    digest = b"" if content is None else blake2b(content).digest()
    times = (status.st_mtime_ns, status.st_ctime_ns)
    return Seal(kind, digest, stamp=(status.st_dev, status.st_ino, status.st_size, *times))


def _content(path: str) -> bytes | None:
    """Return the content of a regular file, also behind a link; None if large or unreadable."""
    try:
        with open_regular(path, follow=True) as file:
            size = os.fstat(file.fileno()).st_size
            return None if size > _LARGE else file.read(_LARGE + 1)
    except OSError:
        return None


def _shown(name: str) -> str:
    """Return a name as text, even if it is not valid UTF-8 on disk."""
    return os.fsencode(name or ".").decode("utf-8", "backslashreplace")
