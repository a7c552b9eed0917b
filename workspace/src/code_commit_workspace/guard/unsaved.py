"""Refuse changes of files that the store does not keep: `undo` could not bring them back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from code_commit_workspace.records import Change, Refusal, Tree


class UnsavedFiles:
    """A file that is too large for the store stays as it is.

    `is_too_large` tells by path and size in bytes.
    """

    name = "unsaved"

    def __init__(self, is_too_large: Callable[[str, int], bool]) -> None:
        self._is_too_large = is_too_large

    def judge(self, changes: Sequence[Change], tree: Tree) -> Iterator[Refusal]:
        """Send back changes and deletions of these files."""
        for change in changes:
            if self._is_too_large(change.path, tree.size(change.path)):
                yield Refusal(change.path, self.name, _REASON, then="repair")


_REASON = "It is too large to save, so `undo` could not bring it back. Leave that file as it is."
