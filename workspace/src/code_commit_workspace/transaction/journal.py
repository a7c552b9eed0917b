"""The undo journal: everything a rollback needs.

    journal/staging   being written; the project is unchanged                    → dropped by the next start
    journal/active    active: the project is being changed                       → rolled back by the next start
    journal/done      closed: the project is completely new, or old again        → dropped by the next start

One rename leads from each to the next. In each folder, file `n` of the plan has up to two companions: `new-n`, its new
content until it is moved into place, and `old-n`, a hard link to the old file (so that it comes back with its inode,
times and owner), or a copy with mode 0600 where the file system cannot link. `back-n` is a file being restored.

A hostile build may have edited the journal: `decode` checks all of it before anything is used.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import stat
import unicodedata
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Self

from code_commit_workspace.errors import NotReady
from code_commit_workspace.project_tree import parts_of
from code_commit_workspace.transaction.disk import OLD_FILE, flush_files, write_file
from code_commit_workspace.transaction.home import FOLDER, open_folder, open_home

STAGING, ACTIVE, DONE = "staging", "active", "done"
_PLAN = "plan"
_PLAN_LIMIT = 256 << 20  # bytes; a plan that the host wrote is far smaller


@dataclass(frozen=True, slots=True)
class FileStep:
    """One path: its old and its new state."""

    path: str
    old: Literal["absent", "linked", "copied"]
    new: str | None  # `disk.digest` of the new file or link; None: removed
    old_mode: int = 0  # permission bits and modification time, for a copy
    old_time: int = 0  # nanoseconds
    old_digest: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole set of changes."""

    token: str  # part of each temporary name beside a target
    files: tuple[FileStep, ...]
    gone: tuple[tuple[str, int], ...]  # folders that may be removed, outermost first, with their permission bits
    made: tuple[str, ...]  # folders that are made, outermost first

    def beside(self, number: int) -> str:
        """Return the temporary name of file `number` in its target's folder, used across a mount point."""
        return f".code-commit-{self.token}-{number}"

    def encode(self) -> bytes:
        """Return the stored form: one line of JSON, one line with its checksum."""
        text = json.dumps(asdict(self)).encode()
        return text + b"\n" + hashlib.sha256(text).hexdigest().encode() + b"\n"


def decode(data: bytes, private_folder: str) -> Plan:
    """Read a plan back.

    Raises:
        ValueError: it is damaged, or not what the host writes.
    """
    text, _, rest = data.partition(b"\n")
    if rest.strip() != hashlib.sha256(text).hexdigest().encode():
        raise ValueError("its checksum is wrong")
    try:
        fields = json.loads(text)
        plan = Plan(
            token=_text(fields["token"]),
            files=tuple(_file_step(step) for step in fields["files"]),
            gone=tuple((_text(path), _number(mode) & 0o777) for path, mode in fields["gone"]),
            made=tuple(_text(path) for path in fields["made"]),
        )
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError("it is not a plan") from error
    if not re.fullmatch("[0-9a-f]{16}", plan.token):
        raise ValueError("it is not a plan")
    for path in (*(step.path for step in plan.files), *(path for path, _ in plan.gone), *plan.made):
        check_path(path, private_folder)
    return plan


