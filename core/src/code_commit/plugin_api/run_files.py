"""The files of runs: find them, read them back, and check whether a run is still running."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from code_commit.plugin_api.errors import NotReady
from code_commit.plugin_api.record import Record
from code_commit.plugin_api.stored_json import is_count, read_json, read_json_lines
from code_commit.run_folder.json_array import close_arrays
from code_commit.run_folder.output_folder import output_folders, plain_name
from code_commit_workspace import check_private_folder, open_regular

LOGS = "logs"  # the folder of all run folders
RUNS = {LOGS: re.compile(r"\d{4}(?:-\d\d){5}-")}  #: how the names of run folders begin
EVENTS, DOCUMENT = "events.jsonl", "run.json"
LARGEST_DIFF = 8 * 1024 * 1024  #: bytes; larger diffs are left out of run folders
_FURTHEST = 14 * 3600.0  # seconds between a local time and UTC, either way: Kiribati
_LARGEST_DOCUMENT = 64 * 1024 * 1024  # bytes
_END_OF_TIME = datetime(9999, 1, 1, tzinfo=UTC).timestamp()
# The fields of events with numbers that are added up.
_COUNTED = {
    "call.finished": (
        "seconds",
        "cost_usd",
        "input_tokens",
        "output_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "reasoning_tokens",
    ),
    "process.finished": ("seconds",),
    "run.finished": ("cost_usd",),
}
# What reading the files of a run raises if they are missing or not what a run writes.
_MALFORMED = (
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    StopIteration,
    RecursionError,
)


def find_run(root: Path, run: str) -> Path:
    """Return the folder of a run. `run` is its name, a unique prefix of its name, or `latest`.

    If the run was killed, the arrays of events that it left open are closed.

    Raises:
        NotReady: no run matches, the prefix matches several, or git tracks a run in `logs`.
    """
    folders = _own_folders(root)
    if not folders:
        raise NotReady(f"there are no runs in {root / LOGS}", hint="run `code-commit` first")
    matches = _matching_runs(folders, run)
    if not matches:
        raise NotReady(
            f"there is no run {run!r} in {root / LOGS}", hint="`code-commit runs` lists the runs"
        )
    if len(matches) > 1:
        examples = ", ".join(folder.name for folder in matches[:3])
        raise NotReady(f"{run!r} matches {len(matches)} runs", hint=f"for example {examples}")
    folder = root / LOGS / matches[0].name
    if not is_running(folder):
        close_arrays(folder, "*-response*.json")
    return folder


def _matching_runs(folders: Sequence[Path], run: str) -> list[Path]:
    if not run:
        return []
    if run == "latest":
        return [_latest(folders)]
    exact = [folder for folder in folders if folder.name == run]
    return exact or [folder for folder in folders if folder.name.startswith(run)]


def run_folders(root: Path) -> list[Path]:
    """Return the folders of all runs, the oldest first, by their start in UTC.

    Their names are in local time.

    Raises:
        NotReady: `logs` cannot be read, or git tracks a run in it.
    """
    return sorted(_own_folders(root), key=run_start)


def _own_folders(root: Path) -> list[Path]:
    """Return the folders of all runs by their names. Runs that git brought are not one's own.

    Raises:
        NotReady: `logs` cannot be read, or git tracks a run in it.
    """
    folders = output_folders(root / LOGS)
    if folders:
        check_private_folder(root, LOGS, needs_line=False, untracked=RUNS)
    for folder in folders:
        if os.path.lexists(f"{folder}/.git"):  # a submodule, perhaps of another branch
            raise NotReady(
                f"{folder} is a git repository, so it may be somebody else's",
                hint=f"check its files; if they are yours, delete {folder / '.git'}",
            )
    return folders


def _latest(folders: Sequence[Path]) -> Path:
    """Return the folder of the run that started last. Its name decides which folders are read."""
    earliest = max(map(_named_time, folders)) - 2 * _FURTHEST
    candidates = [folder for folder in folders if _named_time(folder) >= earliest]
    return max(reversed(candidates), key=run_start)


def run_start(folder: Path) -> float:
    """Return when a run started, in seconds since the epoch.

    The logged time counts if it agrees with the name of the folder.
    """
    named_time = _named_time(folder)
    for read in (_first_event_time, _document_time):
        with suppress(*_MALFORMED):
            start = read(folder)
            if abs(start - named_time) <= _FURTHEST + 1:
                return start
    return named_time


def _named_time(folder: Path) -> float:
    """Return the local time in a folder's name, read as UTC."""
    date, clock = folder.name[:10], folder.name[11:19].replace("-", ":")
    try:
        return datetime.fromisoformat(f"{date}T{clock}+00:00").timestamp()
    except ValueError:
        return float("-inf")  # such as the 99th of a month: no run has this name


def _first_event_time(folder: Path) -> float:
    return next(read_records(folder / EVENTS)).time


def _document_time(folder: Path) -> float:
    with open_run_file(folder, DOCUMENT) as file:
        document = read_json(file.read(_LARGEST_DOCUMENT))
    return datetime.fromisoformat(document["started"]).timestamp()


def read_records(events: Path) -> Iterator[Record]:
    """Read the records of `events.jsonl` in order.

    Lines that are not records are skipped: a killed run or a full disk can leave an incomplete
    line.

    Raises:
        OSError: the file cannot be read, or is not a regular file.
    """
    return filter(None, map(_record, read_json_lines(events)))


def open_run_file(folder: Path, name: str) -> BinaryIO:
    """Open the file `name` in a run folder for reading.

    The folder is untrusted: nothing outside of it is opened.

    Raises:
        OSError: it cannot be read, or is not a regular file.
        ValueError: `name` is not the name of a file in a run folder.
    """
    return open_regular(folder / plain_name(name))


def is_locked(path: Path) -> bool:
    """Return whether a process holds a lock on a file (`flock`), which ends with the process."""
    import fcntl

    try:
        with open_regular(path) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return isinstance(error, BlockingIOError)
    return False


def is_running(folder: Path) -> bool:
    """Return whether the process of an unfinished run is alive; if not, the run was killed.

    The process holds a lock on `events.jsonl`, which the system releases when the process ends.
    """
    return is_locked(folder / EVENTS)


def _record(value: Any) -> Record | None:
    """Return the record that a line of events has, or None if it is none that a run writes."""
    match value:
        case {
            "seq": int(seq),
            "time": int() | float() as time,
            "run": str(run),
            "span": int(span),
            "parent": int() | None as parent,
            "kind": str(kind),
            "data": dict(data),
            "version": int(version),
        } if 0 <= time < _END_OF_TIME and _counts(kind, data):
            return Record(seq, float(time), run, span, parent, kind, data, version)
    return None


def _counts(kind: str, data: Mapping[str, Any]) -> bool:
    """Return whether the fields that are added up are counts, or unknown."""
    amounts = [data.get(name) for name in _COUNTED.get(kind, ())]
    costs = data.get("call_costs")
    if isinstance(costs, dict):
        amounts += costs.values()
    return all(amount is None or is_count(amount) for amount in amounts)
