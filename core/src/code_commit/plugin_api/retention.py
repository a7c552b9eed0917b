"""Delete runs that nobody needs any more: their folders, and what only their logs need."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from code_commit.plugin_api.errors import NotReady
from code_commit.plugin_api.private_folder import STATE_FOLDER
from code_commit.plugin_api.run_files import LOGS, is_running, run_folders, run_start
from code_commit.run_folder.output_folder import output_folders
from code_commit_workspace import STOP, Workspace, open_regular, remove_tree
from code_commit_workspace.words import count_of

_DAY = 86400.0  # seconds
_STATE = "state"  # the folder of what workflows keep between runs, in the state folder
_LARGEST_STATE = 16 * 1024 * 1024  # bytes of a file
_LIST = "index.html"  # in the folder of the logs: a page with all runs, also those deleted since
_RUN = re.compile(rb"\d{4}(?:-\d\d){5}-[\w.+@=,-]+")


@dataclass(frozen=True, slots=True)
class Retention:
    """Which runs are kept: at most so many, at most so old, with at most so many bytes.

    None is no limit.
    """

    runs: int | None = None
    days: float | None = None
    bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Pruned:
    """The runs that were deleted and those that are left, the oldest first, and bytes freed."""

    runs: Sequence[str]
    left: Sequence[str]
    freed: int


@dataclass(frozen=True, slots=True)
class StoredBytes:
    """How many runs there are, and the bytes of their folders and of the store."""

    runs: int
    logs: int
    store: int

    def __str__(self) -> str:
        """Say it for people."""
        return (
            f"{count_of(self.runs, 'run')} with {megabytes(self.logs)} in {LOGS}, "
            f"{megabytes(self.store)} in the store"
        )


def megabytes(size: int) -> str:
    """Return a number of bytes for people, such as `12.3 MB`."""
    return f"{size / 1e6:,.1f} MB"


def stored_bytes(root: Path) -> StoredBytes:
    """Return how much the runs of the project at `root` store.

    Raises:
        NotReady: the folder of the logs cannot be read.
    """
    folders = output_folders(root / LOGS)
    logs = sum(map(_size, folders))
    return StoredBytes(len(folders), logs, Workspace.store_bytes(root, STATE_FOLDER))


def prune_runs(workspace: Workspace, retention: Retention, *, but: str = "") -> Pruned:
    """Delete the oldest runs beyond a limit, and free what no run that is left needs.

    Runs that are running stay, and those that a workflow may continue: the state of workflows names
    them. So does the run `but`, which ends now and wants no other work
    if no run is beyond a limit. Hold the project's lock.

    Raises:
        NotReady: a folder cannot be deleted, or git fails.
        Interrupted: a signal came; no folder is half deleted.
    """
    folders = run_folders(workspace.root)
    beyond = _beyond(folders, retention, workspace)
    if but and not beyond:
        return Pruned((), [folder.name for folder in folders], 0)
    kept = {but, *_named_in_state(workspace)}
    _delete_list(workspace.root / LOGS, beyond)
    deleted: list[str] = []
    freed = 0
    for folder in beyond:
        STOP.check()
        if folder.name in kept or is_running(folder):
            continue
        size = _size(folder)
        try:
            remove_tree(folder)
        except OSError as error:
            raise NotReady(f"cannot delete {folder}: {error.strerror}") from error
        deleted.append(folder.name)
        freed += size
    left = [folder.name for folder in folders if folder.name not in deleted]
    # Include runs whose folder was deleted by hand.
    forgotten = set(workspace.store.logs.names()).difference(left, kept)
    workspace.store.forget(forgotten)
    return Pruned(deleted, left, freed + workspace.store.free())


def _delete_list(logs: Path, folders: Sequence[Path]) -> None:
    """Delete the list of runs if it names one of `folders`; the next run begins a new list."""
    with suppress(OSError), open_regular(logs / _LIST) as file:
        content = file.read()
        if any(os.fsencode(folder.name) in content for folder in folders):
            (logs / _LIST).unlink()


def _size(folder: Path) -> int:
    """Return the bytes of a run folder, which has files alone."""
    with suppress(OSError), os.scandir(folder) as files:
        return sum(file.stat(follow_symlinks=False).st_size for file in files)
    return 0


def _beyond(folders: Sequence[Path], retention: Retention, workspace: Workspace) -> Sequence[Path]:
    """Return the folders beyond a limit, the oldest first."""
    most = len(folders)
    if retention.runs is not None:
        most = min(most, retention.runs)
    if retention.days is not None:
        earliest = time.time() - retention.days * _DAY
        most = min(most, sum(run_start(folder) >= earliest for folder in folders))
    if retention.bytes is not None:
        most = min(most, _fitting(folders, retention.bytes, workspace.store.size()))
    return folders[: len(folders) - most]


def _fitting(folders: Sequence[Path], most: int, store: int) -> int:
    """Return how many of the newest runs have at most `most` bytes.

    Runs share the content of the store: an equal part counts for each of them.
    """
    total = 0
    for count, folder in enumerate(reversed(folders)):
        total += _size(folder) + store // len(folders)
        if total > most:
            return count
    return len(folders)


def _named_in_state(workspace: Workspace) -> Collection[str]:
    """Return the runs that a workflow may continue, as its state names them."""
    names: set[str] = set()
    for file in _files(workspace.state_folder / _STATE):
        names.add(file.name)
        with suppress(OSError), open_regular(file) as content:
            runs = _RUN.findall(content.read(_LARGEST_STATE))
            names.update(run.decode("utf-8", "replace") for run in runs)
    return names


def _files(folder: Path) -> Iterator[Path]:
    for above, _folders, names in os.walk(folder):
        yield from (Path(above, name) for name in names)
