"""The files of a project, or of a folder in it, for the detection of its languages."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import PurePosixPath

from code_commit.plugin_api import NotReady
from code_commit_workspace import Git, ProjectTree

_LIMIT = 256 * 1024  # bytes read of one file
_MOST = 50_000  # files of a project without a git repository
_LEFT_BY_BUILDS = {"node_modules", "venv", "target", "build", "dist", "__pycache__"}


@dataclass(frozen=True)
class Folder:
    """The folder at `path` in a project, and the `paths` of all files below it.

    The path of the top folder is "". `paths` are relative to the folder.
    """

    tree: ProjectTree = field(repr=False)
    path: str
    paths: tuple[str, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The files directly in the folder, sorted."""
        return tuple(path for path in self.paths if "/" not in path)

    @cached_property
    def folders(self) -> tuple[Folder, ...]:
        """The folders directly in the folder, sorted."""
        below: dict[str, list[str]] = {}
        for path in self.paths:
            name, slash, inner_path = path.partition("/")
            if slash:
                below.setdefault(name, []).append(inner_path)
        return tuple(
            Folder(self.tree, self._from_root(name), tuple(below[name])) for name in sorted(below)
        )

    def has(self, *patterns: str) -> bool:
        """Return whether a file directly in the folder matches one of `patterns`."""
        return any(fnmatchcase(name, pattern) for name in self.names for pattern in patterns)

    def named(self, *patterns: str) -> list[str]:
        """Return the files at any depth whose names match one of `patterns`."""
        return [
            path
            for path in self.paths
            if any(fnmatchcase(PurePosixPath(path).name, pattern) for pattern in patterns)
        ]

    def exists(self, name: str) -> bool:
        """Return whether something called `name` is in the folder, even if git ignores it."""
        with suppress(OSError, ValueError):
            return self.tree.lstat(self._from_root(name)) is not None
        return False

    def read(self, path: str) -> str:
        """Return the beginning of a file, or "" if it cannot be read."""
        with suppress(OSError, ValueError):
            content = self.tree.read(self._from_root(path), _LIMIT) or b""
            return content.decode("utf-8", "replace")
        return ""

    def mentions(self, expression: str, *paths: str) -> bool:
        """Return whether a line of one of the files matches the regular expression."""
        return any(re.search(expression, self.read(path), re.MULTILINE) for path in paths)

    def _from_root(self, path: str) -> str:
        """Return a path in this folder, from the root of the project."""
        return f"{self.path}/{path}".lstrip("/")


def project_folder(tree: ProjectTree) -> Folder:
    """Return the top folder with the files that git tracks or does not ignore.

    Without a repository, it has all files.
    """
    try:
        paths = Git(tree.root).list_files()
    except NotReady:
        paths = set(_walk(tree))
    return Folder(tree, "", tuple(sorted(paths)))


def _walk(tree: ProjectTree) -> Iterator[str]:
    count = 0
    for where, folders, names in os.walk(tree.root):
        folders[:] = [
            name for name in folders if not name.startswith(".") and name not in _LEFT_BY_BUILDS
        ]
        for name in names:
            yield os.path.relpath(os.path.join(where, name), tree.root)  # noqa: PTH118 - a plain string
            count += 1
            if count == _MOST:
                return
