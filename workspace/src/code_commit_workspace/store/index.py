"""git's index in the private repository: it knows the saved files, and shows which were changed."""

from __future__ import annotations

import os
from collections.abc import Collection

from code_commit_workspace.store.repository import PrivateRepository

# git makes folders for a batch of objects. To flush a few objects one by one is faster.
_FEW = 16
_FLUSH_ONE_BY_ONE = ("-c", "core.fsyncMethod=fsync")


class Index:
    """The index of the private repository."""

    def __init__(self, repository: PrivateRepository) -> None:
        self._repository = repository

    def paths(self) -> frozenset[str]:
        """Return the paths of the saved files."""
        return _paths(self._repository.run(["ls-files", "-z"]))

    def changed(self) -> frozenset[str]:
        """Return the paths of files whose status differs from the saved one.

        The content need not differ. It is not known whether a change of the permission bits alone,
        or of a file with times set back, is among them if it was within the second of the look
        before.

        Raises:
            GitError: git cannot look at all files, as in a folder without permissions.
        """
        options = ["-z", "--name-only", "--no-renames"]
        return _paths(self._repository.run(["diff-files", *options], strict=True))

    def update(self, written: Collection[str], removed: Collection[str]) -> str:
        """Save the files `written`, forget those `removed`, and return the id of the tree.

        Raises:
            GitError: a file or an object that the tree needs is gone.
        """
        flush = _FLUSH_ONE_BY_ONE if len(written) <= _FEW else ()
        if removed:
            remove = ["update-index", "-z", "--force-remove", "--stdin"]
            self._repository.run(remove, stdin=_lines(removed))
        if written:
            # Not with `--remove`: git has to fail if a file vanishes now.
            add = ["update-index", "-z", "--add", "--replace", "--stdin"]
            self._repository.run([*flush, *add], stdin=_lines(written))
        return self._repository.run([*flush, "write-tree"]).decode().strip()

    def require_objects(self, tree: str) -> None:
        """Check that all objects of `tree` exist.

        Raises:
            GitError: one is gone.
        """
        self._repository.run(["rev-list", "--quiet", "--objects", tree])


def _paths(output: bytes) -> frozenset[str]:
    return frozenset(os.fsdecode(output).split("\0")[:-1])


def _lines(paths: Collection[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in sorted(paths))
