"""Leave out of a checkpoint what is too large to save: a sparse terabyte takes no time to make."""

from __future__ import annotations

import stat
from collections.abc import Callable, Collection, Iterator, Mapping

from code_commit_workspace.records import CheckpointLimits
from code_commit_workspace.store.visible import Statuses


def too_large(
    files: Statuses,
    limits: Callable[[], CheckpointLimits],
    find_new: Callable[[], Collection[str]],
) -> Statuses:
    """Return those of `files` that are not saved, by path.

    `find_new` returns the paths whose content git does not have. Only those count for the limit of
    all files, and the largest of them are left out first. Sparse files count as if they had no
    holes: git reads those, too.
    """
    all_sizes = [status.st_size for status in files.values()]
    fit_together = sum(all_sizes) <= CheckpointLimits.LEAST_TOTAL
    if fit_together and max(all_sizes, default=0) <= CheckpointLimits.LEAST_FILE:
        return {}
    most = limits()
    sizes: dict[str, int] = {}  # of the files that are small enough by themselves
    left_out: list[str] = []
    for path, status in files.items():
        if not stat.S_ISREG(status.st_mode):
            continue
        if status.st_size > most.max_file:
            left_out.append(path)
        else:
            sizes[path] = status.st_size
    if sum(sizes.values()) > most.max_total:
        new_sizes = {path: sizes[path] for path in find_new() if path in sizes}
        left_out += _largest_beyond(most.max_total, new_sizes)
    return {path: files[path] for path in left_out}


def _largest_beyond(max_total: int, sizes: Mapping[str, int]) -> Iterator[str]:
    """Yield the largest files until those that remain have at most `max_total` bytes."""
    total = sum(sizes.values())
    for path in sorted(sizes, key=lambda path: (-sizes[path], path)):
        if total <= max_total:
            return
        yield path
        total -= sizes[path]
