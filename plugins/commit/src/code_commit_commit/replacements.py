"""The changes of a run so far."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from code_commit.plugin_api import Change, Json, count_of
from code_commit_commit.rollup_text import LARGEST

if TYPE_CHECKING:
    from code_commit.plugin_api import Run, Tree
    from code_commit_commit.seen_files import SeenFiles


class Replacements:
    """The latest change of each file, sorted by path, and digests of the files before the run.

    `seen` learns what the run wrote and deleted. `merged` are the files in which a person's changes
    stay, too.
    """

    def __init__(self, run: Run, seen: SeenFiles) -> None:
        self._run, self._seen = run, seen
        self._before: dict[str, bytes] = {}
        self._latest: dict[str, Change] = {}
        self.merged: set[str] = set()

    def apply(self, changes: Sequence[Change], bases: Mapping[str, bytes | None]) -> bool:
        """Apply all of `changes`, or none; `bases` has the files as the model saw them.

        Return False if that changes nothing.

        Raises:
            Conflict: a person changed a file at the same places.
        """
        if not any(differs(change, self._run.tree) for change in changes):
            return False
        latest = {change.path: change for change in changes}
        before = {path: self._digest(path) for path in latest}
        merged = set(self._run.apply(changes, shown=bases))
        for path in merged:
            latest[path] = replace(latest[path], content=self._content(path))
        for path, change in latest.items():
            self._seen.see(path, change.content)
        unchanged = {
            path for path, change in latest.items() if _digest(change.content) == before[path]
        }
        self.merged |= merged - unchanged
        self._before = before | self._before
        # A file that was never there is not removed, and a person's change is not the response's.
        self._latest |= {
            path: change
            for path, change in latest.items()
            if path in self._latest
            or path not in unchanged
            or (change.content is not None and path not in merged)
        }
        return unchanged != latest.keys()

    @property
    def latest(self) -> list[Change]:
        """The latest change of each file."""
        return [change for _, change in sorted(self._latest.items())]

    def now(self) -> list[Change]:
        """Return the latest change of each file with its present text, which the model sees next.

        A build, or a person, may have changed it since.
        """
        changes: list[Change] = []
        for change in self.latest:
            content = self._content(change.path)
            if content != change.content and _is_text(content):
                self._seen.see(change.path, content)
                change = replace(change, content=content)  # noqa: PLW2901
            changes.append(change)
        return changes

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


def _is_text(content: bytes | None) -> bool:
    """Return whether a prompt can show the content: a text that is not too long, or no file."""
    if content is None:
        return True
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return len(content) <= LARGEST


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
