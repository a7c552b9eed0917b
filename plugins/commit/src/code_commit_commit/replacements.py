"""The changes of a run so far."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from code_commit.plugin_api import Change, Json, count_of

if TYPE_CHECKING:
    from code_commit.plugin_api import Run, Tree
    from code_commit_commit.seen_files import SeenFiles


class Replacements:
    """The latest change of each file, sorted by path, and digests of the files before the run.

    `seen` learns what the run wrote and deleted. `as_built` shows the model what builds made of the
    files, which is what a response edits, instead of what responses wrote.
    """

    def __init__(self, run: Run, seen: SeenFiles, *, as_built: bool = False) -> None:
        self._run, self._seen = run, seen
        self._as_built = as_built
        self._before: dict[str, bytes] = {}
        self._latest: dict[str, Change] = {}

    def apply(self, changes: Sequence[Change]) -> bool:
        """Apply all of `changes`, or none.

        Return False, and do nothing, if they are on disk already.
        """
        if not any(differs(change, self._run.tree) for change in changes):
            return False
        latest = {change.path: change for change in changes}
        before = {path: self._digest(path) for path in latest}
        self._run.apply(changes)
        self._before = before | self._before
        # A file that was never there is not removed.
        self._latest |= {
            path: change
            for path, change in latest.items()
            if change.content is not None or before[path] or path in self._latest
        }
        for path, change in latest.items():
            self._seen.see(path, change.content)
        return True

    @property
    def latest(self) -> list[Change]:
        """The latest change of each file."""
        return [change for _, change in sorted(self._latest.items())]

    @property
    def shown(self) -> list[Change]:
        """The latest change of each file, for the next prompt.

        What a person wrote meanwhile is not shown.
        """
        if not self._as_built:
            return self.latest
        changed = frozenset(self._seen.changed(self._latest))
        return [
            change if change.path in changed else Change(change.path, self._content(change.path))
            for change in self.latest
        ]

    @property
    def net(self) -> list[Change]:
        """The latest changes of files that differ from before the run."""
        return [
            change for change in self.latest if _digest(change.content) != self._before[change.path]
        ]

    def _digest(self, path: str) -> bytes:
        return _digest(self._content(path))

    def _content(self, path: str) -> bytes | None:
        with suppress(OSError):  # a file and a folder may swap places
            return self._run.tree.read(path)
        return None


def _digest(content: bytes | None) -> bytes:
    return b"" if content is None else hashlib.sha256(content).digest()


def differs(change: Change, tree: Tree) -> bool:
    """Return whether `change` would change the disk."""
    try:
        return tree.read(change.path) != change.content
    except (OSError, ValueError):
        return True  # not a regular file or a valid path: the path rules refuse it


def written(changes: Sequence[Change]) -> tuple[str, ...]:
    """Return the paths of files that are written."""
    return tuple(change.path for change in changes if change.content is not None)


def deleted(changes: Sequence[Change]) -> tuple[str, ...]:
    """Return the paths of files that are deleted."""
    return tuple(change.path for change in changes if change.content is None)


def paths(changes: Sequence[Change]) -> Json:
    """Return the paths for the result of a run."""
    return {"written": list(written(changes)), "deleted": list(deleted(changes))}


def count(changes: Sequence[Change]) -> str:
    """Return the number of files as text."""
    return count_of(len(changes), "file")
