"""The project as path rules see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from code_commit_workspace.project_tree import ProjectTree


class VisibleTree:
    """See `Tree`. `files` is `Guard.files`."""

    def __init__(self, tree: ProjectTree, files: Callable[..., tuple[str, ...]]) -> None:
        self._tree = tree
        self._files = files

    def read(self, path: str, limit: int | None = None) -> bytes | None:
        """Return the content of the regular file at `path`, or None if there is none."""
        return self._tree.read(path, limit)

    def contents(self, paths: Sequence[str], limit: int) -> Iterator[tuple[str, bytes | None]]:
        """Yield each path with its content; None for what is no regular file of at most `limit` bytes."""
        return self._tree.contents(paths, limit)

    def list(self, patterns: Sequence[str] = (), *, recursive: bool = True) -> tuple[str, ...]:
        """Return the files that git tracks or does not ignore and that a model may see, sorted."""
        return self._files(patterns, recursive=recursive)
