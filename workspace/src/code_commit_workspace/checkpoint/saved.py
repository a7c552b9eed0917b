"""Read saved checkpoints from the private repository, and drop them."""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from code_commit_workspace.checkpoint.repository import REFS, UNDONE, PrivateRepository
from code_commit_workspace.checkpoint.snapshot import Snapshot, snapshot_message
from code_commit_workspace.checkpoint.visible import Modes
from code_commit_workspace.checkpoint.writers import State, Step, Writers
from code_commit_workspace.diff import too_large
from code_commit_workspace.errors import NotReady
from code_commit_workspace.transaction.survey import Write

_LINK, _EXECUTABLE, _NOTHING = "120000", "100755", "000000"
_SCRATCH = "scratch-index"
_BATCH = 500  # objects that one git process reads
_MANY_OBJECTS = 64  # in one of 256 folders; with more, it pays to prune unreachable ones
# Refs of ours; a hostile build may have added others.
_RECORD = re.compile(rf"(?P<commit>[0-9a-f]+) (?P<ref>{UNDONE}(?P<run>[^/ ]+)/\d+)")
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
        """Return whether the newer tree lacks the path."""
        return self.mode == _NOTHING


@dataclass(frozen=True, slots=True)
class PutBackRecord:
    """What is known of an operation that put files back: the state before it, and what it left at
    each path.

    `reason` is a word for what did it: `undo`, `restore`, `original`, `trial` or `limit`. A path in
    `left` without a state only got other permission bits. `latest` is the checkpoint of the run
    before it.
    """

    ref: str
    run: str
    reason: str
    before: Snapshot
    left: Mapping[str, State | None]
    latest: str


