"""What the latest look at the files found. The next look, also of a later run, starts from it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from code_commit_workspace.files.project_tree import open_regular
from code_commit_workspace.store.visible import Modes

FileState = tuple[int, ...]
"""Values of a status that differ after any change of the file, once the clock has moved on."""

_FILE, _NEW = "last-look.json", "last-look.json.new"
_LARGEST = 64 * 1024 * 1024  # bytes


@dataclass(frozen=True, slots=True)
class LastLook:
    """What is known besides the private index.

    `tree` is the tree of the index. `untracked` are the visible files that the user's git does not
    track, and those that a response wrote since git was asked. `unsaved` are visible paths that the
    private index lacks, such as deleted files that git tracks. `recent` are the files that were
    changed within the second of the look: seconds do not show whether they were changed again.
    `total` is at least the bytes of all files, `largest` of one. `users_index` identifies the
    user's index then, `users_objects` where the user's objects are stored.
    """

    tree: str
    modes: Modes
    untracked: AbstractSet[str]
    unsaved: AbstractSet[str]
    recent: Mapping[str, FileState]
    total: int
    largest: int
    users_index: FileState
    users_objects: FileState


def file_state(status: os.stat_result) -> FileState:
    """Return the state of a file with this status."""
    return (
        status.st_dev,
        status.st_ino,
        status.st_mode,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


def state_of_index(path: Path) -> FileState:
    """Return the state of an index, empty if there is none."""
    try:
        return file_state(path.lstat())
    except OSError:
        return ()


def state_of_objects(folder: Path) -> FileState:
    """Return a state that differs after git deleted objects from a `folder` of objects."""
    state: list[int] = []
    for place in (folder, folder / "pack"):
        with suppress(OSError):
            status = place.stat()
            state += (status.st_dev, status.st_ino, status.st_mtime_ns)
    return tuple(state)


def write_last_look(folder: Path, look: LastLook) -> None:
    """Write `look` into the `folder` of the private repository, whose index belongs to it."""
    document = {
        "index": state_of_index(folder / "index"),
        **asdict(look),
        "untracked": sorted(look.untracked),
        "unsaved": sorted(look.unsaved),
    }
    new = folder / _NEW
    new.unlink(missing_ok=True)
    new.write_text(json.dumps(document), encoding="ascii")
    new.replace(folder / _FILE)


def forget_last_look(folder: Path) -> None:
    """Delete what `write_last_look` wrote."""
    (folder / _FILE).unlink(missing_ok=True)


def read_last_look(folder: Path) -> LastLook | None:
    """Read the latest look; None if there is none, or if it belongs to another index.

    A hostile build may have written it, like the index, if there was no sandbox.
    """
    try:
        with open_regular(folder / _FILE) as file:
            document = json.loads(file.read(_LARGEST))
        if not document["index"] or tuple(document["index"]) != state_of_index(folder / "index"):
            return None
        modes = document["modes"]
        return LastLook(
            tree=str(document["tree"]),
            modes=Modes(
                int(modes["plain"]),
                int(modes["executable"]),
                {str(path): int(mode) for path, mode in modes["unusual"].items()},
            ),
            untracked=frozenset(map(str, document["untracked"])),
            unsaved=frozenset(map(str, document["unsaved"])),
            recent={
                str(path): tuple(map(int, state)) for path, state in document["recent"].items()
            },
            total=int(document["total"]),
            largest=int(document["largest"]),
            users_index=tuple(map(int, document["users_index"])),
            users_objects=tuple(map(int, document["users_objects"])),
        )
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        OverflowError,
        RecursionError,
    ):
        return None
