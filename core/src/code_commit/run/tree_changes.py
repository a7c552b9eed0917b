"""What a run did to the files of the project, and who wrote what, by checkpoints."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from code_commit.log.run_log import RunLog
from code_commit.plugin_api.errors import CodeCommitError, NotReady
from code_commit.plugin_api.event import ChangesUndone
from code_commit.run.put_back import describe_put_back, trial_marker
from code_commit_workspace import STOP, Change, Workspace, Writers
from code_commit_workspace.words import join_paths

if TYPE_CHECKING:
    from code_commit.plugin_api.run import WorkDone
    from code_commit_workspace import PutBack

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


class TreeChanges:
    """The checkpoints of one run. Hold `lock` while you change files.

    `start` is the checkpoint from before the first write, `latest` the last one, and
    `before_process` the one before the latest process. `running` are the processes that may write
    now, by the names of their logs.
    """

    def __init__(self, workspace: Workspace, log: RunLog) -> None:
        self._workspace = workspace
        self._log = log
        self.run = log.run
        self.lock = threading.RLock()
        self.start: str | None = None
        self.running: set[str] = set()
        self.latest = ""
        self.before_process = ""
        # What they wrote since the last checkpoint, by path.
        self._responses: dict[str, str | None] = {}
        self._placed: dict[str, str | None] = {}  # by a trial
        self._process_ran = False  # since the last checkpoint
        self._wrote = False  # the run changed files
        self._written: dict[str, str | None] = {}  # what responses wrote last, by path
        self._applied = ""  # the checkpoint after they wrote it
        self._of_work: frozenset[str] = frozenset()  # what the work of `since` changed
        self._by_people: set[str] = set()  # what differed while neither wrote

    def has_any(self) -> bool:
        """Whether the run changed files, as far as its checkpoints tell."""
        return self._wrote and not self._workspace.checkpoints.equal(self.start or "", self.latest)

    def begin(self) -> None:
        """Take the checkpoint from before the first write, unless there is one."""
        if self.start is None:
            self.start = self.latest = self._take("start", Writers(process=False))
            self._forget_writes()

    def look(self) -> None:
        """Save what is there now, before the run writes.

        What differs from the last checkpoint is somebody else's.
        """
        with self.lock:
            if self.start is None:
                self.begin()
            elif self._responses:
                self._save(self._label)  # each change set has a checkpoint
            else:
                self._save(self._label, unless=self.latest)

    def save(self, label: str) -> None:
        """Take a checkpoint, and warn of executable files that a process wrote."""
        with self.lock:
            self._save(label)

    def add(self, changes: Sequence[Change]) -> None:
        """Note what a response wrote and deleted, and take a checkpoint of it."""
        blobs = self._blobs({change.path: change.content for change in changes})
        self._responses |= blobs
        self._written |= blobs
        with suppress(CodeCommitError):  # the next checkpoint has them, or fails
            self._save("applied", only=blobs.keys())
            self._applied = self.latest

    def _blobs(self, contents: Mapping[str, bytes | None]) -> dict[str, str | None]:
        """Return the id of the object of each content, None for a file that is removed."""
        blob_of = self._workspace.checkpoints.blob_of
        return {
            path: None if content is None else blob_of(content)
            for path, content in contents.items()
        }

    def note_process(self) -> None:
        """Note that a process ran, which may have written any file."""
        self._process_ran = True

    def note_green(self) -> None:
        """Remember that the build of the present files passed, unless it changed some itself."""
        checkpoints = self._workspace.checkpoints
        if checkpoints.equal(self.before_process, self.latest):
            checkpoints.note_green(checkpoints.tree_of(self.latest))

    def save_end(self) -> None:
        """Take the last checkpoint, so that `undo` knows the final tree.

        It includes what commands wrote and what was restored.
        """
        if not self.start or not (self._responses or self._may_differ_by_process):
            return
        label = "applied" if self._responses else "end"
        try:
            self.save(label)
        except CodeCommitError as error:
            self._log.add_warning(f"`undo` may miss the last changes of this run: {error.message}")

    @contextmanager
    def trial(
        self,
        keep_diff: Callable[[bytes], object],
        show: Mapping[str, bytes | None] | None = None,
    ) -> Iterator[TreeTrial]:
        """Put back what the run changes in the block, unless `keep` of the trial is called.

        In the block, the contents `show` stand in place of files that responses wrote. `keep_diff`
        gets what was written over the files of responses: a person may have been at work there.
        """
        with self.lock:
            if not show or self.start is None:
                self.look()
            wrote_before, written_before = self._wrote, dict(self._written)
            trial = TreeTrial(self, self._workspace, self.latest)
            try:
                if show:
                    trial.show(show)
                yield trial
            finally:
                if not trial.is_kept:
                    with STOP.hold():
                        self._end_trial(trial, keep_diff, written_before)
                        self._wrote = wrote_before
                        self._written = written_before

    def _end_trial(
        self,
        trial: TreeTrial,
        keep_diff: Callable[[bytes], object],
        written_before: Collection[str],
    ) -> None:
        if trial.placed and self._take_back(trial, trial.placed):
            return
        self.look()
        if not trial.placed:
            self._keep_what_was_written_over(keep_diff)
        put_back = self._workspace.checkpoints.put_back(
            self.run, "trial", since=trial.begin, only_unclaimed=True, placed=trial.placed
        )
        self.latest = self._take("trial", Writers(process=False, rewinds=trial.begin))
        trial.forget_original()
        written = self._written.keys() - written_before
        if undone := tuple(path for path in put_back.paths if path in written):
            self._log.emit(ChangesUndone(undone, "trial", edited=put_back.edited))
        self.report(put_back)

    def _keep_what_was_written_over(self, keep_diff: Callable[[bytes], object]) -> None:
        """Keep what changed in files of responses since they were applied, and name the files."""
        checkpoints = self._workspace.checkpoints
        changed = [path for path, blob in self._written.items() if not checkpoints.has(path, blob)]
        if not changed or not self._applied:
            return
        if diff := checkpoints.written_diff(self._applied, self.latest):
            keep_diff(diff)
            self._log.add_warning(
                "changed after a response wrote them, so it may be your work: "
                f"{join_paths(sorted(changed), _NAMED)}; put-back.diff in the run folder has it"
            )

    @contextmanager
    def limit(
        self, paths: Sequence[str], keep_diff: Callable[[bytes], object]
    ) -> Iterator[list[str]]:
        """Put back what commands in the block change in files other than `paths`.

        The value is a list, which gets the paths that were put back.
        """
        self.look()
        before = self.latest
        changed: list[str] = []
        try:
            yield changed
        finally:
            with self.lock, STOP.hold():
                self.look()
                after = self.latest
                put_back = self.put_back("limit", since=before, but=paths)
                changed += put_back.paths
                if changed and (diff := self._workspace.checkpoints.written_diff(before, after)):
                    keep_diff(diff)

    def checkpoint(self) -> str:
        """Save what is there now, and return the id of the checkpoint."""
        with self.lock:
            self.look()
            return self.latest

    def since(self, checkpoints: Sequence[str], left_by_process: Collection[str]) -> WorkDone:
        """Return what this run and earlier ones changed, as of now. See `Run.changes_since`."""
        with self.lock:
            self.look()
            work = self._workspace.checkpoints.work_since(checkpoints, left_by_process)
            self._of_work = (work.written | work.by_processes) - work.by_people
            return work

    def _take_back(self, trial: TreeTrial, placed: PutBack) -> bool:
        """Put the files of a trial back; return False if anything else may have changed."""
        checkpoints = self._workspace.checkpoints
        if not checkpoints.differ_only_at(trial.begin, self.latest, placed.paths):
            return False
        if not checkpoints.take_back(placed):
            return False
        if self.latest != trial.begin:
            writers = Writers(process=False, rewinds=trial.begin)
            self.latest = checkpoints.take(self.run, "trial", writers=writers, again=trial.begin)
        self._forget_writes()
        trial.forget_original()
        return True

    def place(self, contents: Mapping[str, bytes | None]) -> PutBack:
        """Put `contents` in place of files that responses or the work of `since` wrote.

        Raises:
            NotReady: neither wrote one of them, or a person changed it.
        """
        checkpoints = self._workspace.checkpoints
        written = self._written
        if not all(path in written and checkpoints.has(path, written[path]) for path in contents):
            self.look()
            self._require_own(contents)
        with STOP.hold():
            placed = checkpoints.place(self.run, contents, now=self.latest, start=self.start or "")
            self._placed = self._blobs(contents)
        return placed

    def _require_own(self, paths: Collection[str]) -> None:
        """Check that the run or its work wrote the files at `paths`, and that no person did.

        Raises:
            NotReady: a person may have.
        """
        writes = self._workspace.checkpoints.writes(self.run)
        own = {path for path in paths if writes.is_own(path)} | self._of_work
        foreign = writes.by_people | {path for path in paths if path not in own}
        if changed := sorted(foreign.intersection(paths)):
            raise NotReady(f"files were changed during the run: {join_paths(changed, _NAMED)}")

    def originals(self, paths: Collection[str]) -> Mapping[str, bytes | None]:
        """Return the content of each of `paths` before the run, None where there was no file."""
        if self.start is None:
            self.look()
        return self._workspace.checkpoints.contents(self.start or "", paths)

    def undo(self, reason: str) -> bool:
        """Put back what the run changed; return whether it changed anything.

        What people wrote meanwhile stays.
        """
        with self.lock, STOP.hold():
            if self.start is None:
                return False
            self.look()
            put_back = self.put_back("restore")
            self._wrote = False
            event = ChangesUndone(
                put_back.paths, reason, edited=put_back.edited, unclaimed=put_back.unclaimed
            )
            self._log.emit(event)
            self.report(put_back)
            return bool(put_back.paths)

    def report(self, put_back: PutBack) -> None:
        """Name the files where a person wrote, and those where a person may have written."""
        for text in describe_put_back(put_back):
            self._log.add_warning(text)

    def paths(self) -> tuple[str, ...]:
        """Return the visible files that the run changed and that differ at the last checkpoint."""
        if self.start is None:
            return ()
        return tuple(sorted(self._workspace.checkpoints.still_changed(self.run)))

    def files(self) -> tuple[ChangedFile, ...]:
        """Return the visible files that the run changed, as of the last checkpoint."""
        if not self.has_any():
            return ()
        counts = self._workspace.checkpoints.line_counts(self.start or "", self.latest)
        return tuple(
            ChangedFile(path, *count)
            for path, count in sorted(counts.items())
            if path in self._written or path not in self._by_people
        )

    def diff(self, *, most: int) -> bytes:
        """Return the diff of the whole run, builds included, as of the last checkpoint.

        Raises:
            NotReady: it is larger than `most` bytes.
        """
        if not self.start:
            return b""
        return self._workspace.checkpoints.diff(self.start, self.latest, most=most)

    @property
    def _label(self) -> str:
        if self._responses:
            return "applied"
        if self._placed:
            return "put-back"
        return "ran" if self._may_differ_by_process else "edited"

    @property
    def _may_differ_by_process(self) -> bool:
        return self._process_ran or bool(self.running or self._workspace.started)

    def put_back(
        self,
        reason: str,
        *,
        since: str = "",
        but: Collection[str] = (),
        only_unclaimed: bool = False,
    ) -> PutBack:
        """See `Checkpoints.put_back`. Take a checkpoint after it."""
        checkpoints = self._workspace.checkpoints
        put_back = checkpoints.put_back(
            self.run, reason, since=since, but=but, only_unclaimed=only_unclaimed
        )
        if put_back.paths:
            self.latest = self._take("put-back", Writers(process=False, put_back=put_back.paths))
        return put_back

    def _save(self, label: str, *, unless: str = "", only: Collection[str] | None = None) -> None:
        by_process = self._may_differ_by_process
        before = self.latest
        writers = Writers(self._responses | self._placed, by_process)
        self.latest = self._take(label, writers, unless=unless, only=only)
        is_of_run = by_process or bool(self._responses)
        self._forget_writes()
        checkpoints = self._workspace.checkpoints
        if is_of_run:
            self._wrote |= not checkpoints.equal(before, self.latest)
        else:
            self._by_people.update(checkpoints.changes(before, self.latest))
        if by_process:
            for text in self._workspace.executed(checkpoints.written(before, self.latest)):
                self._log.add_warning(text)

    def _forget_writes(self) -> None:
        """Begin to note what is written after a checkpoint."""
        self._responses = {}
        self._placed = {}
        self._process_ran = False

    def _take(
        self,
        label: str,
        writers: Writers,
        *,
        unless: str = "",
        only: Collection[str] | None = None,
    ) -> str:
        take = self._workspace.checkpoints.take
        warn = self._log.add_warning
        return take(self.run, label, writers=writers, unless=unless, only=only, warn=warn)


class TreeTrial:
    """A part of a run whose changes are put back at its end. Implements `Trial`."""

    def __init__(self, changes: TreeChanges, workspace: Workspace, begin: str) -> None:
        self._changes = changes
        self._workspace = workspace
        self.begin = begin
        self.is_kept = False
        self._original: PutBack | None = None
        self.placed: PutBack | None = None

    def keep(self) -> None:
        """Keep the changes of the trial."""
        self.is_kept = True

    def show_original(self) -> None:
        """Put the files back as they were before the run, until the trial ends.

        Raises:
            NotReady: a person changed files during the run: what is there is neither the original
                nor the run's.
        """
        changes = self._changes
        changes.look()
        by_people = sorted(self._workspace.checkpoints.writes(changes.run).by_people)
        if by_people:
            raise NotReady(f"files were changed during the run: {join_paths(by_people, _NAMED)}")
        with self._marked():
            self._original = changes.put_back("original")

    def show(self, contents: Mapping[str, bytes | None]) -> None:
        """Put `contents` in place of files that responses wrote, until the trial ends.

        Raises:
            NotReady: responses did not write one of them, or a person changed it.
        """
        with self._marked():
            self.placed = self._changes.place(contents)

    @contextmanager
    def _marked(self) -> Iterator[None]:
        """Leave a marker that tells the next run of a kill, unless the block raises."""
        marker = trial_marker(self._workspace, self._changes.run)
        marker.touch()
        try:
            yield
        except NotReady:
            marker.unlink(missing_ok=True)
            raise

    def forget_original(self) -> None:
        """Drop the state that `redo` would bring back after a kill: it is in place again."""
        for shown in filter(None, (self._original, self.placed)):
            self._workspace.checkpoints.drop(shown)
            trial_marker(self._workspace, self._changes.run).unlink(missing_ok=True)
