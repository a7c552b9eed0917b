"""Put contents in place of a few files for a while, without a look at all files."""

from __future__ import annotations

import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from code_commit_workspace.errors import Interrupted, NotReady
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.move.apply import replace
from code_commit_workspace.move.survey import Write
from code_commit_workspace.store.saved import Saved
from code_commit_workspace.store.snapshot import Snapshot
from code_commit_workspace.store.undo import PutBack

if TYPE_CHECKING:
    from code_commit_workspace.store.writers import State


class Placer:
    """Puts contents in place of files, and the files back; `home` is the state folder."""

    def __init__(self, tree: ProjectTree, home: Path, saved: Saved) -> None:
        self._tree = tree
        self._home = home
        self._saved = saved
        # By the record: what was placed, and what it replaced.
        self._placed: dict[str, tuple[Sequence[Write], Sequence[Write]]] = {}

    def place(
        self,
        run: str,
        contents: Mapping[str, bytes | None],
        now: tuple[str, Snapshot],
        start: tuple[str, Snapshot],
    ) -> PutBack:
        """Put `contents` in place, with the permission bits of the checkpoint `start`.

        `now` is the checkpoint that has the present files. Both come with their commits.

        Raises:
            NotReady: something is in the way; the tree is unchanged.
        """
        states = self._saved.states(start[0], contents)
        writes = [
            Write(path, content, _mode(path, states.get(path), start[1]))
            for path, content in contents.items()
        ]
        before = [Write(path, self.read(path), self._mode_now(path)) for path in contents]
        left = {write.path: self._saved.state_of(write) for write in writes}
        record = self._saved.keep_record(run, "original", now[1], left, now[0])
        try:
            replace(self._tree, self._home, writes)
        except (NotReady, Interrupted):
            self._saved.drop_record(record)
            raise
        self._placed[record] = (writes, before)
        return PutBack(tuple(sorted(contents)), record=record)

    def take_back(self, placed: PutBack) -> bool:
        """See `Checkpoints.take_back`."""
        _writes, before = self._placed[placed.record]
        if self.altered(placed):
            return False
        replace(self._tree, self._home, before)
        return True

    def altered(self, placed: PutBack) -> frozenset[str]:
        """Return the files whose content is no longer the placed one."""
        writes, _before = self._placed[placed.record]
        return frozenset(write.path for write in writes if self.read(write.path) != write.content)

    def read(self, path: str) -> bytes | None:
        """Return the content of a file, or None if there is none to read."""
        with suppress(OSError):
            return self._tree.read(path)
        return None

    def _mode_now(self, path: str) -> int | None:
        with suppress(OSError):
            if status := self._tree.lstat(path):
                return stat.S_IMODE(status.st_mode)
        return None


def _mode(path: str, state: State | None, start: Snapshot) -> int | None:
    """Return the permission bits that a file had at the start, None if it was not there."""
    if state is None:
        return None
    return start.modes.of(path, executable=state.executable)
