"""A model is shown `***7Q` where a key stands, and writes back what it was shown: the key must not be lost by that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Protocol

from code_commit_workspace.project_tree import ProjectTree
from code_commit_workspace.records import Change, Refusal

_EVERY_MARK = b"***"  # how all of them begin


class Censor(Protocol):
    """What hides live keys."""

    def marks(self, data: bytes, /) -> frozenset[bytes]:
        """Return what is shown in place of the keys in `data`."""
        ...


class Censored:
    """A file that held a key in the clear keeps it, or loses it on purpose, but never to the mark that stood for it.

    Other files may hold the mark: nothing is lost by that.
    """

    name = "censored"

    def __init__(self, censor: Censor) -> None:
        self._censor = censor

    def judge_all(self, changes: Sequence[Change], tree: ProjectTree) -> Iterator[Refusal]:
        """Send back what holds, more often than before, the mark of a key that a file of the response holds now."""
        if not any(change.content and _EVERY_MARK in change.content for change in changes):
            return
        before = {change.path: _content(tree, change.path) for change in changes}  # a file may be moved
        marks = frozenset().union(*map(self._censor.marks, before.values()))
        for change in changes:
            for mark in marks if change.content else ():
                if change.content and change.content.count(mark) > before[change.path].count(mark):
                    yield Refusal(change.path, self.name, _reason(mark.decode()), then="repair")
                    break


def _reason(mark: str) -> str:
    return (
        f"What you were shown as {mark} is a secret in the file itself, which would be lost with this content. "
        "Leave that file as it is, or do without the secret in it."
    )


def _content(tree: ProjectTree, path: str) -> bytes:
    with suppress(OSError):  # what cannot be read was not shown
        return tree.read(path) or b""
    return b""
