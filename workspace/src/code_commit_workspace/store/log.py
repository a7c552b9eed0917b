"""The log of a run: who wrote what to the files of the project, noted when it happened."""

from __future__ import annotations

import json
import os
import stat
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.open_flags import APPENDED_FILE, FOLDER
from code_commit_workspace.files.project_tree import open_regular
from code_commit_workspace.move.home import open_folder, open_home
from code_commit_workspace.move.plan import check_path
from code_commit_workspace.store.objects import State

By = Literal[
    "start",
    "response",
    "process",
    "running",
    "command",
    "person",
    "trying",
    "shown",
    "kept",
    "trial",
    "restore",
    "undo",
    "redo",
]
"""Who wrote: a response, a process such as a build, a command that a model chose, or a person.

`start` is the beginning of the run, and `running` that of a command. `trying` begins a trial:
`shown` are files that it puts in place, `kept` or `trial` ends it. `trial` moves back what the run
wrote since then. The run itself moves more back with `restore`; after its end, people do with
`undo`. `redo` takes either back.
"""
_WRITERS = frozenset({"response", "command", "shown"})
_BACK = frozenset({"trial", "restore", "undo"})
_AFTER_THE_RUN = frozenset({"undo", "redo"})
_FOLDER = "runs"  # in the state folder
_LARGEST = 256 * 1024 * 1024  # bytes of one log


class Change(NamedTuple):
    """What was at a path, and what is there now; None is nothing."""

    before: State | None
    after: State | None


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a log.

    `time` is in nanoseconds since 1970, `tree` is that of all files if they were looked at, and
    `paths` has what was written. `left` are paths that changed while a process ran, or that a
    person changed: nobody undoes them. `since` is the number of the first entry that is moved back,
    or of the one that a redo takes back. `lost` are paths where a person's changes gave way.
    `bases` has files as the writer saw them, where a person changed them before they were written.
    """

    by: By
    time: int
    tree: str = ""
    paths: Mapping[str, Change] = field(default_factory=dict)
    left: Collection[str] = ()
    since: int = 0
    lost: Collection[str] = ()
    bases: Mapping[str, State | None] = field(default_factory=dict)


class Logs:
    """The logs of the runs of a project. `home` is its state folder."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._folder = home / _FOLDER

    def names(self) -> list[str]:
        """Return the runs that have a log, by the time of their start, oldest first."""
        return [name.partition("-")[2] for name in self._files()]

    def latest_first(self) -> Iterator[RunLog]:
        """Yield the logs, the run that started last first."""
        for file in reversed(self._files()):
            yield self._log(file)

    def written_last_first(self) -> Iterator[RunLog]:
        """Yield the logs, the one that was written to last first."""
        logs = [self._log(file) for file in self._files()]
        yield from sorted(logs, key=lambda log: log.written, reverse=True)

    def of(self, run: str) -> RunLog | None:
        """Return the log of a run, or None if it has none."""
        for file in reversed(self._files()):
            if file.partition("-")[2] == run:
                return self._log(file)
        return None

    def begin(self, run: str) -> RunLog:
        """Return a new log for a run that begins now; its first entry creates it."""
        return RunLog(self._home, run, f"{time.time_ns():020}-{run}")

    def forget(self, runs: Collection[str]) -> None:
        """Delete the logs of `runs`."""
        for file in self._files():
            if file.partition("-")[2] in runs:
                (self._folder / file).unlink(missing_ok=True)

    def _log(self, file: str) -> RunLog:
        return RunLog(self._home, file.partition("-")[2], file)

    def _files(self) -> list[str]:
        with suppress(OSError):
            handle = os.open(self._folder, FOLDER)
            try:
                return sorted(os.listdir(handle))  # noqa: PTH208 - a handle has no pathlib
            finally:
                os.close(handle)
        return []


