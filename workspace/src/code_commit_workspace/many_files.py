"""Read many files of a project, with each folder opened once."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import groupby

from code_commit_workspace.project_tree import FILE, ProjectTree

_PIECE = 1 << 16


def contents(tree: ProjectTree, paths: Sequence[str], limit: int) -> Iterator[tuple[str, bytes | None]]:
    """See `ProjectTree.contents`."""
    for folder, group in groupby(paths, lambda path: path.rpartition("/")[0]):
        with ExitStack() as stack:
            try:
                handle = stack.enter_context(tree.folder(folder))
            except OSError:
                yield from ((path, None) for path in group)
                continue
            for path in group:
                yield path, _content(handle, path.rpartition("/")[2], limit)


def _content(folder: int, name: str, limit: int) -> bytes | None:
    try:
        handle = os.open(name, FILE, dir_fd=folder)
    except OSError:
        return None
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_size > limit:
            return None
        content = os.read(handle, found.st_size + 1)
        # A shorter read than asked for is the end of a regular file; otherwise it grew meanwhile.
        while found.st_size < len(content) <= limit and (more := os.read(handle, _PIECE)):
            content += more
    except OSError:
        return None
    finally:
        os.close(handle)
    return content if len(content) <= limit else None
