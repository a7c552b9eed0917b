"""What a run does to the files of the project, and what people learn of it."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from code_commit.log.run_log import RunLog
from code_commit.plugin_api.errors import NotReady
from code_commit.plugin_api.event import ChangesUndone
from code_commit.plugin_api.run_files import LARGEST_DIFF
from code_commit_workspace import STOP, Change, ProcessResult, Workspace
from code_commit_workspace.words import join_paths

if TYPE_CHECKING:
    from code_commit.plugin_api.run import FileDiff, Trial
    from code_commit_workspace import Moved, RunChanges

_NAMED = 20  # paths in one message


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that a run changed, and how many lines; None for a binary file."""

    path: str
    added: int | None
    removed: int | None

    def __str__(self) -> str:
        """Format for people: `src/encoding.py +5 -0`."""
        if self.added is None:
            return f"{self.path} (binary)"
        return f"{self.path} +{self.added} -{self.removed}"


class Changes:
    """The changes of one run, which log events and warn people."""

    def __init__(self, workspace: Workspace, log: RunLog) -> None:
        self._workspace = workspace
        self._log = log
        self._expects_more = False  # changes of a process or of git
        self._latest_diffs: tuple[Mapping[str, Any], Sequence[FileDiff]] = ({}, ())

    @cached_property
    def files(self) -> RunChanges:
        """What changes the files."""
        return self._workspace.begin(self._log.run, self._log.add_warning)

    @property
    def has_begun(self) -> bool:
        """Whether the run may have changed files."""
        return "files" in self.__dict__ and bool(self.files.log.entries)

    def look_after_process(self) -> bool:
        """Log what changed while a process ran; return whether anything did.

        Warn of files that other programs execute.
        """
        changed = self.files.note("process")
        self._expects_more = False
        self._warn_of_executed(changed)
        return bool(changed)

    @contextmanager
    def command(self) -> Iterator[None]:
        """Log what changes in the block as written by a command that the model chose."""
        with self.files.command() as written:
            yield
        self._warn_of_executed(written)

    def _warn_of_executed(self, changed: Collection[str]) -> None:
        root = self._workspace.root
        there = [path for path in changed if os.path.lexists(root / path)]
        for text in self._workspace.executed(there):
            self._log.add_warning(text)

    def expect_more(self) -> None:
        """Note that a process or git may change files from now on."""
        self._expects_more = True

    def finish(self) -> None:
        """Log what a process or git changed last."""
        if self._expects_more and self.has_begun:
            self.look_after_process()

    def note_build(self, build: ProcessResult) -> None:
        """Remember how the build of the present files ended, which the last look has."""
        if build.tampered or build.exit_code is None:
            return
        self._workspace.store.builds.add(self.files.latest.tree, passed=build.passed)

    @contextmanager
    def trial(self, show: Mapping[str, bytes | None]) -> Iterator[Trial]:
        """Move back what the run writes in the block, unless `keep` of the trial is called.

        Raises:
            NotReady: something is in the way of a file; the others were moved back.
        """
        shown = [Change(path, content) for path, content in show.items()]
        with self.files.trial(shown) as trial:
            yield trial
        if trial.is_kept:
            return
        if show:
            self._warn_of_replaced(trial.moved)
            trial.moved.require_all()
        else:
            self._report(trial.moved, "trial")

    @contextmanager
    def limit(self, paths: Sequence[str]) -> Iterator[list[str]]:
        """Move back what commands in the block change in files other than `paths`.

        The value is a list, which gets the paths that were moved back.

        Raises:
            NotReady: something is in the way of a file; the others were moved back.
        """
        self.files.begin()
        since = len(self.files.log.entries)
        changed: list[str] = []
        try:
            yield changed
        finally:
            with STOP.hold():
                moved = self.files.back("restore", since=since, but=paths)
            changed += sorted(moved.differences)
        if moved.differences or moved.obstacles:
            reason = (
                f"the command may write only {', '.join(paths)}; "
                "`code-commit redo` brings the rest back"
            )
            self._report(moved, reason)

    def restore(self, reason: str) -> bool:
        """Move back what the run wrote; return whether it wrote anything.

        Raises:
            NotReady: something is in the way of a file; the others were moved back.
        """
        if not self.has_begun:
            return False
        moved = self.files.back("restore")
        if left := self.files.left():
            paths = join_paths(left, _NAMED)
            self._log.add_warning(f"left, because no response wrote them: {paths}")
        self._report(moved, reason)
        return bool(moved.differences)

    def _report(self, moved: Moved, reason: str) -> None:
        paths = tuple(sorted(moved.differences))
        replaced = tuple(sorted(moved.replaced))
        self._log.emit(ChangesUndone(paths, reason, replaced=replaced))
        self._warn_of_replaced(moved)
        moved.require_all()

    def _warn_of_replaced(self, moved: Moved) -> None:
        if moved.replaced:
            paths = join_paths(sorted(moved.replaced), _NAMED)
            self._log.add_warning(
                f"also changed by somebody else, and moved back all the same: {paths}; "
                "`code-commit redo` brings that back"
            )

    def paths(self) -> tuple[str, ...]:
        """Return the files that the run changed and nobody moved back."""
        if not self.has_begun:
            return ()
        return tuple(sorted(self.files.net()))

    def changed_files(self) -> tuple[ChangedFile, ...]:
        """Return the files that the run changed, with the lines."""
        return tuple(ChangedFile(file.path, file.added, file.removed) for file in self._diffs())

    def latest_diff(self) -> str:
        """Return the diff of the latest response.

        Raises:
            NotReady: it is too large, or git fails.
        """
        return _joined(self._diffs_of(self.files.log.entries[-1].paths))

    def diff(self) -> str:
        """Return the diff of the whole run.

        Raises:
            NotReady: it is too large, or git fails.
        """
        return _joined(self._diffs())

    def _diffs(self) -> Sequence[FileDiff]:
        if not self.has_begun:
            return ()
        return self._diffs_of(self.files.net())

    def _diffs_of(self, changes: Mapping[str, Any]) -> Sequence[FileDiff]:
        if changes != self._latest_diffs[0]:
            diffs = self._workspace.store.diffs(changes, most=LARGEST_DIFF)
            self._latest_diffs = (dict(changes), diffs)
        return self._latest_diffs[1]

    def originals(self, paths: Collection[str]) -> Mapping[str, bytes | None]:
        """Return the content of each of `paths` before the run, None where there was no file."""
        return self.files.originals(paths)


def _joined(diffs: Sequence[FileDiff]) -> str:
    texts = [file.text for file in diffs]
    if not all(texts):
        raise NotReady(f"the diff is larger than {LARGEST_DIFF // 2**20} MiB")
    return "".join(texts)
