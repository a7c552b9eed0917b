"""The store: states of the project as git trees, and the logs of its runs."""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.git import Git, GitError
from code_commit_workspace.move.apply import replace
from code_commit_workspace.move.survey import Write
from code_commit_workspace.move.versions import Version, read_version
from code_commit_workspace.records import StoreLimits
from code_commit_workspace.store.builds import Builds
from code_commit_workspace.store.log import Change, Logs
from code_commit_workspace.store.looks import Look, Looks
from code_commit_workspace.store.objects import State
from code_commit_workspace.store.repository import PrivateRepository

if TYPE_CHECKING:
    from code_commit_workspace.store.undo import Undone

_AT_ONCE = 500  # objects that one git process reads, and files that a copy holds in memory
_LONGEST_HEADER = 200  # bytes of an object's header in the output of `git cat-file --batch`
_NOTHING = "000000"
_DIFF = ("diff-tree", "-r", "-p", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color")


class FileDiff(NamedTuple):
    """The diff of one file.

    `added` and `removed` count its lines; both are None for a binary file. `text` is empty where
    the diff is too large.
    """

    path: str
    added: int | None
    removed: int | None
    text: str


class Store:
    """States and logs in the state folder `home`. Hold the project's lock while you add to it.

    `git` reads the project's own repository and changes nothing in it.
    """

    def __init__(
        self,
        tree: ProjectTree,
        git: Git,
        home: Path,
        limits: Callable[[], StoreLimits] = StoreLimits,
    ) -> None:
        self.tree = tree
        self.git = git
        self.home = home
        self.logs = Logs(home)
        self._limits = limits
        self._repository = PrivateRepository(git, home)
        self._looks = Looks(tree, git, self._repository, limits)

    # --- states -----------------------------------------------------------------------------------

    def look(self, warn: Callable[[str], object] = str) -> Look:
        """Keep the files as they are now: those that git tracks or does not ignore.

        `warn` gets a text before files are read that take seconds, and for files that are too
        large to be kept.

        Raises:
            NotReady: git fails.
        """
        return self._looks.look(warn)

    def read(self, path: str) -> tuple[Version | None, os.stat_result | None]:
        """Return what is at `path` now, and its status.

        Raises:
            NotReady: what is there is neither a file nor a link nor a folder, is too large to be
                kept, or cannot be read.
        """
        return read_version(self.tree, path, lambda: self._limits().max_file)

    def put(self, versions: Iterable[Version | None]) -> None:
        """Keep the contents of `versions`.

        Raises:
            NotReady: they cannot be written.
        """
        try:
            self._repository.objects.put(
                version.content for version in versions if version is not None
            )
        except OSError as error:
            raise self._repository.unusable(error) from error

    def state_of(self, version: Version | None) -> State | None:
        """Return the state of a path that has this version."""
        return self._repository.objects.state_of(version)

    def versions(self, states: Iterable[State | None]) -> dict[State | None, Version | None]:
        """Return the version of each state.

        Raises:
            NotReady: the content of one is gone or damaged.
        """
        versions: dict[State | None, Version | None] = {None: None}
        wanted = {state for state in states if state is not None}
        contents = self._contents({state.blob for state in wanted})
        for state in wanted:
            mode = None if state.is_link else stat.S_IMODE(state.mode)
            versions[state] = Version(contents[state.blob], mode, state.is_link)
        return versions

    def listing(self, tree: str) -> dict[str, State]:
        """Return the states of the files of a tree, by path."""
        return self._states(tree)

    def state_in(self, tree: str, path: str) -> State | None:
        """Return the state of the file at `path` in a tree."""
        return self._states(tree, "--", path).get(path)

    def _states(self, tree: str, *paths: str) -> dict[str, State]:
        states: dict[str, State] = {}
        output = os.fsdecode(
            self._repository.run(["ls-tree", "-r", "-z", "--full-tree", tree, *paths])
        )
        for row in output.split("\0")[:-1]:
            entry, _, path = row.partition("\t")
            mode, _kind, blob = entry.split(" ")
            states[path] = State(int(mode, 8), blob)
        return states

    def differences(self, old: str, new: str) -> dict[str, Change]:
        """Return what differs between two trees, by path."""
        if old == new:
            return {}
        output = self._repository.run(["diff-tree", "-r", "-z", "--no-renames", old, new, "--"])
        fields = os.fsdecode(output).split("\0")
        differences: dict[str, Change] = {}
        for entry, path in zip(fields[::2], fields[1::2], strict=False):
            old_mode, new_mode, old_blob, new_blob, _ = entry.removeprefix(":").split(" ")
            differences[path] = Change(_state(old_mode, old_blob), _state(new_mode, new_blob))
        return differences

    def diffs(self, changes: Mapping[str, Change], *, most: int) -> list[FileDiff]:
        """Return the diffs of `changes`, sorted by path.

        Texts are left out where they have more than `most` bytes together.
        """
        output = self._diff(changes, ["-z", "--numstat"], most)
        if not output:
            return []
        if len(output) > most and len(changes) > 1:
            paths = sorted(changes)
            halves = (paths[: len(paths) // 2], paths[len(paths) // 2 :])
            return [
                diff
                for half in halves
                for diff in self.diffs({path: changes[path] for path in half}, most=most // 2)
            ]
        return _parse_diffs(output, changes, was_cut=len(output) > most)

    def patch(self, changes: Mapping[str, Change], *, most: int) -> bytes:
        """Return the patch of `changes` for `git apply`, with binary files.

        Its paths begin at the top of the project's repository.

        Raises:
            NotReady: it has more than `most` bytes.
        """
        folder = self._repository.prefix
        options = ["--binary", f"--src-prefix=a/{folder}", f"--dst-prefix=b/{folder}"]
        patch = self._diff(changes, options, most)
        if len(patch) > most:
            raise NotReady(f"the diff is larger than {most // 2**20} MiB")
        return patch

    def _diff(self, changes: Mapping[str, Change], options: Sequence[str], most: int) -> bytes:
        """Return what git prints, at least one byte more than `most` if it is longer."""
        befores = {path: change.before for path, change in changes.items() if change.before}
        afters = {path: change.after for path, change in changes.items() if change.after}
        if befores == afters:
            return b""
        put_tree = self._repository.objects.put_tree
        command = [*_DIFF, *options, put_tree(befores), put_tree(afters), "--"]
        try:
            return self._repository.run(command, most=most)
        except GitError:  # git names one object; if the store lacks some, this says so
            self._contents({state.blob for state in (*befores.values(), *afters.values())})
            raise

    def copy(self, tree: str, into: ProjectTree, home: Path) -> None:
        """Write the files of a tree into an empty folder; `home` is the state folder there.

        Raises:
            NotReady: an object is missing, or the folder cannot be written.
        """
        states = iter(self.listing(tree).items())
        while batch := dict(itertools.islice(states, _AT_ONCE)):
            versions = self.versions(batch.values())
            writes = [Write.of(path, versions[state]) for path, state in batch.items()]
            replace(into, home, writes)

    @property
    def left_out(self) -> Collection[str]:
        """The files that were too large for the last look."""
        return self._looks.left_out

    # --- undo -------------------------------------------------------------------------------------

    def undo(self, run: str | None, below: Sequence[str] = (), *, force: bool = False) -> Undone:
        """Move the files back that a run wrote; see `undo.undo`."""
        from code_commit_workspace.store.undo import undo

        return undo(self, run, below, force=force)

    def redo(self, run: str | None = None) -> Undone:
        """Bring back what was moved back last, or last for `run`; see `undo.redo`."""
        from code_commit_workspace.store.undo import redo

        return redo(self, run)

    # --- builds -----------------------------------------------------------------------------------

    @cached_property
    def builds(self) -> Builds:
        """The trees on which the build passed last."""
        return Builds(self.home, lambda: not self.left_out)

    # --- what is kept -----------------------------------------------------------------------------

    def forget(self, runs: Collection[str]) -> None:
        """Drop the logs of `runs`; skip runs without one. `free` frees their bytes."""
        self.logs.forget(runs)

    def free(self) -> int:
        """Delete what no log needs any more, and return how many bytes that frees.

        Raises:
            NotReady: git fails, or a log is damaged.
        """
        before = self.size()
        self._repository.keep_only(self._needed())
        return max(0, before - self.size())

    def size(self) -> int:
        """Return how many bytes the store takes."""
        return self._repository.size()

    def _needed(self) -> Iterator[str]:
        """Yield the ids of the objects that a log names."""
        for log in self.logs.latest_first():
            for entry in log.entries:
                if entry.tree:
                    yield entry.tree
                for change in (*entry.paths.values(), *entry.merged.values()):
                    yield from (state.blob for state in change if state is not None)

    def _contents(self, blobs: Collection[str]) -> dict[str, bytes]:
        names = sorted(blobs)
        contents: dict[str, bytes] = {}
        for start in range(0, len(names), _AT_ONCE):
            lines = "".join(f"{name}\n" for name in names[start : start + _AT_ONCE])
            answer = self._repository.run(["cat-file", "--batch"], stdin=lines.encode())
            contents |= {
                name: content
                for name, content in _parse_batch(answer)
                if name == self._repository.objects.id_of(content)
            }
        if missing := len(names) - len(contents):
            raise NotReady(
                f"the store is incomplete: {missing} of its objects are gone or damaged",
                hint="restore the files yourself, such as with git",
            )
        return contents


def _state(mode: str, blob: str) -> State | None:
    return None if mode == _NOTHING else State(int(mode, 8), blob)


def _parse_batch(answer: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the id and the content of each blob that `git cat-file --batch` prints.

    A blob is `<id> blob <size>`, a newline, the content, a newline. A missing one is
    `<id> missing`.
    """
    position = 0
    while position < len(answer):
        end_of_header = answer.index(b"\n", position, position + _LONGEST_HEADER)
        name, kind, *size = answer[position:end_of_header].decode().split(" ")
        position = end_of_header + 1
        if size:
            end = position + int(size[0])
            if kind == "blob":
                yield name, answer[position:end]
            position = end + 1


def _parse_diffs(output: bytes, changes: Mapping[str, Change], *, was_cut: bool) -> list[FileDiff]:
    """Read the output of `git diff-tree -z --numstat -p`: the counts, an empty row, the texts."""
    counts, _, texts = output.partition(b"\0\0")
    pieces: list[str] = []
    if not was_cut:
        pieces = _pieces(texts.decode("utf-8", "replace"))
    diffs: list[FileDiff] = []
    for row in os.fsdecode(counts).removesuffix("\0").split("\0"):
        added, removed, path = row.split("\t", 2)
        # A file that became a link, or a link that became a file, has two pieces.
        size = 2 if _changes_kind(changes[path]) else 1
        text = "".join(pieces[:size])
        pieces = pieces[size:]
        if added == "-":
            diffs.append(FileDiff(path, None, None, text))
        else:
            diffs.append(FileDiff(path, int(added), int(removed), text))
    return diffs


def _pieces(diff: str) -> list[str]:
    """Return the parts of a diff, each with a header of its own."""
    first, *others = diff.split("\ndiff --git ")
    pieces = [first, *(f"diff --git {piece}" for piece in others)]
    return [f"{piece}\n" for piece in pieces[:-1]] + pieces[-1:]


def _changes_kind(change: Change) -> bool:
    """Return whether a file became a link, or the other way."""
    return bool(change.before and change.after and change.before.is_link != change.after.is_link)
