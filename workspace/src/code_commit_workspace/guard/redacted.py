"""Refuse changes that overwrite a key with its mark: a model sees `***7Q` in place of a key and writes it back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from code_commit_workspace.records import Change, Refusal, Tree

if TYPE_CHECKING:
    from code_commit_workspace.redaction import Redactor


class RedactedText:
    """A file that holds a key keeps it, or loses it on purpose, but never to the mark that stood for it.

    Other files may hold the mark: nothing is lost there.
    """

    name = "censored"

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor

    def judge(self, changes: Sequence[Change], tree: Tree) -> Iterator[Refusal]:
        """Send back a file with more marks than before of a key that a file of the response holds now."""
        if not any(b"***" in (change.content or b"") for change in changes):
            return
        before = {change.path: _content(tree, change.path) for change in changes}  # a file may move
        marks = frozenset().union(*map(self._redactor.marks, before.values()))
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


def _content(tree: Tree, path: str) -> bytes:
    with suppress(OSError):  # the model did not see what cannot be read
        return tree.read(path) or b""
    return b""