class Saved:
    """The checkpoints of all runs."""

    def __init__(self, repository: PrivateRepository) -> None:
        self._repository = repository

    def runs(self) -> dict[str, list[tuple[str, str]]]:
        """Return the labels and commit ids of each run, oldest first."""
        fields = "%(committerdate:unix) %(contents:subject) %(objectname) %(refname)"
        listing = self._repository.run(["for-each-ref", f"--format={fields}", REFS]).decode(
            "utf-8", "replace"
        )
        refs = [
            (int(ref["date"]), ref["run"], int(ref["number"]), ref["label"], ref["commit"])
            for ref in map(_REF.fullmatch, listing.splitlines())
            if ref
        ]
        begun = {run: date for date, run, *_ in sorted(refs, reverse=True)}
        found: dict[str, list[tuple[str, str]]] = {}
        for _date, run, _number, label, commit in sorted(
            refs, key=lambda ref: (begun[ref[1]], ref[1], ref[2])
        ):
            found.setdefault(run, []).append((label, commit))
        return found

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
        read = self._read_commits(commits)
        return [(_snapshot(commit, *read[commit]), _writers(read[commit][1])) for commit in commits]

    def _read_commits(self, commits: Sequence[str]) -> dict[str, tuple[str, Mapping[str, Any]]]:
        """Return the tree and the metadata of each commit."""
        names = "".join(f"{checked_id(commit)}\n" for commit in dict.fromkeys(commits))
        answer = self._repository.run(["cat-file", "--batch"], stdin=names.encode())
        texts = {
            name: bytes(text)
            for name, kind, text in _parse_batch(memoryview(answer))
            if kind == "commit"
        }
        read: dict[str, tuple[str, Mapping[str, Any]]] = {}
        for commit in commits:
            try:
                head, _, message = texts[commit].decode().partition("\n\n")
                metadata = json.loads(message.partition("\n\n")[2])
                read[commit] = head.partition("\n")[0].removeprefix("tree "), dict(metadata)
            except (ValueError, TypeError, KeyError, RecursionError) as error:
                raise _damaged(commit) from error
        return read

    def steps(self, trees: Sequence[str]) -> list[list[Step]]:
        """Return the steps from each of `trees` to the next."""
        pairs = [f"{checked_id(old)} {checked_id(new)}" for old, new in itertools.pairwise(trees)]
        between: dict[str, list[Step]] = {pair: [] for pair in pairs}
        asked = "".join(f"{pair}\n" for pair in between if len(set(pair.split())) > 1)
        options = ("--stdin", "-r", "-z", "--no-renames")
        raw = self._repository.run(["diff-tree", *options], stdin=asked.encode()) if asked else b""
        fields = os.fsdecode(raw).split("\0")
        pair = ""
        for head, path in zip(fields[::2], fields[1::2], strict=False):
            # Before the first entry of a pair, there is a line with the pair.
            *heads, entry = head.split("\n")
            pair = heads[-1] if heads else pair
            between[pair].append(_step(entry, path))
        return [between[pair] for pair in pairs]

    def keep_record(
        self,
        run: str,
        reason: str,
        snapshot: Snapshot,
        left: Mapping[str, State | None],
        latest: str,
    ) -> str:
        """Keep the state before files are put back, for `redo`; return the name of its ref."""
        more = {"reason": reason, "left": left, "latest": latest}
        commit = self._repository.commit(snapshot.tree, snapshot_message(snapshot, reason, more))
        ref = f"{UNDONE}{run}/{snapshot.taken:020}"
        self._repository.set_ref(ref, commit)
        return ref

    def records(self) -> list[tuple[str, str, str]]:
        """Return the ref, the run and the commit of each record, oldest first."""
        listing = self._repository.run(
            ["for-each-ref", "--format=%(objectname) %(refname)", UNDONE]
        )
        found = filter(
            None, map(_RECORD.fullmatch, listing.decode("utf-8", "replace").splitlines())
        )
        records = [(ref["ref"], ref["run"], ref["commit"]) for ref in found]
        return sorted(records, key=lambda record: record[0].rpartition("/")[2])

    def load_record(self, ref: str, run: str, commit: str) -> PutBackRecord:
        """Read a record.

        Raises:
            NotReady: it is damaged.
        """
        tree, metadata = self._read_commits([commit])[commit]
        try:
            left = {
                str(path): state and State(*map(str, state))
                for path, state in metadata["left"].items()
            }
            reason, latest = str(metadata["reason"]), str(metadata["latest"])
        except (KeyError, TypeError, AttributeError) as error:
            raise _damaged(commit) from error
        return PutBackRecord(ref, run, reason, _snapshot(commit, tree, metadata), left, latest)

    def drop_record(self, ref: str) -> None:
        """Drop a record."""
        self._repository.run(["update-ref", "-d", ref])

    def empty_tree(self) -> str:
        """Return the id of a tree without files."""
        return self._repository.run(["mktree"]).decode().strip()

    def differences(self, old: str, new: str) -> list[Difference]:
        """Return the paths of `new`, a tree or commit, that differ from `old` in content, kind or
        executable bit.
        """
        trees = (checked_id(old), checked_id(new), "--")
        raw = self._repository.run(["diff-tree", "-r", "-z", "--no-renames", *trees])
        fields = os.fsdecode(raw).split("\0")
        # Each is ":100644 100755 <blob> <blob> M", then its path.
        return [
            Difference(path, *_mode_and_blob(entry))
            for entry, path in zip(fields[::2], fields[1::2], strict=False)
        ]

    def without(self, tree: str, paths: Collection[str]) -> str:
        """Return the id of `tree`, a tree or commit, without the files at `paths`."""
        if not paths:
            return tree
        listing = b"".join(os.fsencode(path) + b"\0" for path in sorted(paths))
        self._repository.run(["read-tree", checked_id(tree)], index=_SCRATCH)
        self._repository.run(
            ["update-index", "-z", "--force-remove", "--stdin"], stdin=listing, index=_SCRATCH
        )
        return self._repository.run(["write-tree"], index=_SCRATCH).decode().strip()

    def diff(self, old: str, new: str, *options: str, most: int | None = None) -> bytes:
        """See `Checkpoints.diff`; `options` are further options of git."""
        options = (
            "-r",
            "-p",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
            *options,
        )
        trees = (checked_id(old), checked_id(new), "--")
        found = self._repository.run(["diff-tree", *options, *trees], most=most)
        if most is not None and len(found) > most:
            raise too_large(most)
        return found

    def listing(self, commit: str) -> dict[str, str]:
        """See `Checkpoints.listing`."""
        raw = os.fsdecode(self._repository.run(["ls-tree", "-r", "-z", checked_id(commit)]))
        entries = (line.partition("\t") for line in raw.split("\0") if line)
        return {path: entry.replace(" blob ", " ") for entry, _, path in entries}

    def writes(self, differences: Sequence[Difference], wanted: Snapshot) -> list[Write]:
        """Return the writes that make all `differences`.

        Raises:
            NotReady: an object is missing.
        """
        blobs = self._read(
            {difference.blob for difference in differences if not difference.removed}
        )
        return [_write(difference, blobs, wanted.modes) for difference in differences]

    def writes_of(self, states: Mapping[str, State], modes: Mapping[str, int]) -> list[Write]:
        """Return the writes that put `states` in place; `modes` has the permission bits of the
        files.

        Raises:
            NotReady: an object is missing.
        """
        blobs = self._read({state.blob for state in states.values() if not state.missing})
        return [_write_state(path, state, blobs, modes.get(path)) for path, state in states.items()]

    def _read(self, blobs: Collection[str]) -> dict[str, memoryview]:
        names = sorted(blobs)
        contents: dict[str, memoryview] = {}
        for start in range(0, len(names), _BATCH):
            asked = names[start : start + _BATCH]
            answer = self._repository.run(
                ["cat-file", "--batch"], stdin="".join(f"{name}\n" for name in asked).encode()
            )
            found = _parse_batch(memoryview(answer))
            contents.update({name: content for name, kind, content in found if kind == "blob"})
        missing = len(names) - len(contents)
        if missing:
            raise NotReady(
                f"the checkpoint is incomplete: {missing} of its objects are gone from the repository",
                hint="they were commits that git has deleted since; restore the files yourself",
            )
        return contents

    def forget(self, runs: Collection[str]) -> None:
        """See `Checkpoints.forget`."""
        refs = self.runs()
        lines = [
            f"delete {REFS}{run}/{label}\n"
            for run in refs
            if run in runs
            for label, _commit in refs[run]
        ]
        lines += [f"delete {ref}\n" for ref, run, _commit in self.records() if run in runs]
        if not lines:
            return
        self._repository.run(["update-ref", "--stdin"], stdin="".join(lines).encode())
        if self._repository.objects_in_one_folder() > _MANY_OBJECTS:
            self._repository.run(["prune", "--expire=now"])