def _file_step(fields: dict[str, Any]) -> FileStep:
    old = fields["old"]
    if old not in {"absent", "linked", "copied"}:
        raise ValueError("it is not a plan")
    return FileStep(
        path=_text(fields["path"]),
        old=old,
        new=None if fields["new"] is None else _text(fields["new"]),
        old_mode=_number(fields["old_mode"]) & 0o777,
        old_time=_number(fields["old_time"]),
        old_digest=_text(fields["old_digest"]),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("not a string")
    return value


def _number(value: object) -> int:
    if not isinstance(value, int) or abs(value) >= 1 << 62:
        raise TypeError("not a number that the host writes")
    return value


def check_path(path: str, private_folder: str) -> None:
    """Refuse paths that no transaction may touch. The guard checks changes, but nothing else checks a journal.

    Raises:
        ValueError: `path` is no plain relative path, cannot be encoded, or leads into git's folder or `private_folder`.
    """
    os.fsencode(path)
    parts = [_plain(part) for part in parts_of(path)]
    if "\0" in path or ".git" in parts or parts[0] == _plain(private_folder):
        raise ValueError(f"{path!r} is not for a transaction to touch")


def _plain(part: str) -> str:
    """Return the name as a file system that folds case and drops invisible characters might read it."""
    if part.isascii():
        return part.lower().rstrip(". ")
    folded = unicodedata.normalize("NFKC", part).casefold()
    return "".join(sign for sign in folded if unicodedata.category(sign) != "Cf").rstrip(". ")


class Journal:
    """The journal's folder, held by one process at a time."""

    def __init__(self, home: Path) -> None:
        self.path = home / "journal"
        self.private_folder = home.parent.name
        self._home = home
        self.handle = -1

    def __enter__(self) -> Self:
        home = open_home(self._home)
        try:
            self.handle = open_folder(home, "journal")
        except OSError as error:
            raise NotReady(
                f"the journal {self.path} cannot be used: {error.strerror}",
                hint="it must be a plain folder that you may write to, no link",
            ) from error
        finally:
            os.close(home)
        try:
            fcntl.flock(self.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            raise NotReady(
                "another run is changing files of this project at this moment", hint="wait until it ends"
            ) from None
        except OSError:
            pass  # a file system without locks: the project's lock must suffice
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the folder and release its lock.

        Unlock explicitly: a process that another thread is starting shares the handle until its exec, and would keep
        the lock after we close ours.
        """
        if self.handle >= 0:
            with suppress(OSError):
                fcntl.flock(self.handle, fcntl.LOCK_UN)
            os.close(self.handle)
            self.handle = -1

    def has(self, stage: str) -> bool:
        """Return whether `stage` exists."""
        try:
            os.stat(stage, dir_fd=self.handle, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    def open(self, stage: str) -> int:
        """Return a handle on the folder of `stage`.

        Raises:
            OSError: it does not exist, or is a link or file.
        """
        return os.open(stage, FOLDER, dir_fd=self.handle)

    def begin(self) -> int:
        """Make the folder of `STAGING` and return a handle on it."""
        os.mkdir(STAGING, 0o700, dir_fd=self.handle)
        return self.open(STAGING)

    def move(self, stage: str, following: str) -> None:
        """Turn one stage into the next, with a single rename."""
        os.rename(stage, following, src_dir_fd=self.handle, dst_dir_fd=self.handle)

    def flush(self) -> None:
        """Make the last `move` survive a power loss, before anything that depends on it."""
        os.fsync(self.handle)

    def drop(self, stage: str) -> None:
        """Remove `stage`, if it exists.

        Raises:
            OSError: it cannot be removed.
        """
        with suppress(FileNotFoundError):
            if stat.S_ISDIR(os.stat(stage, dir_fd=self.handle, follow_symlinks=False).st_mode):
                shutil.rmtree(stage, dir_fd=self.handle)
            else:
                os.unlink(stage, dir_fd=self.handle)


def write_plan(folder: int, plan: Plan) -> None:
    """Write `plan` into the folder of a stage and make that whole folder survive a power loss."""
    os.close(write_file(folder, _PLAN, plan.encode(), 0o600))
    names = [name for name in os.listdir(folder) if not stat.S_ISLNK(_mode(folder, name))]
    flush_files(folder, names)


def read_plan(folder: int, private_folder: str) -> Plan:
    """Read the plan from the folder of a stage.

    Raises:
        ValueError: it is damaged, or not what the host writes.
        OSError: it cannot be read.
    """
    with os.fdopen(os.open(_PLAN, OLD_FILE, dir_fd=folder), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("its plan is not a file")
        data = file.read(_PLAN_LIMIT + 1)
    if len(data) > _PLAN_LIMIT:
        raise ValueError("its plan is too long")
    return decode(data, private_folder)


def _mode(folder: int, name: str) -> int:
    return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
