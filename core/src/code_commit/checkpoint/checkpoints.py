"""Take the visible tree, compare two of them, bring one back."""

from __future__ import annotations

import json
import os
import posixpath
import re
import stat
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from code_commit.checkpoint.repository import PrivateRepository
from code_commit.checkpoint.visible import Modes, modes_of, visible
from code_commit.git import Git, GitError
from code_commit.project_tree import ProjectTree
from code_commit.records.errors import NotReady
from code_commit.transaction import Write, replace

_REFS = "refs/runs/"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_NAMED = 20  # paths that one message names
_BATCH = 500  # objects that are read at once
_LINK, _EXECUTABLE = "120000", "100755"
_MANY_OBJECTS = 64  # in one of 256 folders; then unreachable ones are worth a search


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """The visible tree at one moment: a git tree, permission bits, and when (nanoseconds, the file system's clock)."""

    tree: str
    modes: Modes
    taken: int


@dataclass(frozen=True, slots=True)
class _Difference:
    """One path in which two trees differ. A mode of "000000": it is not there."""

    path: str
    old_mode: str
    mode: str
    blob: str

    @property
    def removed(self) -> bool:
        return self.mode == "000000"


class Checkpoints:
    """The checkpoints of a project, by run and label. Whoever takes or restores one holds the project's lock."""

    def __init__(self, tree: ProjectTree, git: Git, home: Path) -> None:
        self._tree = tree
        self._git = git
        self._home = home
        self._repository = PrivateRepository(git, home)
        self._indexed: set[str] | None = None
        self._labels: dict[str, list[str]] = {}

    def take(self, run: str, label: str) -> str:
        """Keep the visible tree under `label` and return its commit id. A label that is taken gets `-2`, `-3`, … .

        Raises:
            NotReady: git fails, or a file cannot be read.
        """
        for name in (run, label):
            if not _NAME.fullmatch(name) or ".." in name or name.endswith((".lock", ".")):
                raise ValueError(f"no name for a checkpoint: {name!r}")
        if run not in self._labels:
            self._labels[run] = [taken for taken, _ in self.of_run(run)]
        labels = self._labels[run]
        free = next(name for name in _variants(label) if name not in labels)
        snapshot, _files = self._look()
        modes = snapshot.modes
        kept = {"taken": snapshot.taken, "plain": modes.plain, "executable": modes.executable, "others": modes.others}
        message = f"{len(labels) + 1}\n\n{json.dumps(kept)}\n"
        commit = self._say(["commit-tree", snapshot.tree], message.encode())
        self._repository.run(["update-ref", f"{_REFS}{run}/{free}", commit])
        labels.append(free)
        return commit

    def of_run(self, run: str) -> list[tuple[str, str]]:
        """Return labels and commit ids of a run in the order in which they were taken."""
        return self._refs().get(run, [])

    def runs(self) -> list[str]:
        """Return the runs that have checkpoints, oldest first."""
        return list(self._refs())

    def changes(self, old: str, new: str) -> tuple[str, ...]:
        """Return the paths whose content, kind or executable bit differ between two commits."""
        return tuple(difference.path for difference in self._differences(old, new))

    def diff(self, old: str, new: str) -> bytes:
        """Return what differs between two commits in git's unified format."""
        return self._repository.run(
            ["diff-tree", "-r", "-p", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", old, new, "--"]
        )

    def restore(self, commit: str) -> tuple[str, ...]:
        """Make the visible tree what it was at `commit`, and return the paths that this changed.

        What was added since is removed; what git ignores, and ignored then, stays as it is.

        Raises:
            NotReady: something is in the way or missing; nothing was changed.
        """
        wanted = self._load(commit)
        now, files = self._look()
        # Ignore rules first: under changed ones, files that were ignored would look as if they were new.
        rules = [d for d in self._differences(now.tree, wanted.tree) if posixpath.basename(d.path) == ".gitignore"]
        if rules:
            self._bring_back(rules, wanted)
            now, files = self._look()
        differences = self._differences(now.tree, wanted.tree)
        known = {difference.path for difference in differences}
        rights = [] if now.modes == wanted.modes else self._with_other_rights(now, wanted, known, files)
        # Older than the checkpoint and yet not in it: it was ignored then, so it is not ours to remove.
        stays = {d.path for d in differences if d.removed and files[d.path].st_ctime_ns < wanted.taken}
        chosen = [difference for difference in (*differences, *rights) if difference.path not in stays]
        self._bring_back(chosen, wanted)
        return tuple(sorted({difference.path for difference in (*rules, *chosen)}))

    def undo(self, run: str) -> tuple[str, ...]:
        """Bring back the tree from before `run`, and return the paths that this changed.

        Raises:
            NotReady: the run has no checkpoint, or files were changed since its last one: they are named.
        """
        commits = [commit for _, commit in self.of_run(run)]
        if not commits:
            raise NotReady(
                f"there is no checkpoint of the run {run}", hint=f"there are of: {', '.join(self.runs()) or 'none'}"
            )
        last = self._load(commits[-1])
        now, files = self._look()
        if now.tree == self._load(commits[0]).tree and now.modes == self._load(commits[0]).modes:
            return ()
        differences = self._differences(last.tree, now.tree)
        known = {difference.path for difference in differences}
        since = sorted(known | {d.path for d in self._with_other_rights(now, last, known, files)})
        if since:
            more = f" and {len(since) - _NAMED} more" if len(since) > _NAMED else ""
            raise NotReady(
                f"files were changed since the run {run}: {', '.join(since[:_NAMED])}{more}",
                hint="commit or put aside what should stay, bring these files back to their state, and start again",
            )
        return self.restore(commits[0])

    def prune(self, keep: int) -> None:
        """Drop the checkpoints of all but the newest `keep` runs."""
        refs = self._refs()
        runs = list(refs)
        old = runs[: max(0, len(runs) - keep)]
        if not old:
            return
        names = [f"{_REFS}{run}/{label}" for run in old for label, _ in refs[run]]
        self._repository.run(["update-ref", "--stdin"], stdin="".join(f"delete {name}\n" for name in names).encode())
        for run in old:
            self._labels.pop(run, None)
        sample = self._repository.path / "objects" / "17"
        if sample.is_dir() and len(list(sample.iterdir())) > _MANY_OBJECTS:
            self._repository.run(["prune", "--expire=now"])

    def _look(self) -> tuple[_Snapshot, dict[str, os.stat_result]]:
        """Take the visible tree as it is now."""
        taken = self._clock()
        files = visible(self._tree, self._git)
        try:
            tree = self._write_tree(files)
        except GitError:
            # An object of the user's repository may be gone, or a file just now: look at everything afresh, once.
            self._repository.forget_index()
            self._indexed = None
            files = visible(self._tree, self._git)
            tree = self._write_tree(files)
        return _Snapshot(tree, modes_of(files), taken), files

    def _write_tree(self, files: Collection[str]) -> str:
        if self._indexed is None:
            listing = os.fsdecode(self._repository.run(["ls-files", "-z"]))
            self._indexed = set(listing.split("\0")) - {""}
        present = set(files)
        vanished = self._indexed - present
        self._indexed = present
        if vanished:
            self._repository.run(["update-index", "-z", "--force-remove", "--stdin"], stdin=_lines(vanished))
        if present:
            self._repository.run(
                ["update-index", "-z", "--add", "--remove", "--replace", "--stdin"], stdin=_lines(present)
            )
        return self._say(["write-tree"])

    def _clock(self) -> int:
        """Return the time by which the file system dates what is written from now on."""
        self._repository.run([]) if False else None
        stamp = self._repository.path / "taken"
        stamp.write_bytes(b"")
        return stamp.stat().st_mtime_ns

    def _say(self, args: Sequence[str], stdin: bytes = b"") -> str:
        return self._repository.run(args, stdin=stdin).decode().strip()
