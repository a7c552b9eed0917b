"""The checkpoints of a project: take, compare, restore."""

from __future__ import annotations

import itertools
import os
import posixpath
import re
from collections.abc import Collection, Mapping
from pathlib import Path

from code_commit_workspace.checkpoint.repository import PrivateRepository
from code_commit_workspace.checkpoint.snapshot import Difference, Snapshot, Snapshots, checked_id
from code_commit_workspace.errors import NotReady
from code_commit_workspace.git import Git
from code_commit_workspace.project_tree import ProjectTree
from code_commit_workspace.transaction import Write, replace

_REFS = "refs/runs/"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_NAMED = 20  # paths that one message names
_AT_ONCE = 500  # files that a copy holds in memory at once
_MANY_OBJECTS = 64  # in one of 256 folders; above this, pruning unreachable ones pays


class Checkpoints:
    """Checkpoints by run and label. Hold the project's lock while you take or restore one.

    `home` is the state folder; `git` reads the project's own repository and changes nothing in it.
    """

    def __init__(self, tree: ProjectTree, git: Git, home: Path) -> None:
        self._tree = tree
        self._home = home
        self._repository = PrivateRepository(git, home)
        self._snapshots = Snapshots(tree, git, self._repository)
        self._labels: dict[str, list[str]] = {}

    def take(self, run: str, label: str) -> str:
        """Save the visible tree under `label` and return its commit id. A label in use becomes `label-2`, and so on.

        Raises:
            NotReady: git fails, or a file cannot be read.
        """
        for name in (run, label):
            if not _NAME.fullmatch(name) or ".." in name or name.endswith((".lock", ".")):
                raise ValueError(f"no name for a checkpoint: {name!r}")
        if run not in self._labels:
            known = self.of_run(run) if self._repository.has_below(f"{_REFS}{run}") else []
            self._labels[run] = [label for label, _commit in known]
        labels = self._labels[run]
        names = itertools.chain([label], (f"{label}-{n}" for n in itertools.count(2)))
        free = next(name for name in names if name not in labels)
        snapshot, _files = self._snapshots.look()
        commit = self._snapshots.keep(snapshot, subject=str(len(labels) + 1))
        self._repository.set_ref(f"{_REFS}{run}/{free}", commit)
        labels.append(free)
        return commit

    def of_run(self, run: str) -> list[tuple[str, str]]:
        """Return labels and commit ids of a run, oldest first."""
        return self._refs().get(run, [])

    def runs(self) -> list[str]:
        """Return the runs that have checkpoints, oldest first."""
        return list(self._refs())

    def _refs(self) -> dict[str, list[tuple[str, str]]]:
        fields = "%(committerdate:unix) %(contents:subject) %(objectname) %(refname)"
        listing = self._repository.run(["for-each-ref", f"--format={fields}", _REFS]).decode()
        refs = []
        for line in listing.splitlines():
            date, number, commit, name = line.split(" ")
            run, _, label = name.removeprefix(_REFS).partition("/")
            refs.append((int(date), run, int(number), label, commit))
        begun = {run: date for date, run, *_ in sorted(refs, reverse=True)}
        found: dict[str, list[tuple[str, str]]] = {}
        for _date, run, _number, label, commit in sorted(refs, key=lambda ref: (begun[ref[1]], ref[1], ref[2])):
            found.setdefault(run, []).append((label, commit))
        return found

    def changes(self, old: str, new: str) -> tuple[str, ...]:
        """Return the paths whose content, kind or executable bit differs between two commits."""
        return tuple(difference.path for difference in self._snapshots.differences(old, new))

    def diff(self, old: str, new: str) -> bytes:
        """Return the unified diff between two commits."""
        options = ("-r", "-p", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color")
        return self._repository.run(["diff-tree", *options, checked_id(old), checked_id(new)])

    def restore(self, commit: str) -> tuple[str, ...]:
        """Restore the visible tree of `commit`, and return the changed paths.

        Files added since are removed. Files that git ignores now and ignored then stay as they are.

        Raises:
            NotReady: something is in the way or missing; the tree is unchanged.
        """
        return self._restore(self._snapshots.load(commit))

    def _restore(self, wanted: Snapshot) -> tuple[str, ...]:
        before, _files = self._snapshots.look()
        # Restore ignore rules first: under changed rules, ignored files would look new.
        rules = self._rules(before, wanted)
        self._write(self._snapshots.writes(rules, wanted))
        try:
            others = self._restore_others(wanted)
        except NotReady:
            self._write(self._snapshots.writes(self._rules(wanted, before), before))
            raise
        return tuple(sorted({found.path for found in rules} | others))

    def _rules(self, old: Snapshot, new: Snapshot) -> list[Difference]:
        found = self._snapshots.differences(old.tree, new.tree)
        return [difference for difference in found if posixpath.basename(difference.path) == ".gitignore"]

    def _restore_others(self, wanted: Snapshot) -> set[str]:
        now, files = self._snapshots.look()
        differences = self._snapshots.differences(now.tree, wanted.tree)
        chosen = [found for found in differences if not _older(found, files, wanted)]
        rights = self._snapshots.rights(files, wanted.modes, but={found.path for found in differences})
        self._write([*self._snapshots.writes(chosen, wanted), *self._with_rights(rights)])
        return {found.path for found in chosen} | rights.keys()

    def _with_rights(self, rights: Mapping[str, int]) -> list[Write]:
        return [Write(path, self._tree.read(path), mode=mode) for path, mode in rights.items()]

    def _write(self, writes: list[Write]) -> None:
        if writes:
            replace(self._tree, self._home, writes)

    def undo(self, run: str) -> tuple[str, ...]:
        """Restore the tree from before `run`, and return the changed paths.

        Raises:
            NotReady: the run has no checkpoint, or files changed since its last one; the message names them.
        """
        commits = [commit for _label, commit in self.of_run(run)]
        if not commits:
            known = ", ".join(self.runs()[-_NAMED:]) or "no run"
            raise NotReady(f"there is no checkpoint of the run {run}", hint=f"there are checkpoints of: {known}")
        first, last = self._snapshots.load(commits[0]), self._snapshots.load(commits[-1])
        now, files = self._snapshots.look()
        # A file that equals its state before the run loses nothing: an earlier undo may have been interrupted.
        since = self._changed_since(now, files, last) & self._changed_since(now, files, first)
        if since:
            names = ", ".join(sorted(since)[:_NAMED])
            more = f" and {len(since) - _NAMED} more" if len(since) > _NAMED else ""
            raise NotReady(
                f"files were changed since the run {run}: {names}{more}",
                hint="nothing was undone; put these changes aside (a commit and `git revert` may serve better)",
            )
        return self._restore(first)

    def _changed_since(self, now: Snapshot, files: Mapping[str, os.stat_result], than: Snapshot) -> set[str]:
        """Return the paths that differ from an earlier tree, permission bits included."""
        paths = {found.path for found in self._snapshots.differences(than.tree, now.tree)}
        return paths | self._snapshots.rights(files, than.modes, but=paths).keys()

    def listing(self, commit: str) -> dict[str, str]:
        """Return mode and object id of each file of a commit by path. Equal content has equal ids in any repository."""
        raw = os.fsdecode(self._repository.run(["ls-tree", "-r", "-z", checked_id(commit)]))
        entries = (line.partition("\t") for line in raw.split("\0") if line)
        return {path: entry.replace(" blob ", " ") for entry, _, path in entries}

    def copy(self, commit: str, into: ProjectTree, home: Path) -> None:
        """Write the files of a commit into an empty folder; `home` is the state folder there.

        Raises:
            NotReady: an object is missing, or the folder cannot be written.
        """
        nothing = self._repository.run(["mktree"]).decode().strip()
        wanted = self._snapshots.load(commit)
        found = self._snapshots.differences(nothing, wanted.tree)
        for start in range(0, len(found), _AT_ONCE):
            replace(into, home, self._snapshots.writes(found[start : start + _AT_ONCE], wanted))

    def forget(self, runs: Collection[str]) -> None:
        """Drop the checkpoints of `runs`; skip runs without any."""
        refs = self._refs()
        old = [run for run in refs if run in runs]
        if not old:
            return
        lines = [f"delete {_REFS}{run}/{label}\n" for run in old for label, _commit in refs[run]]
        self._repository.run(["update-ref", "--stdin"], stdin="".join(lines).encode())
        for run in old:
            self._labels.pop(run, None)
        if self._repository.objects_in_one_folder() > _MANY_OBJECTS:
            self._repository.run(["prune", "--expire=now"])


def _older(found: Difference, files: Mapping[str, os.stat_result], wanted: Snapshot) -> bool:
    """Return whether a file to remove is older than the checkpoint: then git ignored it at that time, and it stays."""
    return found.removed and files[found.path].st_ctime_ns < wanted.taken
