"""The files of a run: writes records as lines of JSON, reads them back, and says whether the run is going on."""

from __future__ import annotations

import errno
import fcntl
import json
import math
import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from code_commit.plugin_api.errors import NotReady
from code_commit.plugin_api.event import Record

LOGS = "logs"
RUN_NAME = re.compile(r"(\d{4}(?:-\d\d){5})-([^\s/]+?)(?:-(\d+))?")
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LONGEST_NAME = 200  # bytes
_LONGEST = 64 * 1024 * 1024  # bytes of a line; no record of this program comes near


def as_line(fields: Mapping[str, Any]) -> str:
    """Render the fields of a record without a newline.

    The line is ASCII: no reader splits it at U+2028, and it cannot control a terminal.

    Raises:
        ValueError: a value is not JSON, such as NaN.
    """
    return json.dumps(fields, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def record_fields(record: Record) -> dict[str, Any]:
    """Return the fields of `record` in the order they have in a line."""
    return {
        "seq": record.seq,
        "time": record.time,
        "run": record.run,
        "span": record.span,
        "parent": record.parent,
        "kind": record.kind,
        "data": record.data,
        "version": record.version,
    }


def find_run(root: Path, run: str) -> Path:
    """Return the folder of a run, named whole, by its beginning if that is enough, or as `latest`.

    Raises:
        NotReady: there is none, or the beginning fits several.
    """
    names = [folder.name for folder in run_folders(root)]
    if not names:
        raise NotReady(f"there is no run yet in {root / LOGS}", hint="each run leaves a folder there")
    found = (
        [run] if run in names else names[-1:] if run == "latest" else [each for each in names if each.startswith(run)]
    )
    if len(found) == 1 and run:
        return root / LOGS / found[0]
    if found and run:
        raise NotReady(f"{run!r} is the beginning of {len(found)} runs", hint=f"among them {', '.join(found[:3])}")
    raise NotReady(f"there is no run {run!r} in {root / LOGS}", hint="give a folder's name there, or latest")


def run_folders(root: Path) -> list[Path]:
    """Return the folders of all runs, the oldest first."""
    if not is_folder(root / LOGS):
        return []
    folders = [folder for folder in (root / LOGS).iterdir() if RUN_NAME.fullmatch(folder.name) and is_folder(folder)]
    return sorted(folders, key=lambda folder: _age(folder.name))


def is_folder(path: Path) -> bool:
    """Return whether `path` is a folder, and no link to one."""
    return path.is_dir() and not path.is_symlink()


def _age(name: str) -> tuple[str, int, str]:
    """Sort by start, then by the number of a second run in the same second."""
    named = RUN_NAME.fullmatch(name)
    return (named[1], int(named[3] or 1), name) if named else (name, 1, name)


def read_records(events: Path) -> Iterator[Record]:
    """Read the records of `events.jsonl` in order.

    Lines that are no records are skipped: the last line of a killed run is often incomplete, and so is one that did
    not fit on a full disk.

    Raises:
        OSError: the file cannot be read, or is a link or no regular file.
    """
    with open_regular(events) as file:
        while line := file.readline(_LONGEST):
            if line.endswith(b"\n") or len(line) < _LONGEST:
                record = _record(line)
                if record is not None:
                    yield record
            else:
                while line and not line.endswith(b"\n"):
                    line = file.readline(_LONGEST)


def open_regular(path: Path) -> BinaryIO:
    """Open a file of a run folder. Anyone may have made it: follow no link, wait for no pipe.

    Raises:
        OSError: it cannot be read, or is a link or no regular file.
    """
    handle = os.open(path, _READ)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return open(handle, "rb")  # noqa: PTH123 - a handle


def open_run_file(folder: Path, name: str) -> BinaryIO:
    """Open the file `name` of a run folder for reading, and nothing outside of it: the folder may be anybody's.

    Raises:
        OSError: it cannot be read, or is a link or no regular file.
        ValueError: `name` is not the name of a file in a run folder.
    """
    return open_regular(folder / plain_name(name))


def plain_name(name: str) -> str:
    """Return `name` if a file in the run folder may have it.

    Raises:
        ValueError: it is empty, too long, hidden, or holds a slash or something invisible.
    """
    if not name or name.startswith(".") or "/" in name or not name.isprintable() or len(name.encode()) > _LONGEST_NAME:
        raise ValueError(f"not a name for a file in the run folder: {name!r}")
    return name


def is_running(folder: Path) -> bool:
    """Return whether the run in `folder`, which has no ending yet, is going on; if not, it was killed.

    Its process holds a lock on `events.jsonl`, which ends with the process.
    """
    try:
        handle = os.open(folder / "events.jsonl", _READ)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
    return False


def from_json(text: bytes) -> Any:
    """Read a JSON document. NaN and infinite numbers are errors.

    Raises:
        ValueError: it is not JSON.
        RecursionError: it is nested too deeply.
    """
    return _DECODER.decode(text.decode())


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is not a JSON number")
    return value


def _record(line: bytes) -> Record | None:
    try:
        fields = from_json(line)
    except (ValueError, RecursionError):
        return None
    match fields:
        case {
            "seq": int(seq),
            "time": int() | float() as time,
            "run": str(run),
            "span": int(span),
            "parent": int() | None as parent,
            "kind": str(kind),
            "data": dict(data),
            "version": int(version),
        }:
            return Record(seq, float(time), run, span, parent, kind, data, version)
    return None


_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_finite)
