"""A change that is built, and then kept or put back."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from code_commit_workspace.checkpoint import Writers
from code_commit_workspace.stop import STOP

if TYPE_CHECKING:
    from code_commit_workspace.checkpoint.undo import PutBack
    from code_commit_workspace.records import Change, ProcessResult
    from code_commit_workspace.workspace import Rules, Workspace


class WorkspaceTrial:
    """Changes and builds that are put back at the end of `Workspace.trial`, unless you keep them.

    `run` is the name of its checkpoints, for `Workspace.checkpoints`. `put_back` tells what the end
    of the block put back, and which files a person changed meanwhile, which stay as they are; it is
    None if the trial was kept.
    """

    def __init__(self, workspace: Workspace, name: str) -> None:
        self._workspace = workspace
        self._checkpoints = workspace.checkpoints
        self._is_kept = False
        self.put_back: PutBack | None = None
        self.run = _free_name(name, self._checkpoints.runs())
        self._latest = self._take("start", Writers(process=False))

    def apply(self, changes: Sequence[Change], rules: Rules = ()) -> None:
        """Check `changes`, then put all of them on disk, or none.

        Raises:
            ChangeSetRefused: a path is not allowed; nothing was changed.
            NotReady: a write failed; the tree is as it was.
        """
        self._look()
        blob_of = self._checkpoints.blob_of
        self._workspace.apply(changes, rules)
        with STOP.hold():
            blobs = {
                change.path: None if change.content is None else blob_of(change.content)
                for change in changes
            }
            self._latest = self._take("applied", Writers(blobs, process=False))

    def build(self, *, timeout: float, log: Path | None = None) -> ProcessResult:
        """Run the build script for at most `timeout` seconds.

        Without `log`, its output is in a file of the state folder; the result names it.

        Raises:
            NotReady: the build cannot run.
        """
        argv = self._workspace.build_command()
        self._look()
        log = log or self._workspace.state("builds") / f"{self.run}.txt"
        try:
            return self._workspace.run_command(argv, log=log, timeout=timeout)
        finally:
            with STOP.hold():
                self._latest = self._take("built", Writers(process=True))

    def keep(self) -> None:
        """Keep what the trial changed. `Workspace.checkpoints.undo` can still take it back."""
        self._is_kept = True

    def end(self) -> None:
        """Put back what the trial changed, unless it was kept. What people changed stays."""
        if self._is_kept:
            return
        with STOP.hold():
            self._look()
            self.put_back = self._checkpoints.put_back(self.run, "restore")
            if self.put_back.paths:
                self._take("put-back", Writers(process=False, put_back=self.put_back.paths))

    def _look(self) -> None:
        """Save what people changed since the last checkpoint."""
        self._latest = self._take("edited", Writers(process=False), unless=self._latest)

    def _take(self, label: str, writers: Writers, *, unless: str = "") -> str:
        return self._checkpoints.take(self.run, label, writers=writers, unless=unless)


def _free_name(name: str, taken: Collection[str]) -> str:
    """Return `name`, or `name-2` and so on if there are checkpoints of that name."""
    free_name = name
    number = 1
    while free_name in taken:
        number += 1
        free_name = f"{name}-{number}"
    return free_name
