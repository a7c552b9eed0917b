"""What a run did to the files of the project: the checkpoints around each change, and what differs between them."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from code_commit.log.run_log import RunLog
from code_commit.plugin_api.errors import CodeCommitError
from code_commit.plugin_api.event import ChangesUndone
from code_commit_workspace import Workspace, uninterrupted

_START, _END = "start", "end"  # the labels of the checkpoints before the first write and after the last


class TreeChanges:
    """The checkpoints of one run. Hold `lock` while you change files.

    `start` is the checkpoint from before the first write. `unsaved` are the paths that may differ from the last one;
    None if any may, because a process ran.
    """

    def __init__(self, workspace: Workspace, log: RunLog) -> None:
        self._workspace = workspace
        self._log = log
        self.lock = threading.RLock()
        self.start: str | None = None
        self.unsaved: set[str] | None = set()
        self.running: set[Path] = set()  # the logs of running processes, which may write anything
        self._latest = ""  # the checkpoint taken or restored last
        self._taken = 0  # checkpoints, for their labels

    @property
    def has_any(self) -> bool:
        """Whether the run changed files, as far as its checkpoints tell."""
        return self.start is not None and (self.unsaved != set() or self.start != self._latest)

    def begin(self) -> None:
        """Take the checkpoint from before the first write, unless there is one."""
        if self.start is None:
            self.start = self._latest = self._workspace.checkpoints.take(self._log.run, _START)

    def save(self, label: str) -> None:
        """Take a checkpoint, and warn of files that other programs execute and that a process wrote."""
        checkpoints = self._workspace.checkpoints
        with self.lock:
            self._taken += 1
            name = label if label == _END else f"{label}-{self._taken}"
            ours = None if self.running or self._workspace.started else self.unsaved
            before, self._latest = self._latest, checkpoints.take(self._log.run, name, written=ours)
            self.unsaved = set()
            for text in self._workspace.executed(checkpoints.written(before, self._latest)) if ours is None else ():
                self._log.add_warning(text)

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
        if self.unsaved == set():
            return
        try:
            self.save(_END)
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
        if self.start is None:
            return
        with self.lock, uninterrupted():
            self.unsaved = None
            paths = self._workspace.checkpoints.restore(self.start)
            self.unsaved = set()
            self._latest = self.start
            self._log.emit(ChangesUndone(paths, reason))

    def paths(self) -> tuple[str, ...]:
        """Return the visible files that differ from the start of the run, as of the last checkpoint."""
        return self._workspace.checkpoints.changes(self.start, self._latest) if self.start else ()

    def diff(self) -> bytes | None:
        """Return the diff of the whole run, builds included, or None without a checkpoint after the first."""
        if not self.start or self.start == self._latest:
            return None
        return self._workspace.checkpoints.diff(self.start, self._latest)
