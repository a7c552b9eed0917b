"""Read saved checkpoints from the private repository, and drop them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from code_commit_workspace.checkpoint.repository import REFS, PrivateRepository
from code_commit_workspace.checkpoint.snapshot import Snapshot
from code_commit_workspace.checkpoint.visible import Modes
from code_commit_workspace.diff import too_large
from code_commit_workspace.errors import NotReady
from code_commit_workspace.transaction.survey import Write

_LINK, _EXECUTABLE, _NOTHING = "120000", "100755", "000000"
_BATCH = 500  # objects that one git process reads
_MANY_OBJECTS = 64  # in one of 256 folders; with more, it pays to prune unreachable ones
# A ref of ours; a hostile build may have added others.
_REF = re.compile(rf"(?P<date>\d+) (?P<number>\d+) (?P<commit>[0-9a-f]+) {REFS}(?P<run>[^/ ]+)/(?P<label>[^/ ]+)")


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


class Saved:
    """The checkpoints of all runs."""

    def __init__(self, repository: PrivateRepository) -> None:
        self._repository = repository

    def runs(self) -> dict[str, list[tuple[str, str]]]:
        """Return the labels and commit ids of each run, oldest first."""
        fields = "%(committerdate:unix) %(contents:subject) %(objectname) %(refname)"
        listing = self._repository.run(["for-each-ref", f"--format={fields}", REFS]).decode("utf-8", "replace")
        refs = [
            (int(ref["date"]), ref["run"], int(ref["number"]), ref["label"], ref["commit"])
            for ref in map(_REF.fullmatch, listing.splitlines())
            if ref
        ]
        begun = {run: date for date, run, *_ in sorted(refs, reverse=True)}
        found: dict[str, list[tuple[str, str]]] = {}
        for _date, run, _number, label, commit in sorted(refs, key=lambda ref: (begun[ref[1]], ref[1], ref[2])):
            found.setdefault(run, []).append((label, commit))
        return found

    def load(self, commit: str) -> Snapshot:
        """Read a snapshot back from its commit.

        Raises:
            NotReady: there is no such commit, or code-commit did not write it.
        """
        text = self._repository.run(["cat-file", "commit", checked_id(commit)])
        try:
            head, _, message = text.decode().partition("\n\n")
            metadata = json.loads(message.partition("\n\n")[2])
            others = {str(path): int(mode) & 0o777 for path, mode in metadata["others"].items()}
            modes = Modes(int(metadata["plain"]) & 0o777, int(metadata["executable"]) & 0o777, others)
            return Snapshot(head.partition("\n")[0].removeprefix("tree "), modes, int(metadata["taken"]))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise NotReady(f"the checkpoint {commit} cannot be read: it is damaged") from error

    def empty_tree(self) -> str:
        """Return the id of a tree without files."""
        return self._repository.run(["mktree"]).decode().strip()

    def differences(self, old: str, new: str) -> list[Difference]:
        """Return the paths of `new`, a tree or commit, that differ from `old` in content, kind or executable bit."""
        raw = self._repository.run(["diff-tree", "-r", "-z", "--no-renames", checked_id(old), checked_id(new)])
        fields = os.fsdecode(raw).split("\0")
        # Each is ":100644 100755 <blob> <blob> M", then its path.
        return [
            Difference(path, *_mode_and_blob(entry)) for entry, path in zip(fields[::2], fields[1::2], strict=False)
        ]

    def diff(self, old: str, new: str, *options: str, most: int | None = None) -> bytes:
        """See `Checkpoints.diff`; `options` are further options of git."""
        options = ("-r", "-p", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", *options)
        found = self._repository.run(["diff-tree", *options, checked_id(old), checked_id(new)], most=most)
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
        blobs = self._read({difference.blob for difference in differences if not difference.removed})
        return [_write(difference, blobs, wanted.modes) for difference in differences]

    def _read(self, blobs: Collection[str]) -> dict[str, memoryview]:
        names = sorted(blobs)
        contents: dict[str, memoryview] = {}
        for start in range(0, len(names), _BATCH):
            asked = names[start : start + _BATCH]
            answer = self._repository.run(
                ["cat-file", "--batch"], stdin="".join(f"{name}\n" for name in asked).encode()
            )
            contents.update(_parse_batch(memoryview(answer)))
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
        old = [run for run in refs if run in runs]
        if not old:
            return
        lines = [f"delete {REFS}{run}/{label}\n" for run in old for label, _commit in refs[run]]
        self._repository.run(["update-ref", "--stdin"], stdin="".join(lines).encode())
        if self._repository.objects_in_one_folder() > _MANY_OBJECTS:
            self._repository.run(["prune", "--expire=now"])


def checked_id(name: str) -> str:
    """Return `name` if it is an object id, and not an option or another name that git would look up.

    Raises:
        NotReady: it is not.
    """
    if not re.fullmatch("[0-9a-f]{40,64}", name):
        raise NotReady(f"{name!r} is not a checkpoint")
    return name


def _mode_and_blob(entry: str) -> tuple[str, str]:
    _, mode, _, blob, _ = entry.split(" ")
    return mode, blob


def _write(difference: Difference, blobs: Mapping[str, memoryview], modes: Modes) -> Write:
    if difference.removed:
        return Write(difference.path, None)
    content = blobs[difference.blob]
    if difference.mode == _LINK:
        return Write(difference.path, content, link=True)
    mode = modes.of(difference.path, executable=difference.mode == _EXECUTABLE)
    return Write(difference.path, content, mode=mode)


def _parse_batch(answer: memoryview) -> Iterator[tuple[str, memoryview]]:
    """Parse the output of `git cat-file --batch`: `<id> blob <size>`, the content and a newline for each object."""
    at = 0
    while at < len(answer):
        end = at + bytes(answer[at : at + 200]).index(b"\n")
        name, kind, *size = bytes(answer[at:end]).decode().split(" ")
        at = end + 1
        if kind == "blob":
            length = int(size[0])
            yield name, answer[at : at + length]
            at += length + 1
