"""Write objects of the store as files. With git, that would take a process for each.

Formats: gitformat-loose and git-mktree in git's documentation.
"""

from __future__ import annotations

import hashlib
import os
import stat
import zlib
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from code_commit_workspace.files.open_flags import NEW_FILE
from code_commit_workspace.files.path_kinds import lexists
from code_commit_workspace.move.disk import FEW, flush_file_system
from code_commit_workspace.move.versions import Version

_ORDINARY = 0o644
_FAST = 1  # of zlib's levels
_NEW = "tmp_obj_"  # as git names objects that are not complete


class State(NamedTuple):
    """What is at a path: the kind and permission bits of a file, as its status has them, and its
    blob."""

    mode: int
    blob: str

    @property
    def is_link(self) -> bool:
        """Whether it is a link."""
        return stat.S_ISLNK(self.mode)

    @property
    def git_mode(self) -> str:
        """The mode in a tree, which knows one permission bit."""
        if self.is_link:
            return "120000"
        return "100755" if self.mode & stat.S_IXUSR else "100644"

    @property
    def in_git(self) -> tuple[str, str]:
        """What git knows of it: umasks make files differ in other permission bits."""
        return self.git_mode, self.blob


class Objects:
    """The folder of a repository's objects, whose ids are hashes of `object_format`."""

    def __init__(self, folder: Path, object_format: str) -> None:
        self._folder = folder
        self._format = object_format

    def id_of(self, content: bytes, kind: str = "blob") -> str:
        """Return the id that git gives to an object."""
        digest = hashlib.new(self._format, b"%b %d\0" % (kind.encode(), len(content)))
        digest.update(content)
        return digest.hexdigest()

    def state_of(self, version: Version | None) -> State | None:
        """Return the state of a path with this version."""
        if version is None:
            return None
        kind = stat.S_IFLNK if version.is_link else stat.S_IFREG
        mode = _ORDINARY if version.mode is None else version.mode
        return State(kind | mode, self.id_of(version.content))

    def put(self, contents: Iterable[bytes], kind: str = "blob") -> None:
        """Store objects, safe against a loss of power.

        Raises:
            OSError: they cannot be written.
        """
        paths = (self._write(content, kind) for content in contents)
        new = dict.fromkeys(path for path in paths if path is not None)
        if not new:
            return
        folders = {self._folder, *(path.parent for path in new)}
        if len(new) > FEW:
            _flush([self._folder], flush_file_system)
        else:
            _flush(new, os.fsync)
        for path in new:
            path.replace(path.with_name(path.name.removeprefix(_NEW)))
        if len(new) > FEW:
            _flush([self._folder], flush_file_system)
        else:
            _flush(folders, os.fsync)

    def put_tree(self, states: Mapping[str, State]) -> str:
        """Store a tree with these files and no others, and return its id."""
        files: list[tuple[bytes, str, str]] = []
        folders: dict[str, dict[str, State]] = defaultdict(dict)
        for path, state in states.items():
            name, slash, below = path.partition("/")
            if slash:
                folders[name][below] = state
            else:
                files.append((os.fsencode(name), state.git_mode, state.blob))
        for name, below_it in folders.items():
            files.append((os.fsencode(name) + b"/", "40000", self.put_tree(below_it)))
        content = b"".join(
            b"%b %b\0%b" % (mode.encode(), name.removesuffix(b"/"), bytes.fromhex(blob))
            for name, mode, blob in sorted(files)
        )
        self.put([content], "tree")
        return self.id_of(content, "tree")

    def keep_only(self, ids: Container[str]) -> None:
        """Delete all other objects, and what a kill left of some.

        Raises:
            OSError: one cannot be deleted.
        """
        for path in self._folder.glob("[0-9a-f][0-9a-f]/*"):
            if path.parent.name + path.name not in ids:
                path.unlink()

    def _write(self, content: bytes, kind: str) -> Path | None:
        """Write an object below a name for now, and return its path; None if it is there."""
        name = self.id_of(content, kind)
        path = self._folder / name[:2] / name[2:]
        if lexists(path):
            return None
        path.parent.mkdir(mode=0o700, exist_ok=True)
        new = path.with_name(f"{_NEW}{path.name}")
        new.unlink(missing_ok=True)  # left by a killed run
        header = b"%b %d\0" % (kind.encode(), len(content))
        packed = zlib.compressobj(_FAST)
        with os.fdopen(os.open(new, NEW_FILE, 0o444), "wb") as file:
            file.write(packed.compress(header))
            file.write(packed.compress(content))
            file.write(packed.flush())
        return new


def _flush(paths: Iterable[Path], flush: Callable[[int], object]) -> None:
    for path in paths:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            flush(handle)
        finally:
            os.close(handle)