def checked_id(name: str) -> str:
    """Return `name` if it is an object id, and not an option or another name that git would look
    up.

    Raises:
        NotReady: it is not.
    """
    if not re.fullmatch("[0-9a-f]{40,64}", name):
        raise NotReady(f"{name!r} is not a checkpoint")
    return name


def _mode_and_blob(entry: str) -> tuple[str, str]:
    _, mode, _, blob, _ = entry.split(" ")
    return mode, blob


def _write_state(
    path: str, state: State, blobs: Mapping[str, memoryview], mode: int | None
) -> Write:
    if state.missing:
        return Write(path, None)
    is_link = state.mode == _LINK
    return Write(path, blobs[state.blob], mode=None if is_link else mode, link=is_link)


def _step(entry: str, path: str) -> Step:
    old_mode, new_mode, old_blob, new_blob, _ = entry.removeprefix(":").split(" ")
    return Step(path, State(old_mode, old_blob), State(new_mode, new_blob))


def _damaged(commit: str) -> NotReady:
    return NotReady(f"the checkpoint {commit} cannot be read: it is damaged")


def _snapshot(commit: str, tree: str, metadata: Mapping[str, Any]) -> Snapshot:
    try:
        others = {str(path): int(mode) & 0o777 for path, mode in metadata["others"].items()}
        modes = Modes(int(metadata["plain"]) & 0o777, int(metadata["executable"]) & 0o777, others)
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


def _write(difference: Difference, blobs: Mapping[str, memoryview], modes: Modes) -> Write:
    if difference.removed:
        return Write(difference.path, None)
    content = blobs[difference.blob]
    if difference.mode == _LINK:
        return Write(difference.path, content, link=True)
    mode = modes.of(difference.path, executable=difference.mode == _EXECUTABLE)
    return Write(difference.path, content, mode=mode)


def _parse_batch(answer: memoryview) -> Iterator[tuple[str, str, memoryview]]:
    """Yield the id, the kind and the content of each object in the output of `git cat-file
    --batch`.

    Each is `<id> <kind> <size>`, a newline, the content, a newline; a missing one is `<id>
    missing`.
    """
    at = 0
    while at < len(answer):
        end = at + bytes(answer[at : at + 200]).index(b"\n")
        name, kind, *size = bytes(answer[at:end]).decode().split(" ")
        at = end + 1
        if size:
            length = int(size[0])
            yield name, kind, answer[at : at + length]
            at += length + 1
