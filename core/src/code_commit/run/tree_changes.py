"""What a run did to the files of the project: the checkpoints around each change, and what differs between them."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

from code_commit.log.run_log import RunLog
from code_commit.plugin_api.errors import CodeCommitError
from code_commit.plugin_api.event import ChangesUndone
from code_commit_workspace import Workspace, uninterrupted


class TreeChanges:
    """The checkpoints of one run. Hold `lock` while you change files.

    `start` is the checkpoint from before the first write. `unsaved` are the paths that may differ from the last one;
    None if any may, because a process ran.
    """

    def __init__(self, workspace: Workspace, log: RunLog) -> None:
        self._workspace, self._log = workspace, log
        self.lock = threading.RLock()
        self.start: str | None = None
        self.unsaved: set[str] | None = set()
        self.running: set[str] = set()  # processes, by the names of their logs; they may write anything
        self._latest = ""  # the checkpoint taken or restored last

    def has_any(self) -> bool:
        """Whether the run changed files, as far as its checkpoints tell."""
        if self.start and self.unsaved == set():
            return not self._workspace.checkpoints.equal(self.start, self._latest)
        return bool(self.start)

    def begin(self) -> None:
        """Take the checkpoint from before the first write, unless there is one."""
        if self.start is None:
            self.start = self._latest = self._take("start")

    def save(self, label: str) -> None:
        """Take a checkpoint, and warn of files that other programs execute and that a process wrote."""
        with self.lock:
            ours = None if self.running or self._workspace.started else self.unsaved
            before, self._latest = self._latest, self._take(label, ours)
            self.unsaved = set()
            if ours is None:
                for text in self._workspace.executed(self._workspace.checkpoints.written(before, self._latest)):
                    self._log.add_warning(text)

    def _take(self, label: str, written: Collection[str] | None = None) -> str:
        return self._workspace.checkpoints.take(self._log.run, label, written=written, warn=self._log.add_warning)

    def add(self, paths: Iterable[str]) -> None:
        """Note that the run wrote or deleted the files at `paths`."""
        if self.unsaved is not None:
            self.unsaved.update(paths)

    def save_before_process(self) -> None:
        """Take a checkpoint before a process starts, so that a run killed meanwhile can be undone."""
        with self.lock:
            self.begin()
            if self.unsaved != set():
                self.save("applied")

    def save_end(self) -> None:
        """Take the last checkpoint, so that `undo` knows the final tree, including writes of commands and restores."""
        if self.start and self.unsaved != set():
            self.unsaved = None  # git commands of the workflow may have written other files
            try:
                self.save("end")
            except CodeCommitError as error:
                self._log.add_warning(f"`undo` may miss the last changes of this run: {error.message}")

    @contextmanager
    def taken_out(self, start: str) -> Iterator[None]:
        """Show the tree of `start` to the block, and put the run's changes back after it."""
        with self.lock, self._workspace.checkpoints.visit(start, self._latest):
            yield
        self.unsaved = set()

    def undo(self, reason: str) -> None:
        """Restore the tree from before the first write, if there was one."""
        with self.lock, uninterrupted():
            if self.start is not None:
                self.unsaved = None
                paths = self._workspace.checkpoints.restore(self.start)
                self.unsaved, self._latest = set(), self.start
                self._log.emit(ChangesUndone(paths, reason))

    def paths(self) -> tuple[str, ...]:
        """Return the visible files that differ from the start of the run, as of the last checkpoint."""
        return self._workspace.checkpoints.changes(self.start, self._latest) if self.start else ()

    def diff(self, *, most: int) -> bytes:
        """Return the diff of the whole run, builds included, as of the last checkpoint.

        Raises:
            NotReady: it is larger than `most` bytes.
        """
        return self._workspace.checkpoints.diff(self.start, self._latest, most=most) if self.start else b""
