"""The log of a run: who wrote what to the files of the project, noted when it happened."""

from __future__ import annotations

import json
import os
import re
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
from code_commit_workspace.files.open_flags import FOLDER
from code_commit_workspace.files.project_tree import open_regular, parts_of
from code_commit_workspace.move.line import LOGS, Line, append_line
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
    "trial",
    "tried",
    "restore",
    "undo",
    "redo",
]
"""Who wrote: a response, a process such as a build, a command that a model chose, or a person.

`start` is the beginning of the run, and `running` that of a command. `trying` begins a trial, and
`tried` ends it: `shown` are files that it puts in place, `trial` moves back what the run wrote. The
run itself moves more back with `restore`; after its end, people do with `undo`. `redo` takes either
back.
"""
WRITERS = frozenset({"response", "command", "shown"})
_BACK = frozenset({"trial", "restore", "undo"})
_AFTER_THE_RUN = frozenset({"undo", "redo"})
_LARGEST = 256 * 1024 * 1024  # bytes of one log
_NAME = re.compile(r"\d{20}-(.+)", re.DOTALL)  # of a log: the time of the start, and the run
_DAMAGE = (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError)


class Change(NamedTuple):
    """What was at a path, and what is there now; None is nothing."""

    before: State | None
    after: State | None


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a log.

    `time` is in nanoseconds since 1970, `tree` is that of all files if they were looked at, and
    `paths` has what was written. `left` are paths that nobody undoes: they changed while a process
    ran, a person changed them, or they were too large when a command began. `since` is the number
    of the first entry that is moved back, of one that a redo takes back, or of the beginning of a
    command or a trial. `lost` are paths where a person's changes gave way. `merged` has what a
    writer saw and wrote, where a person changed the file in between. Entries that move files back
    one by one have the same time: they are one move.
    """

    by: By
    time: int
    tree: str = ""
    paths: Mapping[str, Change] = field(default_factory=dict)
    left: Collection[str] = ()
    since: int = 0
    lost: Collection[str] = ()
    merged: Mapping[str, Change] = field(default_factory=dict)


class Logs:
    """The logs of the runs of a project. `home` is its state folder."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._folder = home / LOGS

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
        """Return a new log for a run that begins now; its first entry creates it.

        Raises:
            ValueError: `run` is not a plain name.
        """
        if parts_of(run) != [run]:
            raise ValueError(f"not the name of a run: {run!r}")
        return RunLog(self._home, run, f"{time.time_ns():020}-{run}")

    def forget(self, runs: Collection[str]) -> None:
        """Delete the logs of `runs`."""
        for file in self._files():
            if file.partition("-")[2] in runs:
                (self._folder / file).unlink(missing_ok=True)

    def _log(self, file: str) -> RunLog:
        return RunLog(self._home, file.partition("-")[2], file)

    def _files(self) -> list[str]:
        try:
            handle = os.open(self._folder, FOLDER)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise NotReady(f"the logs {self._folder} cannot be read: {error.strerror}") from error
        try:
            names = os.listdir(handle)  # noqa: PTH208 - a handle has no pathlib
        finally:
            os.close(handle)
        return sorted(name for name in names if _NAME.fullmatch(name))


