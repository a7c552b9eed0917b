"""Find what decides where a path ends: each link and folder on the way to it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from code_commit_workspace.files.mount_table import other_names, read_mount_table
from code_commit_workspace.files.path_text import within

_MOST_LINKS = 40  # as Linux


def places_on_way(path: str) -> Iterator[str]:
    """Yield the real path of each folder and link on the way to an absolute `path`.

    The last one is where the path ends, existing or not.
    """
    real = "/"  # the way so far, without links
    links = 0
    ahead = [*reversed(Path(path).parts[1:])]
    while ahead:
        part = ahead.pop()
        if part == "..":
            real = os.path.dirname(real)  # noqa: PTH120 - a text
            continue
        here = os.path.join(real, part)  # noqa: PTH118 - a text
        yield here
        target = None
        if links < _MOST_LINKS:
            target = _target(here)
        if target is None:
            real = here
            continue
        links += 1
        if target.is_absolute():
            real = "/"
        ahead += reversed([name for name in target.parts if name != "/"])
    yield real


def replaceable_places(path: Path, folder: Path) -> Iterator[Path]:
    """Yield the places on the way to `path` that whoever may write in `folder` can replace.

    These are files, folders and links in `folder`, existing or not. Whoever replaces one decides
    what is at `path`. Other names of the folder and of these places, through links or mounts, count
    as well.
    """
    try:
        status = folder.stat()
    except (OSError, ValueError):
        return
    table = read_mount_table()
    real = os.path.realpath(folder)
    is_folder: dict[Path, bool] = {}  # whether each path leads to `folder`
    absolute = os.path.join(os.getcwd(), path)  # noqa: PTH109, PTH118 - keeps `..`
    for place in map(Path, places_on_way(absolute)):
        for above in place.parents:
            if above not in is_folder:
                is_folder[above] = _is_same(above, status)
        if any(is_folder[above] for above in place.parents):
            yield place
            continue
        for name in other_names(str(place), table):
            if name != real and within(name, real):
                yield Path(name)


def _target(path: str) -> Path | None:
    try:
        return Path(path).readlink()
    except (OSError, ValueError):
        return None  # not a link


def _is_same(path: Path, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(path.stat(), status)
    except (OSError, ValueError):
        return False
