"""Refuse changes that overwrite a key with its mark.

A model sees `***7Q` instead of a key, and may write that back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from code_commit_workspace.records import Change, Refusal, Tree

if TYPE_CHECKING:
    from code_commit_workspace.keys.redaction import Redactor


class RedactedText:
    """A file keeps its key, or loses it on purpose, but never to the mark that replaced the key.

    Other files may contain the mark, because nothing is lost there.
    """

    name = "censored"

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor

    def judge(self, changes: Sequence[Change], tree: Tree) -> Iterator[Refusal]:
        """Send back a file that gains marks of a key that a changed file contains on disk."""
        if not any(b"***" in (change.content or b"") for change in changes):
            return  # without reading the files and searching them for keys
        # A response may move a file, so the marks of all files count for each.
        contents = {change.path: _content(tree, change.path) for change in changes}
        marks = frozenset().union(*map(self._redactor.marks, contents.values()))
        for change in changes:
            if not change.content:
                continue
            content_before = contents[change.path]
            for mark in marks:
                if change.content.count(mark) > content_before.count(mark):
                    reason = _reason(mark.decode())
                    yield Refusal(change.path, self.name, reason, then="repair")
                    break


def _reason(mark: str) -> str:
    return (
        f"{mark} stands for a secret in the file itself, which this content would overwrite. "
        "Leave that file as it is, or write a version without the secret."
    )


def _content(tree: Tree, path: str) -> bytes:
    with suppress(OSError):  # the model did not see a file that cannot be read
        return tree.read(path) or b""
    return b""
