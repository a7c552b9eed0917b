"""The visible tree at one moment, as a git tree in the private repository."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, field
from typing import Any

from code_commit_workspace.checkpoint.limits import too_large
from code_commit_workspace.checkpoint.repository import PrivateRepository
from code_commit_workspace.checkpoint.visible import Modes, Statuses, modes_of, statuses, visible
from code_commit_workspace.checkpoint.writers import Writers
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.git import Git, GitError
from code_commit_workspace.records import CheckpointLimits
from code_commit_workspace.words import join_paths

LeftOut = Mapping[str, tuple[int, int]]
"""The size and the time of change of each file that is too large to save, by path."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A git tree, its permission bits, and when it was taken.

    `taken` is in nanoseconds, by the file system's clock.
    """

    tree: str
    modes: Modes
    taken: int
    left_out: LeftOut = field(default_factory=dict)


# git makes folders for a batch of objects. To flush a few objects one by one is faster.
_FEW = 16
_MUCH = 128 * 1024 * 1024  # bytes, which git reads and compresses in about two seconds
_NAMED = 20  # paths in one message
_FLUSH_ONE_BY_ONE = ("-c", "core.fsyncMethod=fsync")


class Snapshots:
    """Takes snapshots. The index of the private repository shows which files are unchanged."""

    def __init__(
        self,
        tree: ProjectTree,
        git: Git,
        repository: PrivateRepository,
        limits: Callable[[], CheckpointLimits] = CheckpointLimits,
    ) -> None:
        self._tree = tree
        self._git = git
        self._repository = repository
        self._limits = limits
        self._warned_of: set[str] = set()
        self._indexed: AbstractSet[str] | None = None
        self._latest_tree = ""
        self._latest_states: Mapping[str, tuple[int, ...]] = {}  # of the files in `_latest_tree`

    def look(self, warn: Callable[[str], object] = str) -> tuple[Snapshot, Statuses]:
        """Take a snapshot; return it and the status of each file in it.

        `warn` of files that take seconds to read.

        Raises:
            NotReady: git fails, or a file cannot be read.
        """
        taken = self._repository.clock()
        paths = self._visible()
        now = self._repository.clock()
        files, left_out = self._files_to_save(paths)
        self._warn_of_left_out(left_out, warn)
        states = {path: _state(status) for path, status in files.items()}
        if self._latest_tree and self._latest_states == states:
            return Snapshot(self._latest_tree, modes_of(files), taken, left_out), files
        self._latest_tree = ""
        if text := self._much_to_read(files):
            warn(text)
        try:
            tree = self._write_tree(frozenset(files))
        except GitError:
            # An object of the user's repository, or a file, may have vanished just now. Read
            # everything again, once.
            self._repository.forget_index()
            self._indexed = frozenset()
            files, left_out = self._files_to_save(self._visible())
            tree = self._write_tree(frozenset(files))
        else:
            # Any later change gets a later time, so `states` will differ.
            if all(status.st_ctime_ns < now for status in files.values()):
                self._latest_states = states
                self._latest_tree = tree
        return Snapshot(tree, modes_of(files), taken, left_out), files

    def forget_latest(self) -> None:
        """Look at all files the next time: the objects of the latest look may be gone."""
        self._latest_tree = ""
        self._latest_states = {}

    def _files_to_save(self, paths: Collection[str]) -> tuple[Statuses, LeftOut]:
        """Return the status of each file, and the size and time of those that are too large."""
        files = statuses(self._tree, paths)
        large = too_large(files, self._limits, self._git.list_new_files)
        left_out: dict[str, tuple[int, int]] = {}
        for path, status in sorted(large.items()):
            del files[path]
            left_out[path] = (status.st_size, status.st_mtime_ns)
        return files, left_out

    def _warn_of_left_out(self, left_out: LeftOut, warn: Callable[[str], object]) -> None:
        """Warn of files that are not saved, once of each."""
        paths = [path for path in left_out if path not in self._warned_of]
        if not paths:
            return
        self._warned_of.update(paths)
        sized = []
        for path in paths[:_NAMED]:
            size, _time = left_out[path]
            sized.append(f"{path} ({size / 1e6:,.0f} MB)")
        more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
        warn(f"too large to save, so `undo` cannot bring it back: {join_paths(sized)}{more}")

    def _much_to_read(self, files: Statuses) -> str:
        """Return a warning if git has to read so much that it takes seconds, else an empty text."""
        index_time = self._repository.index_time
        sizes = {
            path: status.st_size
            for path, status in files.items()
            if status.st_ctime_ns >= index_time
        }
        total = sum(sizes.values())
        if total < _MUCH:
            return ""
        largest = max(sizes, key=sizes.__getitem__)
        return (
            f"saving {total / 1e9:.1f} GB for `undo`; "
            f"the largest file that git does not ignore is {largest}"
        )

    def _visible(self) -> Collection[str]:
        return visible(self._git, self._repository.path.parent.parent.name)

    def _write_tree(self, present: frozenset[str]) -> str:
        """Write a tree with the files that are `present`; return its id."""
        indexed = self._indexed
        self._indexed = None  # unknown until git has updated it
        flush = _FLUSH_ONE_BY_ONE if len(present) <= _FEW else ()
        update = ["update-index", "-z", "--add", "--replace"]
        if indexed is not None:
            self._remove(indexed - present)
            # Not with the index of an earlier run: git has to fail if a file vanishes now, so that
            # those in the index can be counted.
            update.append("--remove")
        if present:
            self._repository.run([*flush, *update, "--stdin"], stdin=_lines(present))
        if indexed is None and self._repository.indexed != len(present):
            output = self._repository.run(["ls-files", "-z"])
            listing = os.fsdecode(output).split("\0")[:-1]
            self._remove(set(listing) - present)
        self._indexed = present
        return self._repository.run([*flush, "write-tree"]).decode().strip()

    def _remove(self, paths: Collection[str]) -> None:
        """Remove the files at `paths` from the index."""
        if paths:
            remove = ["update-index", "-z", "--force-remove", "--stdin"]
            self._repository.run(remove, stdin=_lines(paths))

    def keep(self, snapshot: Snapshot, subject: str, writers: Writers) -> str:
        """Commit `snapshot` and return the id."""
        message = snapshot_message(snapshot, subject, {"writers": asdict(writers)})
        return self._repository.commit(snapshot.tree, message)


def snapshot_message(snapshot: Snapshot, subject: str, more: Mapping[str, Any]) -> str:
    """Return the message of a commit: what git does not store of `snapshot`, and `more` members."""
    modes = snapshot.modes
    metadata: dict[str, Any] = {
        "taken": snapshot.taken,
        "plain": modes.plain,
        "executable": modes.executable,
        "others": dict(modes.unusual),
        "left_out": dict(snapshot.left_out),
        **more,
    }
    return f"{subject}\n\n{json.dumps(metadata)}\n"


def _state(status: os.stat_result) -> tuple[int, ...]:
    """Return values that differ after any change of the file, once the clock has moved on."""
    return (
        status.st_dev,
        status.st_ino,
        status.st_mode,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


def _lines(paths: Collection[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in sorted(paths))
