"""Read saved checkpoints from the private repository, and drop them."""

from __future__ import annotations

import itertools
import json
import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from code_commit_workspace.diff import too_large
from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.git import GitError
from code_commit_workspace.move.survey import Write
from code_commit_workspace.store.repository import REFS, UNDONE, PrivateRepository
from code_commit_workspace.store.run_order import RunOrder
from code_commit_workspace.store.snapshot import Snapshot, snapshot_message
from code_commit_workspace.store.visible import Modes
from code_commit_workspace.store.writers import State, Step, Writers

_LINK = "120000"
_PLAIN = "100644"
_EXECUTABLE = "100755"
_NOTHING = "000000"
_SCRATCH = "scratch-index"
_DIFF = (
    "diff-tree",
    "-r",
    "-p",
    "--no-renames",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
)
_BATCH = 500  # objects that one git process reads
_LONGEST_HEADER = 200  # bytes of an object's header in the output of `git cat-file --batch`
_NO_INDEX = "no-index"  # a file that does not exist
# Refs of ours; a hostile build may have added others.
_RECORD = re.compile(rf"(?P<commit>[0-9a-f]+) (?P<ref>{UNDONE}(?P<run>[^/ ]+)/(?P<time>\d+))")
_REF = re.compile(
    rf"(?P<date>\d+) (?P<number>\d+) (?P<commit>[0-9a-f]+) {REFS}(?P<run>[^/ ]+)/(?P<label>[^/ ]+)"
)


@dataclass(frozen=True, slots=True)
class Difference:
    """One path that differs from an older tree, with git's mode and blob in the newer one."""

    path: str
    mode: str
    blob: str

    @property
    def removed(self) -> bool:
        """Whether the newer tree lacks the path."""
        return self.mode == _NOTHING


@dataclass(frozen=True, slots=True)
class PutBackRecord:
    """What is known of an operation that put files back.

    `before` is the state before it, `left` has what it left at each path: None where it changed
    only the permission bits. `reason` is a word for what did it: `undo`, `restore`, `original`,
    `trial` or `limit`. `latest` is the checkpoint of the run before it.
    """

    ref: str
    run: str
    reason: str
    before: Snapshot
    left: Mapping[str, State | None]
    latest: str


class _Checkpoint(NamedTuple):
    """What the ref of a checkpoint says, with the fields to sort by first."""

    run: str
    number: int
    label: str
    commit: str
    date: int


