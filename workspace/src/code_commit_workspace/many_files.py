"""Read many files of a project, with each folder opened once."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import groupby

from code_commit_workspace.project_tree import FILE, ProjectTree

_SMALL, _PIECE = 1 << 16, 1 << 20  # bytes


def contents(tree: ProjectTree, paths: Sequence[str], limit: int) -> Iterator[tuple[str, bytes | None]]:
    """See `ProjectTree.contents`."""
    for folder, group in groupby(paths, lambda path: path.rpartition("/")[0]):
        with ExitStack() as stack:
            try:
                handle = stack.enter_context(tree.folder(folder))
            except OSError:
                yield from ((path, None) for path in group)
                continue
            start = len(folder) + 1 if folder else 0
            for path in group:
                yield path, _content(handle, path[start:], limit)


def _content(folder: int, name: str, limit: int) -> bytes | None:
    try:
        handle = os.open(name, FILE, dir_fd=folder)
    except OSError:
        return None
    try:
        content = os.pread(handle, _SMALL, 0)  # fails for a folder and for a pipe
        if 0 < len(content) < _SMALL:
            return content if len(content) <= limit else None
        found = os.fstat(handle)  # a device gives nothing or all that is asked for
        if not stat.S_ISREG(found.st_mode) or found.st_size > limit:
            return None
        while len(content) <= limit and (more := os.pread(handle, _PIECE, len(content))):
            content += more
    except OSError:
        return None
    finally:
        os.close(handle)
    return content if len(content) <= limit else None
