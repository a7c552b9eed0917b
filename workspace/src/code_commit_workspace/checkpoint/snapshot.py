"""The visible tree at one moment, as a git tree in the private repository, and the difference of two."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from code_commit_workspace.checkpoint.repository import PrivateRepository
from code_commit_workspace.checkpoint.visible import Modes, modes_of, statuses, visible
from code_commit_workspace.errors import NotReady
from code_commit_workspace.git import Git, GitError
from code_commit_workspace.project_tree import ProjectTree
from code_commit_workspace.transaction import Write

_LINK, _EXECUTABLE, _NOTHING = "120000", "100755", "000000"
_BATCH = 500  # objects that one git process reads


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A git tree, permission bits, and its time (nanoseconds, by the file system's clock)."""

    tree: str
    modes: Modes
    taken: int


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
class _Seen:
    """The latest snapshot: the files' states and their git tree."""

    states: Mapping[str, tuple[int, ...]]
    tree: str


class Snapshots:
    """Takes and reads snapshots. The index of the private repository shows which files need not be read again."""

    def __init__(self, tree: ProjectTree, git: Git, repository: PrivateRepository) -> None:
        self._tree = tree
        self._git = git
        self._repository = repository
        self._indexed: set[str] | None = None
        self._seen: _Seen | None = None

    def look(self) -> tuple[Snapshot, dict[str, os.stat_result]]:
        """Return the current visible tree, and the status of each file in it.

        Raises:
            NotReady: git fails, or a file cannot be read.
        """
        taken = self._repository.clock()
        paths = visible(self._git, self._repository.path.parent.parent.name)
        now = self._repository.clock()
        files = statuses(self._tree, paths)
        states = {path: _state(status) for path, status in files.items()}
        if self._seen is not None and self._seen.states == states:
            return Snapshot(self._seen.tree, modes_of(files), taken), files
        self._seen = None
        try:
            tree = self._write_tree(files)
        except GitError:
            # An object of the user's repository or a file may have just vanished: read everything again, once.
            self._repository.forget_index()
            self._indexed = set()
            files = statuses(self._tree, visible(self._git, self._repository.path.parent.parent.name))
            tree = self._write_tree(files)
        else:
            # Later changes get a later time than these, so that none is missed.
            if all(status.st_ctime_ns < now for status in files.values()):
                self._seen = _Seen(states, tree)
        return Snapshot(tree, modes_of(files), taken), files

    def _write_tree(self, files: Collection[str]) -> str:
        if self._indexed is None:
            listing = os.fsdecode(self._repository.run(["ls-files", "-z"])) if self._repository.has_index else ""
            self._indexed = set(listing.split("\0")) - {""}
        present = set(files)
        vanished = self._indexed - present
        self._indexed = None  # unknown until git has updated it
        if vanished:
            self._repository.run(["update-index", "-z", "--force-remove", "--stdin"], stdin=_lines(vanished))
        if present:
            self._repository.run(
                ["update-index", "-z", "--add", "--remove", "--replace", "--stdin"], stdin=_lines(present)
            )
        self._indexed = present
        return self._repository.run(["write-tree"]).decode().strip()

    def keep(self, snapshot: Snapshot, subject: str) -> str:
        """Commit `snapshot` and return the id."""
        modes = snapshot.modes
        metadata = {
            "taken": snapshot.taken,
            "plain": modes.plain,
            "executable": modes.executable,
            "others": dict(modes.others),
        }
        message = f"{subject}\n\n{json.dumps(metadata)}\n"
        return self._repository.commit(snapshot.tree, message)

    def load(self, commit: str) -> Snapshot:
        """Read a snapshot back from its commit.

        Raises:
            NotReady: there is no such commit, or we did not write it.
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

    def differences(self, old: str, new: str) -> list[Difference]:
        """Return the paths of `new`, a tree or commit, that differ from `old` in content, kind or executable bit."""
        raw = self._repository.run(["diff-tree", "-r", "-z", "--no-renames", checked_id(old), checked_id(new)])
        fields = os.fsdecode(raw).split("\0")
        # Each is ":100644 100755 <blob> <blob> M", then its path.
        return [
            Difference(path, *_mode_and_blob(entry)) for entry, path in zip(fields[::2], fields[1::2], strict=False)
        ]

    def writes(self, differences: Sequence[Difference], wanted: Snapshot) -> list[Write]:
        """Return the writes that make all `differences`.

        Raises:
            NotReady: an object is missing.
        """
        blobs = self._read({difference.blob for difference in differences if not difference.removed})
        return [_write(difference, blobs, wanted.modes) for difference in differences]

    def rights(self, now: Mapping[str, os.stat_result], wanted: Modes, but: Collection[str]) -> dict[str, int]:
        """Return the wanted permission bits of the files whose bits differ, except `but`."""
        other: dict[str, int] = {}
        for path, status in now.items():
            if stat.S_ISREG(status.st_mode) and path not in but:
                mode = wanted.of(path, executable=bool(status.st_mode & 0o100))
                if mode != status.st_mode & 0o777:
                    other[path] = mode
        return other

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
                f"the checkpoint is not whole: {missing} of its objects are gone from the repository",
                hint="they were commits of yours that git has cleaned up since; restore what you need by hand",
            )
        return contents


def _state(status: os.stat_result) -> tuple[int, ...]:
    """Return values that change with every change of a file, once the clock has moved on."""
    return status.st_dev, status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def checked_id(name: str) -> str:
    """Return `name` if it is an object id, never an option or anything else that git would look up."""
    if not re.fullmatch("[0-9a-f]{40,64}", name):
        raise NotReady(f"{name!r} is no checkpoint")
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


def _lines(paths: Collection[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in sorted(paths))