class Saved:
    """The checkpoints of all runs."""

    def __init__(self, repository: PrivateRepository) -> None:
        self._repository = repository

    def runs_in_order(self) -> list[str]:
        """Return the runs that may have checkpoints, oldest first, without reading each."""
        order = RunOrder(self._repository)
        names = order.runs()
        if names is None:
            names = list(self.runs())
            order.write(names)
        return names

    def of_run(self, run: str) -> list[tuple[str, str]]:
        """Return labels and commit ids of a run, oldest first."""
        checkpoints = sorted(self._checkpoints(f"{REFS}{run}/"))
        return [(checkpoint.label, checkpoint.commit) for checkpoint in checkpoints]

    def runs(self) -> dict[str, list[tuple[str, str]]]:
        """Return the labels and commit ids of each run, oldest first."""
        checkpoints = self._checkpoints(REFS)
        begin: dict[str, int] = {}
        for checkpoint in checkpoints:
            earliest = begin.get(checkpoint.run, checkpoint.date)
            begin[checkpoint.run] = min(earliest, checkpoint.date)
        checkpoints.sort(key=lambda checkpoint: (begin[checkpoint.run], *checkpoint))
        runs: dict[str, list[tuple[str, str]]] = {}
        for checkpoint in checkpoints:
            labels_and_commits = runs.setdefault(checkpoint.run, [])
            labels_and_commits.append((checkpoint.label, checkpoint.commit))
        return runs

    def _checkpoints(self, prefix: str) -> list[_Checkpoint]:
        checkpoints: list[_Checkpoint] = []
        fields = "%(committerdate:unix) %(contents:subject) %(objectname) %(refname)"
        for line in self._refs(prefix, fields):
            if match := _REF.fullmatch(line):
                date, number, commit, run, label = match.groups()
                checkpoints.append(_Checkpoint(run, int(number), label, commit, int(date)))
        return checkpoints

    def _refs(self, prefix: str, fields: str) -> list[str]:
        """Return a line with `fields`, in git's format, for each ref below `prefix`."""
        listing = self._repository.run(["for-each-ref", f"--format={fields}", prefix])
        return listing.decode("utf-8", "replace").splitlines()

    def load(self, commit: str) -> Snapshot:
        """Read a snapshot back from its commit.

        Raises:
            NotReady: there is no such commit, or code-commit did not write it.
        """
        return self.load_all([commit])[0][0]

    def load_all(self, commits: Sequence[str]) -> list[tuple[Snapshot, Writers]]:
        """Read snapshots back, each with who may have written since the one before it.

        Raises:
            NotReady: as `load`.
        """
        loaded = self._read_commits(commits)
        snapshots: list[tuple[Snapshot, Writers]] = []
        for commit in commits:
            tree, metadata = loaded[commit]
            snapshots.append((_snapshot(commit, tree, metadata), _writers(metadata)))
        return snapshots

    def _read_commits(self, commits: Sequence[str]) -> dict[str, tuple[str, Mapping[str, Any]]]:
        """Return the tree and the metadata of each commit."""
        names = [checked_id(commit) for commit in dict.fromkeys(commits)]
        objects = self._objects(names)
        texts = {name: bytes(text) for name, kind, text in objects if kind == "commit"}
        loaded: dict[str, tuple[str, Mapping[str, Any]]] = {}
        for commit in commits:
            try:
                headers, _, message = texts[commit].decode().partition("\n\n")
                _subject, _, metadata = message.partition("\n\n")
                tree = headers.partition("\n")[0].removeprefix("tree ")
                loaded[commit] = (tree, dict(json.loads(metadata)))
            except (ValueError, TypeError, KeyError, RecursionError) as error:
                raise _damaged(commit) from error
        return loaded

    def _objects(self, names: Iterable[str]) -> Iterator[tuple[str, str, memoryview]]:
        """Yield the id, the kind and the content of each object that is there."""
        lines = "".join(f"{name}\n" for name in names)
        answer = self._repository.run(["cat-file", "--batch"], stdin=lines.encode())
        return _parse_batch(memoryview(answer))

    def steps(self, trees: Sequence[str]) -> list[list[Step]]:
        """Return the steps from each of `trees` to the next."""
        ids = [checked_id(tree) for tree in trees]
        pairs = [f"{old} {new}" for old, new in itertools.pairwise(ids)]
        steps: dict[str, list[Step]] = {pair: [] for pair in pairs}
        lines = "".join(f"{old} {new}\n" for old, new in _distinct_pairs(ids))
        if lines:
            options = ("--stdin", "-r", "-z", "--no-renames")
            output = self._repository.run(["diff-tree", *options], stdin=lines.encode())
            pair = ""
            for head, path in _entries_with_paths(output):
                # Before the first entry of a pair, there is a line with the pair.
                *heads, entry = head.split("\n")
                if heads:
                    pair = heads[-1]
                steps[pair].append(_step(entry, path))
        return [steps[pair] for pair in pairs]

    def keep_record(
        self,
        run: str,
        reason: str,
        snapshot: Snapshot,
        left: Mapping[str, State | None],
        latest: str,
    ) -> str:
        """Save the state before files are put back, for `redo`; return the name of its ref."""
        more = {"reason": reason, "left": left, "latest": latest}
        message = snapshot_message(snapshot, reason, more)
        commit = self._repository.commit(snapshot.tree, message)
        ref = f"{UNDONE}{run}/{snapshot.taken:020}"
        self._repository.set_ref(ref, commit)
        return ref

    def records(self) -> list[tuple[str, str, str]]:
        """Return the ref, the run and the commit of each record, oldest first."""
        lines = self._refs(UNDONE, "%(objectname) %(refname)")
        refs = [ref for line in lines if (ref := _RECORD.fullmatch(line))]
        refs.sort(key=lambda ref: ref["time"])
        return [(ref["ref"], ref["run"], ref["commit"]) for ref in refs]

    def load_record(self, ref: str, run: str, commit: str) -> PutBackRecord:
        """Read a record.

        Raises:
            NotReady: it is damaged.
        """
        tree, metadata = self._read_commits([commit])[commit]
        try:
            left: dict[str, State | None] = {}
            for path, state in metadata["left"].items():
                left[str(path)] = State(*map(str, state)) if state else None
            reason = str(metadata["reason"])
            latest = str(metadata["latest"])
        except (KeyError, TypeError, AttributeError) as error:
            raise _damaged(commit) from error
        before = _snapshot(commit, tree, metadata)
        return PutBackRecord(ref, run, reason, before=before, left=left, latest=latest)

    def drop_record(self, ref: str) -> None:
        """Drop a record."""
        self._repository.run(["update-ref", "-d", ref])

    def empty_tree(self) -> str:
        """Return the id of a tree without files."""
        return self._repository.run(["mktree"]).decode().strip()

    def differences(self, old: str, new: str) -> list[Difference]:
        """Return the differences from `old` to `new` in content, kind or executable bit.

        Both are trees or commits.
        """
        trees = (checked_id(old), checked_id(new), "--")
        output = self._repository.run(["diff-tree", "-r", "-z", "--no-renames", *trees])
        return [_difference(entry, path) for entry, path in _entries_with_paths(output)]

    def without(self, tree: str, paths: Collection[str]) -> str:
        """Return the id of `tree`, a tree or commit, without the files at `paths`."""
        if not paths:
            return tree
        listing = b"".join(os.fsencode(path) + b"\0" for path in sorted(paths))
        remove = ["update-index", "-z", "--force-remove", "--stdin"]
        self._repository.run(["read-tree", checked_id(tree)], index=_SCRATCH)
        self._repository.run(remove, stdin=listing, index=_SCRATCH)
        return self._repository.run(["write-tree"], index=_SCRATCH).decode().strip()

    def tree_with(self, states: Mapping[str, State]) -> str:
        """Return the id of a tree with these files and no others."""
        lines = [
            f"{state.mode} {state.blob}\t{path}\0"
            for path, state in states.items()
            if not state.missing
        ]
        (self._repository.path / _SCRATCH).unlink(missing_ok=True)
        add = ["update-index", "-z", "--index-info"]
        self._repository.run(add, stdin=os.fsencode("".join(lines)), index=_SCRATCH)
        return self._repository.run(["write-tree"], index=_SCRATCH).decode().strip()

    def line_counts(self, old: str, new: str) -> dict[str, tuple[int | None, int | None]]:
        """Return how many lines were added and removed in each file; None for a binary file."""
        trees = (checked_id(old), checked_id(new), "--")
        options = ("-r", "-z", "--numstat", "--no-renames")
        output = os.fsdecode(self._repository.run(["diff-tree", *options, *trees]))
        counts: dict[str, tuple[int | None, int | None]] = {}
        for row in filter(None, output.split("\0")):
            added, removed, path = row.split("\t", 2)
            counts[path] = (None, None) if added == "-" else (int(added), int(removed))
        return counts

    def diff(self, old: str, new: str, *options: str, most: int | None = None) -> bytes:
        """See `Checkpoints.diff`; `options` are further options of git."""
        trees = (checked_id(old), checked_id(new), "--")
        diff = self._repository.run([*_DIFF, *options, *trees], most=most)
        if most is not None and len(diff) > most:
            raise too_large(most)
        return diff

    def listing(self, commit: str) -> dict[str, str]:
        """See `Checkpoints.listing`."""
        output = self._repository.run(["ls-tree", "-r", "-z", checked_id(commit)])
        listing: dict[str, str] = {}
        for line in os.fsdecode(output).split("\0"):
            if line:
                entry, _, path = line.partition("\t")
                listing[path] = entry.replace(" blob ", " ")
        return listing

    def states(self, commit: str, paths: Iterable[str]) -> dict[str, State]:
        """Return the state of each of the files at `paths` that a commit has."""
        states: dict[str, State] = {}
        wanted = sorted(paths)
        for start in range(0, len(wanted), _BATCH):
            listed = ["ls-tree", "-z", checked_id(commit), "--", *wanted[start : start + _BATCH]]
            for line in os.fsdecode(self._repository.run(listed)).split("\0"):
                entry, _, path = line.partition("\t")
                if " blob " in entry:
                    mode, _, blob = entry.split(" ")
                    states[path] = State(mode, blob)
        return states

    def contents(self, commit: str, paths: Iterable[str]) -> dict[str, bytes | None]:
        """See `Checkpoints.contents`."""
        contents: dict[str, bytes | None] = dict.fromkeys(paths)
        return contents | self.contents_of(self.states(commit, contents))

    def contents_of(self, states: Mapping[str, State]) -> dict[str, bytes | None]:
        """Return the content of each path in its state, None for a link and where nothing is."""
        contents: dict[str, bytes | None] = dict.fromkeys(states)
        files = {path: state for path, state in states.items() if not state.missing}
        blobs = {path: state.blob for path, state in files.items() if state.mode != _LINK}
        objects = self._contents(set(blobs.values()))
        return contents | {path: bytes(objects[blob]) for path, blob in blobs.items()}

    def state_of(self, write: Write) -> State:
        """Return the state that a write of a file makes."""
        blob = self._repository.blob_of(bytes(write.content or b""))
        if write.content is None:
            return State(_NOTHING, "0" * len(blob))
        mode = _PLAIN
        if write.mode is not None and write.mode & 0o100:
            mode = _EXECUTABLE
        return State(mode, blob)

    def is_in_state(
        self, tree: ProjectTree, path: str, status: os.stat_result, state: State
    ) -> bool:
        """Return whether the file at `path`, which has this status, has the content of `state`."""
        try:
            if stat.S_ISLNK(status.st_mode):
                with tree.parent(path) as (folder, name):
                    content: bytes | None = os.fsencode(os.readlink(name, dir_fd=folder))
            else:
                content = tree.read(path, status.st_size + 1)
        except OSError:
            return False
        is_link = state.mode == _LINK
        if content is None or is_link != stat.S_ISLNK(status.st_mode):
            return False
        if not is_link and state.executable != bool(status.st_mode & 0o100):
            return False
        return self._repository.blob_of(content) == state.blob

    def writes(self, differences: Sequence[Difference], snapshot: Snapshot) -> list[Write]:
        """Return the writes that make all `differences`, which lead to `snapshot`.

        Raises:
            NotReady: an object is missing.
        """
        blobs = {difference.blob for difference in differences if not difference.removed}
        contents = self._contents(blobs)
        return [_write(difference, contents, snapshot.modes) for difference in differences]

    def writes_of(self, states: Mapping[str, State], modes: Mapping[str, int]) -> list[Write]:
        """Return the writes that put `states` in place, with the permission bits in `modes`.

        Raises:
            NotReady: an object is missing.
        """
        blobs = {state.blob for state in states.values() if not state.missing}
        contents = self._contents(blobs)
        return [
            _write_state(path, state, contents, modes.get(path)) for path, state in states.items()
        ]

    def _contents(self, blobs: Collection[str]) -> dict[str, memoryview]:
        names = sorted(blobs)
        contents: dict[str, memoryview] = {}
        for start in range(0, len(names), _BATCH):
            objects = self._objects(names[start : start + _BATCH])
            contents |= {name: content for name, kind, content in objects if kind == "blob"}
        missing = len(names) - len(contents)
        if missing:
            raise NotReady(
                f"the checkpoint is incomplete: {missing} of its objects are gone from "
                "the repository",
                hint="they were commits that git has deleted since; restore the files yourself",
            )
        return contents

    def forget(self, runs: Collection[str]) -> None:
        """See `Checkpoints.forget`."""
        refs = [
            f"{REFS}{run}/{label}"
            for run, checkpoints in self.runs().items()
            if run in runs
            for label, _commit in checkpoints
        ]
        refs += [ref for ref, run, _commit in self.records() if run in runs]
        if not refs:
            return
        lines = "".join(f"delete {ref}\n" for ref in refs)
        self._repository.run(["update-ref", "--stdin"], stdin=lines.encode())

    def free(self) -> None:
        """See `Checkpoints.free`."""
        repository = self._repository
        # Not with the index: it may have the content of a file that was deleted since.
        if repository.has_packs:  # git packs very large files at once
            options = ("-a", "-d", "-l", "-q")
            unpacked = ["-c", "repack.writeBitmaps=false", "repack", *options]
            repository.run(unpacked, index=_NO_INDEX)
        repository.run(["prune", "--expire=now"], index=_NO_INDEX)
        try:
            repository.run(["write-tree"])
        except GitError:  # the index has a file that no checkpoint has
            repository.forget_index()