class RunLog:
    """The log of one run: a file with a line of JSON for each entry."""

    def __init__(self, home: Path, run: str, file: str) -> None:
        self.run = run
        self._home = home
        self._file = file
        self._entries: list[Entry] | None = None
        self._sizes: list[int] = []  # of the file, before each entry that was added here

    @property
    def entries(self) -> list[Entry]:
        """The entries, oldest first.

        Raises:
            NotReady: the log is damaged.
        """
        if self._entries is None:
            self._entries = list(self._read())
        return self._entries

    @property
    def of_run(self) -> Sequence[Entry]:
        """The entries of the run itself, without what was undone and redone since.

        Raises:
            NotReady: the log is damaged.
        """
        return list(takewhile(lambda entry: entry.by not in _AFTER_THE_RUN, self.entries))

    @property
    def written(self) -> int:
        """When the file was written to last, in nanoseconds; 0 if there is none."""
        with suppress(OSError):
            return (self._home / _FOLDER / self._file).stat().st_mtime_ns
        return 0

    def add(self, entry: Entry) -> None:
        """Append an entry, safe against a loss of power.

        Raises:
            NotReady: it cannot be written.
        """
        entries = self.entries
        line = json.dumps(_encoded(entry)).encode() + b"\n"
        try:
            handle = self._open()
            with os.fdopen(handle, "ab", buffering=0) as file:
                size = os.fstat(handle).st_size
                try:
                    file.write(line)
                    os.fsync(handle)
                except OSError:
                    os.ftruncate(handle, size)
                    raise
        except OSError as error:
            raise NotReady(
                f"the log of {self.run} cannot be written: {error.strerror}",
                hint="no file was changed; fix the cause, then run again",
            ) from error
        self._sizes.append(size)
        entries.append(entry)

    def take_back(self) -> None:
        """Remove the entry that was added last here: what it says did not happen."""
        self.entries.pop()
        size = self._sizes.pop()
        with suppress(OSError):  # the entry then tells of changes that nobody finds
            handle = self._open()
            try:
                os.ftruncate(handle, size)
            finally:
                os.close(handle)

    def _open(self) -> int:
        home = open_home(self._home)
        try:
            folder = open_folder(home, _FOLDER)
        finally:
            os.close(home)
        try:
            return os.open(self._file, APPENDED_FILE, 0o600, dir_fd=folder)
        finally:
            os.close(folder)

    def _read(self) -> Iterator[Entry]:
        path = self._home / _FOLDER / self._file
        try:
            with open_regular(path) as file:
                lines = file.read(_LARGEST).splitlines(keepends=True)
        except FileNotFoundError:
            return
        except OSError as error:
            raise NotReady(f"the log {path} cannot be read: {error.strerror}") from error
        for line in lines:
            if not line.endswith(b"\n"):
                return  # a kill cut it
            try:
                yield _decoded(json.loads(line), self._home.parent.name)
            except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
                raise NotReady(
                    f"the log {path} is damaged",
                    hint="`git diff` shows what changed since the last commit; delete that file "
                    "if you need no `undo` of this run",
                ) from error


class Link(NamedTuple):
    """A change of one path by an entry; `number` is that of the entry, `by` who wrote."""

    number: int
    by: By
    change: Change


def links_of(entries: Collection[Entry], *, since: int = 0) -> dict[str, list[Link]]:
    """Return, for each path, the changes that still stand: those that nothing moved back.

    Only entries from the number `since` on count.
    """
    links: dict[str, list[Link]] = defaultdict(list)
    moved_back: dict[int, dict[str, list[Link]]] = {}  # by the number of the entry
    for number, entry in enumerate(entries):
        for path, change in entry.paths.items():
            if entry.by in _WRITERS and number >= since:
                links[path].append(Link(number, entry.by, change))
            elif entry.by in _BACK:
                standing = [link for link in links[path] if link.number < entry.since]
                moved_back.setdefault(number, {})[path] = links[path][len(standing) :]
                links[path] = standing
            elif entry.by == "redo":
                links[path] += moved_back.get(entry.since, {}).get(path, [])
    return {path: of_path for path, of_path in links.items() if of_path}


def now() -> int:
    """Return the time for an entry."""
    return time.time_ns()


def _encoded(entry: Entry) -> dict[str, Any]:
    fields: dict[str, Any] = {"by": entry.by, "time": entry.time}
    if entry.tree:
        fields["tree"] = entry.tree
    if entry.paths:
        fields["paths"] = entry.paths
    if entry.left:
        fields["left"] = sorted(entry.left)
    if entry.since:
        fields["since"] = entry.since
    if entry.lost:
        fields["lost"] = sorted(entry.lost)
    if entry.bases:
        fields["bases"] = entry.bases
    return fields


def _decoded(fields: dict[str, Any], private_folder: str) -> Entry:
    """Read an entry back; a hostile build may have written it, if there was no sandbox.

    Raises:
        ValueError, TypeError, LookupError, AttributeError: it is not an entry of ours.
    """
    by = fields["by"]
    if by not in get_args(By):
        raise ValueError(by)
    paths = {
        path: Change(_state(before), _state(after))
        for path, (before, after) in fields.get("paths", {}).items()
    }
    for path in paths:
        check_path(path, private_folder)
    return Entry(
        by=by,
        time=int(fields["time"]),
        tree=_id(fields["tree"]) if "tree" in fields else "",
        paths=paths,
        left=tuple(map(str, fields.get("left", ()))),
        since=int(fields.get("since", 0)),
        lost=tuple(map(str, fields.get("lost", ()))),
        bases={str(path): _state(base) for path, base in fields.get("bases", {}).items()},
    )


def _state(fields: Any) -> State | None:
    if fields is None:
        return None
    mode, blob = fields
    if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
        raise ValueError(mode)
    return State(mode & ~0o7000, _id(blob))


def _id(text: str) -> str:
    if len(text) not in {40, 64} or not set(text) <= set("0123456789abcdef"):
        raise ValueError(text)
    return text
