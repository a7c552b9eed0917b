"""Leave out of a checkpoint what is too large to save: a sparse terabyte is made in no time."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Mapping

from code_commit_workspace.records import CheckpointLimits


def too_large(
    files: Mapping[str, os.stat_result],
    limits: Callable[[], CheckpointLimits],
    find_new: Callable[[], Collection[str]],
) -> dict[str, os.stat_result]:
    """Return those of `files` that are not saved, by path.

    `find_new` returns the paths whose content git does not have. Only those count for the limit of
    all files, and the largest of them are left out first. Sparse files count as if they had no
    holes: git reads those, too.
    """
    every = [status.st_size for status in files.values()]
    fit_together = sum(every) <= CheckpointLimits.LEAST_TOTAL
    if fit_together and max(every, default=0) <= CheckpointLimits.LEAST_FILE:
        return {}
    sizes = {path: status.st_size for path, status in files.items() if stat.S_ISREG(status.st_mode)}
    total = sum(sizes.values())
    most = limits()
    left_out = {path for path, size in sizes.items() if size > most.max_file}
    total -= sum(sizes[path] for path in left_out)
    if total > most.max_total:
        new = {path: sizes[path] for path in find_new() if path in sizes and path not in left_out}
        total = sum(new.values())
        for path in sorted(new, key=lambda path: (-new[path], path)):
            if total <= most.max_total:
                break
            left_out.add(path)
            total -= new[path]
    return {path: files[path] for path in left_out}
