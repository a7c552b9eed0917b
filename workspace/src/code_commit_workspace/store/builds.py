"""Remember the trees on which the build passed last, so that they are not built again."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.open_flags import EMPTIED_FILE
from code_commit_workspace.files.project_tree import open_regular
from code_commit_workspace.move.home import open_home

_FILE, _NEW = "builds.json", ".builds.json.new"
_MOST = 20
_LARGEST = 64 * 1024  # bytes; a hostile build may have written the file


class Builds:
    """The ids of the last 20 trees with a green build, in the state folder `home`.

    A tree says nothing about files that are too large to be kept: unless `is_complete`, none is
    green. Only builds that could be skipped depend on it, so a file that cannot be read or written
    is no error.
    """

    def __init__(self, home: Path, is_complete: Callable[[], bool]) -> None:
        self._home = home
        self._is_complete = is_complete

    @property
    def has_any(self) -> bool:
        """Whether a build has finished in this project, green or red."""
        return self._read() is not None

    def is_green(self, tree: str) -> bool:
        """Return whether the build of `tree` was green."""
        return self._is_complete() and tree in (self._read() or ())

    def add(self, tree: str, *, passed: bool) -> None:
        """Remember how the build of `tree` ended."""
        trees = [green for green in self._read() or () if green != tree]
        if passed and self._is_complete():
            trees.append(tree)
        with suppress(OSError, NotReady):
            folder = open_home(self._home)
            try:
                handle = os.open(_NEW, EMPTIED_FILE, 0o600, dir_fd=folder)
                with os.fdopen(handle, "w", encoding="ascii") as file:
                    json.dump({"green": trees[-_MOST:]}, file)
                os.replace(_NEW, _FILE, src_dir_fd=folder, dst_dir_fd=folder)
            finally:
                os.close(folder)

    def _read(self) -> list[str] | None:
        try:
            folder = open_home(self._home)
            try:
                with open_regular(_FILE, folder=folder) as file:
                    trees = json.loads(file.read(_LARGEST))["green"]
            finally:
                os.close(folder)
        except (OSError, ValueError, LookupError, TypeError, NotReady, RecursionError):
            return None
        if not isinstance(trees, list):
            return None
        return [tree for tree in trees if isinstance(tree, str)]
