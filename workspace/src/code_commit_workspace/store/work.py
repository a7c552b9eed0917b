"""What runs changed since checkpoints of theirs, apart from what people changed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from code_commit_workspace.errors import NotReady
from code_commit_workspace.store.history import without_rewound
from code_commit_workspace.store.saved import Saved
from code_commit_workspace.store.writers import Interval, RunWrites, State, Writers

_HEADER = "diff --git "
_LEAST = 256 * 1024  # bytes of a diff that is not divided further


@dataclass(frozen=True, slots=True)
class FileDiff:
    """The diff of one file.

    `added` and `removed` count its lines; both are None for a binary file. `text` is empty where
    the diff is too large.
    """

    path: str
    added: int | None
    removed: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Work:
    """The files that differ from what they were before the runs wrote them.

    `written` are those that responses wrote. `by_processes` changed only while a process ran: it
    wrote them, or a person. `by_people` are all files that people wrote, also before or after the
    runs did.
    """

    written: frozenset[str]
    by_processes: frozenset[str]
    by_people: frozenset[str]
    _states: Mapping[str, tuple[State, State]]  # before the runs, and now
    _saved: Saved

    def diffs(self, paths: Collection[str], *, most: int) -> Sequence[FileDiff]:
        """Return the diffs of those `paths` that the runs changed, sorted.

        Texts are left out where the diffs have more than `most` bytes together.
        """
        states = {path: self._states[path] for path in sorted(paths) if path in self._states}
        if not states:
            return ()
        old = self._saved.tree_with({path: old for path, (old, _new) in states.items()})
        new = self._saved.tree_with({path: new for path, (_old, new) in states.items()})
        counts = self._saved.line_counts(old, new)
        try:
            diff = self._saved.diff(old, new, most=most)
        except NotReady:
            if len(states) > 1 and most > _LEAST:
                return self._halves(list(counts), most // 2)
            return [FileDiff(path, *count, "") for path, count in counts.items()]
        pieces = _pieces(diff.decode("utf-8", "replace"))
        diffs = []
        for path, count in counts.items():
            # A file that became a link, or a link that became a file, has two pieces.
            size = 2 if _changes_kind(*states[path]) else 1
            diffs.append(FileDiff(path, *count, "".join(pieces[:size])))
            pieces = pieces[size:]
        return diffs

    def originals(self, paths: Collection[str]) -> Mapping[str, bytes | None]:
        """Return those `paths` that the runs changed as they were before.

        None is where no file was.
        """
        states = {path: self._states[path][0] for path in paths if path in self._states}
        return self._saved.contents_of(states)

    def _halves(self, paths: Sequence[str], most: int) -> Sequence[FileDiff]:
        """Return the diffs of `paths`, those of each half up to `most` bytes."""
        half = len(paths) // 2
        return [*self.diffs(paths[:half], most=most), *self.diffs(paths[half:], most=most)]


def work_since(
    saved: Saved, checkpoints: Sequence[str], left_by_process: Collection[str] = ()
) -> Work:
    """Return what runs changed, each since one of `checkpoints`, in the order of the runs.

    What differs between the end of a run and the checkpoint of the next one is a person's, except
    before the checkpoints `left_by_process`: those runs follow one that was killed while a process
    ran. Checkpoints that are gone are skipped.

    Raises:
        NotReady: all of them are gone.
    """
    commits: list[str] = []
    for checkpoints_of_run in saved.runs().values():
        ids = [commit for _label, commit in checkpoints_of_run]
        begin = next((commit for commit in checkpoints if commit in ids), None)
        if begin is not None:
            commits += ids[ids.index(begin) :]
    if not commits:
        raise NotReady("the checkpoints of the work are gone")
    valid, loaded = without_rewound(commits, saved.load_all(commits))
    trees = [snapshot.tree for snapshot, _writers in loaded]
    intervals = []
    for number, steps in enumerate(saved.steps(trees)):
        commit = valid[number + 1]
        writers = loaded[number + 1][1]
        if commit in checkpoints:
            writers = Writers(process=commit in left_by_process)
        intervals.append(Interval(number, writers, steps, rights={}))
    return _work(RunWrites(intervals), saved)


def _work(writes: RunWrites, saved: Saved) -> Work:
    states: dict[str, tuple[State, State]] = {}
    for path in writes.back.keys() | writes.edited:
        before = writes.before_run(path)
        if before is not None and before.state != writes.last(path):
            states[path] = (before.state, writes.last(path))
    written = frozenset(path for path in states if writes.is_own(path))
    return Work(
        written=written,
        by_processes=frozenset(states) - written,
        by_people=frozenset(writes.by_people),
        _states=states,
        _saved=saved,
    )


def _pieces(diff: str) -> list[str]:
    """Return the parts of a diff, each with a header of its own."""
    first, *others = diff.split(f"\n{_HEADER}")
    pieces = [first, *(f"{_HEADER}{piece}" for piece in others)]
    return [f"{piece}\n" for piece in pieces[:-1]] + pieces[-1:]


def _changes_kind(old: State, new: State) -> bool:
    """Return whether a file became a link, or the other way."""
    return not (old.missing or new.missing) and old.mode[:3] != new.mode[:3]
