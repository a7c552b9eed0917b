"""The visible tree at one moment, as a git tree in the private repository."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.git import Git, GitError
from code_commit_workspace.records import CheckpointLimits
from code_commit_workspace.store.census import MANY, SECOND, Census
from code_commit_workspace.store.index import Index
from code_commit_workspace.store.last_look import (
    FileState,
    LastLook,
    file_state,
    forget_last_look,
    read_last_look,
    state_of_index,
    state_of_objects,
    write_last_look,
)
from code_commit_workspace.store.limits import too_large
from code_commit_workspace.store.repository import PrivateRepository
from code_commit_workspace.store.visible import Modes, savable, statuses
from code_commit_workspace.store.writers import Writers
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


_MUCH = 128 * 1024 * 1024  # bytes, which git reads and compresses in about two seconds
_NAMED = 20  # paths in one message
_AT_ONCE = 10_000  # files whose statuses are held in memory


@dataclass(frozen=True, slots=True)
class _Changes:
    """The paths that differ from the latest look, or may.

    `dirty` are those whose status differs, `gone` are no longer visible, `candidates` have to be
    looked at. `untracked` and `users_index` are as in `LastLook`.
    """

    candidates: AbstractSet[str]
    dirty: AbstractSet[str]
    gone: AbstractSet[str]
    untracked: AbstractSet[str]
    users_index: tuple[int, ...]


class Snapshots:
    """Takes snapshots. git's index and the latest look show which files are unchanged."""

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
        self._index = Index(repository)
        self._limits = limits
        self._warned_of: set[str] = set()
        self._last: LastLook | None = None
        self._has_read_last = False
        # Of the user's repository, when the objects of the latest tree were all there.
        self._users_objects: FileState = ()

    def look(self, warn: Callable[[str], object] = str) -> Snapshot:
        """Take a snapshot. `warn` of files that take seconds to read.

        Raises:
            NotReady: git fails, or a file cannot be read.
        """
        taken = self._repository.clock()
        last = self._last_look()
        if last is not None and self._has_objects(last.tree):
            changes = self._find_changes(last)
            snapshot = changes and self._update(last, changes, taken, warn)
            if snapshot:
                return snapshot
        return self._look_at_all(taken, warn)

    def look_at(self, paths: Collection[str], warn: Callable[[str], object] = str) -> Snapshot:
        """Take a snapshot after nothing but the files at `paths` was changed.

        Raises:
            NotReady: as `look`.
        """
        last = self._last_look()
        if last is None:
            return self.look(warn)
        taken = self._repository.clock()
        wanted = frozenset(paths)
        untracked = last.untracked | wanted  # as far as is known
        changes = _Changes(wanted, wanted, frozenset(), untracked, last.users_index)
        return self._update(last, changes, taken, warn) or self._look_at_all(taken, warn)

    def forget_last_look(self) -> None:
        """Look at all files the next time: the objects of the last look may be gone."""
        forget_last_look(self._repository.path)
        self._last = None
        self._has_read_last = True

    def _last_look(self) -> LastLook | None:
        if not self._has_read_last:
            self._repository.clock()  # sets the repository right
            self._last = read_last_look(self._repository.path)
            self._has_read_last = True
            if self._last is not None:
                self._users_objects = self._last.users_objects
        return self._last

    def _has_objects(self, tree: str) -> bool:
        """Return whether all objects of `tree` exist; if not, forget the index, which lacks them.

        git deletes objects of the user's repository that the user no longer needs.
        """
        try:
            self._require_objects(tree)
        except GitError:
            self._repository.forget_index()
            return False
        return True

    def _require_objects(self, tree: str) -> None:
        """Check that all objects of `tree` exist, if any may have been deleted.

        Raises:
            GitError: one is gone.
        """
        users_objects = state_of_objects(self._git.layout().objects)
        if users_objects != self._users_objects:
            self._index.require_objects(tree)
            self._users_objects = users_objects

    def _remember(self, look: LastLook | None, *, has_changed: bool) -> None:
        """Keep a look for the next one; None if that has to look at all files.

        `has_changed` is whether the index was written.
        """
        if look is not None and (has_changed or look != self._last):
            with suppress(OSError):  # the next run looks at all files
                write_last_look(self._repository.path, look)
        self._last = look

    def _find_changes(self, last: LastLook) -> _Changes | None:
        """Compare with the latest look; return None if all files have to be looked at."""
        users_index = state_of_index(self._git.layout().index)
        untracked = self._git.list_untracked()
        try:
            dirty = self._index.changed()
            if users_index == last.users_index:
                appeared = untracked - last.untracked
                gone = self._ignored_now(last.untracked - untracked)
            else:
                visible = self._git.list_tracked() | untracked
                indexed = self._index.paths()
                appeared = visible - indexed
                gone = indexed - visible
        except GitError:
            return None
        candidates = (appeared | dirty | last.unsaved | last.recent.keys()) - gone
        if len(candidates) > MANY:
            return None
        return _Changes(candidates, dirty, gone, untracked, users_index)

    def _ignored_now(self, paths: AbstractSet[str]) -> AbstractSet[str]:
        """Return those of `paths` that git ignores and does not track."""
        ignored = self._git.ignored(sorted(paths)) if paths else frozenset()
        return ignored - self._git.list_tracked() if ignored else ignored

    def _update(
        self, last: LastLook, changes: _Changes, taken: int, warn: Callable[[str], object]
    ) -> Snapshot | None:
        """Save what was changed; return None if all files have to be looked at."""
        wanted = frozenset(savable(changes.candidates, self._git, self._private_folder))
        files = statuses(self._tree, wanted)
        returned = (files.keys() & last.unsaved) - changes.untracked - changes.dirty
        if returned:  # git may ignore them by now
            ignored = returned - self._git.list_tracked()
            wanted -= ignored
            for path in ignored:
                del files[path]
        changed = {
            path: status
            for path, status in files.items()
            if path in changes.dirty or last.recent.get(path) != file_state(status)
        }
        in_index = changes.candidates & (changes.dirty | last.recent.keys())
        removed = changes.gone | (in_index - files.keys())
        sizes = {path: status.st_size for path, status in changed.items()}
        to_read = sum(sizes.values())
        total = last.total + to_read
        largest = max(last.largest, *sizes.values(), 0)
        if self._may_be_too_large(total, largest):
            return None
        if text := _much_to_read(to_read, max(sizes, key=sizes.__getitem__, default="")):
            warn(text)
        tree = last.tree
        modes = last.modes
        if changed or removed:
            self._last = None  # it does not hold if git fails halfway
            try:
                # git does not read a file whose status differs by less than a second.
                unlike_status = (changed.keys() & last.recent.keys()) - changes.dirty
                tree = self._index.update(changed, removed | unlike_status)
            except GitError:
                return None
            modes = modes.with_changes(changed, removed)
        looked_at = changes.candidates | changes.gone
        recent = {path: state for path, state in last.recent.items() if path not in looked_at}
        for path, status in files.items():
            if status.st_ctime_ns // SECOND >= taken // SECOND:
                recent[path] = file_state(status)
        look = LastLook(
            tree=tree,
            modes=modes,
            untracked=changes.untracked,
            unsaved=(last.unsaved - looked_at) | wanted.difference(files),
            recent=recent,
            total=total,
            largest=largest,
            users_index=changes.users_index,
            users_objects=self._users_objects,
        )
        self._remember(look, has_changed=bool(changed or removed))
        return Snapshot(tree, modes, taken)

    def _look_at_all(self, taken: int, warn: Callable[[str], object]) -> Snapshot:
        users_index = state_of_index(self._git.layout().index)
        untracked = self._git.list_untracked()
        wanted = self._savable(untracked)
        census, left_out = self._count(wanted)
        self._warn_of_left_out(left_out, warn)
        if text := _much_to_read(census.to_read, census.largest_to_read):
            warn(text)
        self._last = None  # as in `_update`
        try:
            tree = self._save_all(census)
            self._require_objects(tree)
        except GitError:
            # An object of the user's repository, or a file, may have vanished just now. Read
            # everything again, once.
            self._repository.forget_index()
            untracked = self._git.list_untracked()
            wanted = self._savable(untracked)
            census, left_out = self._count(wanted)
            tree = self._save_all(census)
        modes = census.modes()
        look: LastLook | None = None
        if not left_out and len(census.recent) <= MANY:
            look = LastLook(
                tree=tree,
                modes=modes,
                untracked=untracked,
                unsaved=frozenset(path for path in wanted if path not in census.paths),
                recent=census.recent,
                total=census.total,
                largest=census.largest,
                users_index=users_index,
                users_objects=self._users_objects,
            )
        self._has_read_last = True
        self._remember(look, has_changed=True)
        return Snapshot(tree, modes, taken, left_out)

    def _savable(self, untracked: AbstractSet[str]) -> list[str]:
        visible = sorted(self._git.list_tracked() | untracked)
        return savable(visible, self._git, self._private_folder)

    def _count(self, wanted: Sequence[str]) -> tuple[Census, LeftOut]:
        """Count the `wanted` files but those that are too large: return their sizes and times."""
        now = self._repository.clock()
        census = Census(now, self._repository.index_time)
        for start in range(0, len(wanted), _AT_ONCE):
            census.add(statuses(self._tree, wanted[start : start + _AT_ONCE]))
        left_out: dict[str, tuple[int, int]] = {}
        if self._may_be_too_large(census.total, census.largest):
            files = dict(statuses(self._tree, wanted))
            large = too_large(files, self._limits, self._git.list_new_files)
            for path, status in sorted(large.items()):
                del files[path]
                left_out[path] = (status.st_size, status.st_mtime_ns)
            census = Census(now, self._repository.index_time)
            census.add(files)
        return census, left_out

    def _may_be_too_large(self, total: int, largest: int) -> bool:
        """Return whether a file, or all files together, may be too large to save."""
        if largest <= CheckpointLimits.LEAST_FILE and total <= CheckpointLimits.LEAST_TOTAL:
            return False
        most = self._limits()
        return largest > most.max_file or total > most.max_total

    def _save_all(self, census: Census) -> str:
        """Save the counted files and no others; return the id of the tree."""
        removed: AbstractSet[str] = frozenset()
        if self._repository.indexed:
            removed = self._index.paths() - census.paths
        return self._index.update(census.paths, removed)

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

    @property
    def _private_folder(self) -> str:
        return self._repository.path.parent.parent.name

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


def _much_to_read(total: int, largest: str) -> str:
    """Return a warning if git has to read so much that it takes seconds, else an empty text.

    `largest` is the path of the largest file.
    """
    if total < _MUCH:
        return ""
    return (
        f"saving {total / 1e9:.1f} GB for `undo`; "
        f"the largest file that git does not ignore is {largest}"
    )
