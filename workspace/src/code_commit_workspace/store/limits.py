"""Leave out of the store what is too large: a sparse terabyte takes no time to make."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator, Mapping

from code_commit_workspace.records import StoreLimits
from code_commit_workspace.store.visible import Statuses


def too_large(files: Statuses, limits: Callable[[], StoreLimits]) -> Iterator[str]:
    """Yield the paths of those of `files` that are not kept: the largest, until the rest fits.

    Sparse files count as if they had no holes: git reads those, too.
    """
    sizes = {path: status.st_size for path, status in files.items() if stat.S_ISREG(status.st_mode)}
    total = sum(sizes.values())
    largest_first = sorted(sizes, key=lambda path: (-sizes[path], path))
    if not sizes or (
        total <= StoreLimits.LEAST_TOTAL and sizes[largest_first[0]] <= StoreLimits.LEAST_FILE
    ):
        return
    most = limits()
    for path in largest_first:
        if sizes[path] <= most.max_file and total <= most.max_total:
            return
        yield path
        total -= sizes[path]


def much_to_read(sizes: Mapping[str, int]) -> str:
    """Return a warning if git has to read so much that it takes seconds, else an empty text."""
    total = sum(sizes.values())
    if total < _MUCH:
        return ""
    return (
        f"saving {total / 1e9:.1f} GB for `undo`; "
        f"the largest file that git does not ignore is {max(sizes, key=sizes.__getitem__)}"
    )


_MUCH = 128 * 1024 * 1024  # bytes, which git reads and compresses in about two seconds
