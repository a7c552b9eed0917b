"""The visible tree at one moment, as a git tree in the private repository, and the way from one to another."""

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
    """A git tree, permission bits, and when it was taken (nanoseconds, by the file system's clock)."""

    tree: str
    modes: Modes
    taken: int


@dataclass(frozen=True, slots=True)
class Difference:
    """One path in which a tree differs from an older one: git's mode and blob there."""

    path: str
    mode: str
    blob: str

    @property
    def removed(self) -> bool:
        """Whether nothing stands there in the newer tree."""
        return self.mode == _NOTHING


@dataclass(frozen=True, slots=True)
class _Seen:
    """The latest look: the files' states, and the tree that git made of them."""

    states: Mapping[str, tuple[int, ...]]
    tree: str


class Snapshots:
    """Takes and reads snapshots; the index of the private repository says which files need not be read again."""

    def __init__(self, tree: ProjectTree, git: Git, repository: PrivateRepository) -> None:
        self._tree = tree
        self._git = git
        self._repository = repository
        self._indexed: set[str] | None = None
        self._seen: _Seen | None = None

    def look(self) -> tuple[Snapshot, dict[str, os.stat_result]]:
        """Return the visible tree as it is now, and the status of each file in it.

        Raises:
            NotReady: git fails, or a file cannot be read.
        """
        taken = self._repository.clock()
        paths = visible(self._git)
        now = self._repository.clock()
        files = statuses(self._tree, paths)
        states = {path: _state(status) for path, status in files.items()}
        if self._seen is not None and self._seen.states == states:
            return Snapshot(self._seen.tree, modes_of(files), taken), files
        self._seen = None
        try:
            tree = self._write_tree(files)
        except GitError:
            # An object of the user's repository may be gone, or a file just now: look at everything afresh, once.
            self._repository.forget_index()
            self._indexed = set()
            files = statuses(self._tree, visible(self._git))
            tree = self._write_tree(files)
        else:
            # What changes from now on gets a later time than these, so that no change is missed.
            if all(status.st_ctime_ns < now for status in files.values()):
                self._seen = _Seen(states, tree)
        return Snapshot(tree, modes_of(files), taken), files

    def _write_tree(self, files: Collection[str]) -> str:
        if self._indexed is None:
            listing = os.fsdecode(self._repository.run(["ls-files", "-z"])) if self._repository.has_index else ""
            self._indexed = set(listing.split("\0")) - {""}
        present = set(files)
        vanished = self._indexed - present
        self._indexed = None  # until git has done its part
        if vanished:
            self._repository.run(["update-index", "-z", "--force-remove", "--stdin"], stdin=_lines(vanished))
        if present:
            self._repository.run(
                ["update-index", "-z", "--add", "--remove", "--replace", "--stdin"], stdin=_lines(present)
            )
        self._indexed = present
        return self._repository.run(["write-tree"]).decode().strip()

    def keep(self, snapshot: Snapshot, subject: str) -> str:
        """Make a commit of `snapshot` and return its id."""
        modes = snapshot.modes
        told = {
            "taken": snapshot.taken,
            "plain": modes.plain,
            "executable": modes.executable,
            "others": dict(modes.others),
        }
        message = f"{subject}\n\n{json.dumps(told)}\n"
        return self._repository.commit(snapshot.tree, message)

    def load(self, commit: str) -> Snapshot:
        """Read a snapshot back from its commit.

        Raises:
            NotReady: there is no such commit, or it is none of ours.
        """
        text = self._repository.run(["cat-file", "commit", checked_id(commit)])
        try:
            head, _, message = text.decode().partition("\n\n")
            told = json.loads(message.partition("\n\n")[2])
            others = {str(path): int(mode) & 0o777 for path, mode in told["others"].items()}
            modes = Modes(int(told["plain"]) & 0o777, int(told["executable"]) & 0o777, others)
            return Snapshot(head.partition("\n")[0].removeprefix("tree "), modes, int(told["taken"]))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise NotReady(f"the checkpoint {commit} cannot be read: it is damaged") from error

    def differences(self, old: str, new: str) -> list[Difference]:
        """Return where the tree or commit `new` differs from `old` in content, kind or executable bit."""
        raw = self._repository.run(["diff-tree", "-r", "-z", "--no-renames", checked_id(old), checked_id(new)])
        fields = os.fsdecode(raw).split("\0")
        # Each is ":100644 100755 <blob> <blob> M", then its path.
        return [Difference(path, *_mode_and_blob(told)) for told, path in zip(fields[::2], fields[1::2], strict=False)]

    def writes(self, differences: Sequence[Difference], wanted: Snapshot) -> list[Write]:
        """Return what has to be written so that all `differences` are made.

        Raises:
            NotReady: an object is missing.
        """
        blobs = self._read({difference.blob for difference in differences if not difference.removed})
        return [_write(difference, blobs, wanted.modes) for difference in differences]

    def rights(self, now: Mapping[str, os.stat_result], wanted: Modes, but: Collection[str]) -> dict[str, int]:
        """Return the permission bits of those files, except `but`, that have other ones than `wanted`."""
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
    """What differs after every change of a file, where the clock has moved on."""
    return status.st_dev, status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def checked_id(name: str) -> str:
    """Return `name`, which is an object id and never an option or anything else that git would look up."""
    if not re.fullmatch("[0-9a-f]{40,64}", name):
        raise NotReady(f"{name!r} is no checkpoint")
    return name


def _mode_and_blob(told: str) -> tuple[str, str]:
    _, mode, _, blob, _ = told.split(" ")
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
    """Read what `git cat-file --batch` says: `<id> blob <size>`, the content, a newline, for each object."""
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