def checked_id(name: str) -> str:
    """Return `name` if it is an object id, and not an option or a name that git would look up.

    Raises:
        NotReady: it is no object id.
    """
    if not re.fullmatch("[0-9a-f]{40,64}", name):
        raise NotReady(f"{name!r} is not a checkpoint")
    return name


def _distinct_pairs(trees: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each pair of neighbors that differ, but each pair only once."""
    for old, new in dict.fromkeys(itertools.pairwise(trees)):
        if old != new:
            yield old, new


def _entries_with_paths(output: bytes) -> Iterator[tuple[str, str]]:
    """Yield the entry and the path of each difference in the output of `git diff-tree -z`.

    An entry is `:100644 100755 <blob> <blob> M`.
    """
    fields = os.fsdecode(output).split("\0")
    return zip(fields[::2], fields[1::2], strict=False)  # an empty field follows the last NUL


def _difference(entry: str, path: str) -> Difference:
    _, mode, _, blob, _ = entry.split(" ")
    return Difference(path, mode, blob)


def _step(entry: str, path: str) -> Step:
    old_mode, new_mode, old_blob, new_blob, _ = entry.removeprefix(":").split(" ")
    return Step(path, State(old_mode, old_blob), State(new_mode, new_blob))


def _damaged(commit: str) -> NotReady:
    return NotReady(f"the checkpoint {commit} cannot be read: it is damaged")


def _snapshot(commit: str, tree: str, metadata: Mapping[str, Any]) -> Snapshot:
    try:
        unusual = {str(path): int(mode) & 0o777 for path, mode in metadata["others"].items()}
        plain = int(metadata["plain"]) & 0o777
        executable = int(metadata["executable"]) & 0o777
        modes = Modes(plain, executable, unusual)
        left_out = {
            str(path): (int(size), int(time))
            for path, (size, time) in metadata.get("left_out", {}).items()
        }
        return Snapshot(tree, modes, int(metadata["taken"]), left_out)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _damaged(commit) from error


def _writers(metadata: Mapping[str, Any]) -> Writers:
    """Read who may have written; a checkpoint of an earlier version does not say."""
    match metadata.get("writers"):
        case {
            "responses": dict(responses),
            "process": bool() | None as process,
            "put_back": list(put_back),
            "rewinds": str(rewinds),
        }:
            return Writers(responses, process, frozenset(map(str, put_back)), rewinds)
    return Writers()


def _write(difference: Difference, contents: Mapping[str, memoryview], modes: Modes) -> Write:
    if difference.removed:
        return Write(difference.path, None)
    content = contents[difference.blob]
    if difference.mode == _LINK:
        return Write(difference.path, content, link=True)
    mode = modes.of(difference.path, executable=difference.mode == _EXECUTABLE)
    return Write(difference.path, content, mode=mode)


def _write_state(
    path: str,
    state: State,
    contents: Mapping[str, memoryview],
    mode: int | None,
) -> Write:
    if state.missing:
        return Write(path, None)
    content = contents[state.blob]
    if state.mode == _LINK:
        return Write(path, content, link=True)
    return Write(path, content, mode=mode)


def _parse_batch(answer: memoryview) -> Iterator[tuple[str, str, memoryview]]:
    """Yield the id, the kind and the content of each object that `git cat-file --batch` prints.

    An object is `<id> <kind> <size>`, a newline, the content, a newline. A missing one is
    `<id> missing`.
    """
    position = 0
    while position < len(answer):
        beginning = bytes(answer[position : position + _LONGEST_HEADER])
        header, _, _content = beginning.partition(b"\n")
        position += len(header) + 1
        name, kind, *size = header.decode().split(" ")
        if size:
            end = position + int(size[0])
            yield name, kind, answer[position:end]
            position = end + 1