class RunLog:
    """The log of one run: a file with a line of JSON for each entry."""

    def __init__(self, home: Path, run: str, file: str) -> None:
        self.run = run
        self._home = home
        self._file = file
        self._entries: list[Entry] = []
        self._size = -1  # of the lines of the entries, in bytes; -1 before they are read

    @property
    def entries(self) -> Sequence[Entry]:
        """The entries, oldest first.

        Raises:
            NotReady: the log is damaged.
        """
        self._refresh()
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
        status = self._status()
        return status.st_mtime_ns if status else 0

    def line(self, entry: Entry) -> Line:
        """Return the line for an entry, for a move that appends it; then call `added`.

        Raises:
            NotReady: the log is damaged.
        """
        self._refresh()
        text = json.dumps(_encoded(entry)).encode() + b"\n"
        return Line(self._file, self._size, text, keeps=entry.by in WRITERS)

    def added(self, entry: Entry, line: Line) -> None:
        """Note that `line` was appended, which tells of `entry`."""
        self._entries.append(entry)
        self._size = line.size + len(line.text)

    def add(self, entry: Entry) -> None:
        """Append an entry, safe against a loss of power.

        Raises:
            NotReady: it cannot be written.
        """
        line = self.line(entry)
        try:
            append_line(self._home, line)
        except OSError as error:
            raise NotReady(
                f"the log of {self.run} cannot be written: {error.strerror}",
                hint="fix the cause, then run again",
            ) from error
        self.added(entry, line)

    def _refresh(self) -> None:
        status = self._status()
        size = status.st_size if status else 0
        if size != self._size:
            self._entries, self._size = self._read()

    def _status(self) -> os.stat_result | None:
        with suppress(OSError):
            return (self._home / LOGS / self._file).lstat()
        return None

    def _read(self) -> tuple[list[Entry], int]:
        path = self._home / LOGS / self._file
        try:
            with open_regular(path) as file:
                content = file.read(_LARGEST + 1)
        except FileNotFoundError:
            return [], 0
        except OSError as error:
            raise NotReady(f"the log {path} cannot be read: {error.strerror}") from error
        whole_lines = content[: content.rfind(b"\n") + 1]  # a kill may have cut the last one
        try:
            if len(content) > _LARGEST:
                raise ValueError(len(content))
            entries = [
                _decoded(json.loads(line), self._home.parent.name)
                for line in whole_lines.splitlines()
            ]
            if any(not 0 <= entry.since <= number for number, entry in enumerate(entries)):
                raise ValueError("an entry names one that comes later")
        except _DAMAGE as error:
            raise NotReady(
                f"the log {path} is damaged",
                hint="`git diff` shows what changed since the last commit; delete that file "
                "if you need no `undo` of this run",
            ) from error
        return entries, len(whole_lines)


class Link(NamedTuple):
    """A change of one path by an entry; `number` is that of the entry, `by` who wrote."""

    number: int
    by: By
    change: Change


def links_of(entries: Sequence[Entry], *, since: int = 0) -> dict[str, list[Link]]:
    """Return, for each path, the changes that still stand: those that nothing moved back.

    Only entries from the number `since` on count.
    """
    links: dict[str, list[Link]] = defaultdict(list)
    moved_back: dict[int, dict[str, list[Link]]] = {}  # by the time of the move
    for number, entry in enumerate(entries):
        for path, change in entry.paths.items():
            if entry.by in WRITERS and number >= since:
                links[path].append(Link(number, entry.by, change))
            elif entry.by in _BACK:
                standing = [link for link in links[path] if link.number < entry.since]
                moved_back.setdefault(entry.time, {})[path] = links[path][len(standing) :]
                links[path] = standing
            elif entry.by == "redo":
                time_of_move = entries[entry.since].time
                links[path] += moved_back.get(time_of_move, {}).get(path, [])
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
    if entry.merged:
        fields["merged"] = entry.merged
    return fields


def _decoded(fields: dict[str, Any], private_folder: str) -> Entry:
    """Read an entry back; a hostile build may have written it, if there was no sandbox.

    Raises:
        ValueError, TypeError, LookupError, AttributeError, OverflowError: it is no entry of ours.
    """
    by = fields["by"]
    if by not in get_args(By):
        raise ValueError(by)
    paths = _changes(fields.get("paths", {}))
    merged = _changes(fields.get("merged", {}))
    lost = tuple(fields.get("lost", ()))
    for path in (*paths, *merged):
        check_path(path, private_folder)
    if not set(lost) <= paths.keys():
        raise ValueError(lost)
    return Entry(
        by=by,
        time=int(fields["time"]),
        tree=_id(fields["tree"]) if "tree" in fields else "",
        paths=paths,
        left=tuple(map(str, fields.get("left", ()))),
        since=int(fields.get("since", 0)),
        lost=lost,
        merged=merged,
    )


def _changes(fields: Any) -> dict[str, Change]:
    return {path: Change(_state(before), _state(after)) for path, (before, after) in fields.items()}


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
