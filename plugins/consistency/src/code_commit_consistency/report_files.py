"""Write the reports: `agent-config/consistency-report.txt` and a JSON document next to it.

Further samples are in `consistency-report-2.txt` to `-16.txt`. The workflow owns all these names: a
run replaces the whole set, so that no report of an earlier run remains.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from code_commit.plugin_api import Json, NotReady
from code_commit_workspace import create_file

FOLDER = "agent-config"
DOCUMENT = "consistency-report.json"
MOST_REPORTS = 16

_PAUSE = 0.05  # seconds
_MOST_TRIES = 100
_FOLDER_ONLY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def report_name(number: int) -> str:
    """Return the name of a sample's report, counted from 1."""
    return "consistency-report.txt" if number == 1 else f"consistency-report-{number}.txt"


def require_room(root: Path, count: int) -> None:
    """Check, before any paid call, that `count` reports and their document can be written.

    Raises:
        NotReady: the folder is not writable, or a folder is in the place of a file.
    """
    with _folder(root) as folder:
        if not os.access(".", os.W_OK | os.X_OK, dir_fd=folder):
            raise NotReady(f"{FOLDER} is not writable", hint="the report is written to this folder")
        for name in (*_names(count), DOCUMENT):
            if _is_folder(name, folder):
                raise NotReady(
                    f"{FOLDER}/{name} is a folder", hint="move it away: the report has this name"
                )


def publish(root: Path, reports: Sequence[str], document: Json, run: str) -> None:
    """Replace the reports of earlier runs, each atomically; `run` is this run's unique name.

    The document is removed first and written last: while it exists, it matches the reports that it
    names. A link in the place of a report is replaced, not followed.

    Raises:
        NotReady: they cannot be written; reports of an earlier run may be deleted.
    """
    names = _names(len(reports))
    contents = {name: _encoded(report) for name, report in zip(names, reports, strict=True)}
    contents[DOCUMENT] = _encoded(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    surplus = [name for name in _names(MOST_REPORTS) if name not in contents]
    try:
        with (
            _folder(root) as folder,
            _staged(contents, folder, run) as staged,
        ):
            _wait_for_others(folder)
            for name in (DOCUMENT, *surplus):
                _remove(name, folder)
            for name in (*names, DOCUMENT):
                os.rename(staged[name], name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError as error:
        raise NotReady(
            f"cannot write the report to {FOLDER}: {error.strerror}",
            hint=f"the responses are in logs/{run}",
        ) from error


def _names(count: int) -> list[str]:
    return [report_name(number) for number in range(1, count + 1)]


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")  # lone surrogates cannot be encoded


@contextmanager
def _folder(root: Path) -> Iterator[int]:
    try:
        handle = os.open(root / FOLDER, _FOLDER_ONLY)
    except OSError as error:
        raise NotReady(
            f"cannot open {FOLDER}: {error.strerror}", hint="it must be a folder, not a link"
        ) from error
    try:
        yield handle
    finally:
        os.close(handle)


def _wait_for_others(folder: int) -> None:
    """Wait until no other run writes here; not long, because anybody can hold the lock."""
    for _ in range(_MOST_TRIES):
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_PAUSE)
        else:
            return


@contextmanager
def _staged(contents: Mapping[str, bytes], folder: int, run: str) -> Iterator[dict[str, str]]:
    """Write `contents` under temporary names, and remove those that are not renamed.

    Only the owner can read them.
    """
    staged = {name: f".{name}.{run}" for name in contents}
    try:
        for name, content in contents.items():
            create_file(staged[name], content, folder=folder, sync=True)
        yield staged
    finally:
        for name in staged.values():
            with suppress(OSError):
                os.unlink(name, dir_fd=folder)


def _remove(name: str, folder: int) -> None:
    if not _is_folder(name, folder):  # this workflow writes no folders
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)


def _is_folder(name: str, folder: int) -> bool:
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return stat.S_ISDIR(status.st_mode)
