"""The files that a response format reads, to judge what its message may quote."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from code_commit.plugin_api import Change, Tree


class RecordedTree:
    """Implements `Tree`, and knows which files were read. `files` has their contents."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self.files: dict[str, bytes | None] = {}

    def read(self, path: str, limit: int | None = None, *, start: int = 0) -> bytes | None:
        self._note(path)
        return self._tree.read(path, limit, start=start)

    def contents(self, paths: Sequence[str], limit: int) -> Iterator[tuple[str, bytes | None]]:
        for path in paths:
            self._note(path)
        return self._tree.contents(paths, limit)

    def _note(self, path: str) -> None:
        if path in self.files:
            return
        try:
            self.files[path] = self._tree.read(path)
        except (OSError, ValueError):
            self.files[path] = None  # not a regular file or a valid path: the path rules refuse it

    def unchanged(self) -> Iterator[Change]:
        """Yield a change for each path that was read: one that leaves the file as it is."""
        for path, content in self.files.items():
            yield Change(path, content or b"")

    def size(self, path: str) -> int:
        return self._tree.size(path)

    def mode(self, path: str) -> int | None:
        return self._tree.mode(path)

    def list(self, patterns: Sequence[str] = (), *, recursive: bool = True) -> tuple[str, ...]:
        return self._tree.list(patterns, recursive=recursive)
