"""What one run does to the files of the project: apply, try, undo and redo."""

from __future__ import annotations

import stat
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.path_kinds import lexists
from code_commit_workspace.move.line import Line
from code_commit_workspace.move.moving import Choose, Difference, Moved, move
from code_commit_workspace.move.three_way import (
    UNKNOWN,
    Base,
    MergeTexts,
    Overlap,
    TextMerger,
    three_way,
)
from code_commit_workspace.move.versions import Version
from code_commit_workspace.records import Change as FileChange
from code_commit_workspace.stop import STOP
from code_commit_workspace.store.log import (
    WRITERS,
    By,
    Change,
    Entry,
    Link,
    RunLog,
    links_of,
    now,
)
from code_commit_workspace.store.looks import Look
from code_commit_workspace.store.objects import State
from code_commit_workspace.store.store import Store

if TYPE_CHECKING:
    from code_commit_workspace.store.work import Work


_SMALL = 1024 * 1024  # bytes


class RunChanges:
    """Changes the files for one run, and logs who wrote what.

    `lock` is held while it does. `warn` gets texts for people. `latest` is the latest look at the
    files.
    """

    def __init__(self, store: Store, log: RunLog, warn: Callable[[str], object] = str) -> None:
        self.store = store
        self.log = log
        self.lock = threading.RLock()
        self._warn = warn
        self._merge: MergeTexts = TextMerger(store.git)
        self._wrote: dict[str, State | None] = {}  # the run itself, last
        self._versions: dict[State | None, Version | None] = {}  # small ones, at hand
        self.latest = Look("", frozenset())

    # --- what is there ----------------------------------------------------------------------------

    def begin(self) -> str:
        """Look at the files before the run writes any, once; return their tree.

        Raises:
            NotReady: git fails.
        """
        with self.lock:
            if not self.log.entries:
                look = self._look()
                self.log.add(Entry("start", now(), look.tree))
            return self.log.entries[0].tree

    def note(self, by: Literal["person", "process"]) -> Collection[str]:
        """Look at the files; log and return the paths that somebody else changed.

        Raises:
            NotReady: git fails, or the log cannot be written.
        """
        with self.lock:
            if not self.log.entries:
                self.begin()
                return ()
            look = self._look()
            others = [path for path in look.changed if not self._is_as_written(path)]
            if others and not unfinished(self.log.entries, "running", "command"):
                self.log.add(Entry(by, now(), look.tree, left=others))
            return others

    @contextmanager
    def command(self) -> Iterator[list[str]]:
        """Log what changes in the block as written by a command that a model chose.

        The value gets the paths at the end of the block.
        """
        with self.lock:
            self.note("person")
            number = len(self.log.entries)
            left_out = self.store.left_out
            self.log.add(Entry("running", now(), self.latest.tree, left=left_out))
        written: list[str] = []
        try:
            yield written
        finally:
            with self.lock, STOP.hold():
                written += self.end_command(number)

    def end_command(self, number: int, time: int | None = None) -> Collection[str]:
        """Log what a command changed since it began with the entry `number`; return the paths.

        What the run wrote meanwhile is not the command's, nor are files that were too large to be
        kept before or after it. What other commands did counts for the one that ends first. `time`
        is that of the end, in nanoseconds since 1970; now, by default.

        Raises:
            NotReady: git fails, or the log cannot be written.
        """
        meanwhile = {
            path: change.after
            for entry in self.log.entries[number:]
            for path, change in entry.paths.items()
        }
        begin = self.log.entries[number]
        after = self._look().tree
        changes: dict[str, Change] = {}
        too_large = {*begin.left, *self.store.left_out}
        for path, change in self.store.differences(begin.tree, after).items():
            if path in too_large:
                continue
            if path not in meanwhile:
                changes[path] = change
            elif not _same(meanwhile[path], change.after):
                changes[path] = Change(meanwhile[path], change.after)
        old = self.store.versions(change.before for change in changes.values())
        self.store.put(old.values())  # the user's git may delete its own objects
        self.log.add(Entry("command", time or now(), after, changes, since=number))
        self._wrote |= {path: change.after for path, change in changes.items()}
        return changes.keys()

    def _look(self) -> Look:
        self.latest = self.store.look(self._warn)
        return self.latest

    def _is_as_written(self, path: str) -> bool:
        if path not in self._wrote:
            return False
        version, _ = self.store.read(path)
        return _same(self.store.state_of(version), self._wrote[path])

    # --- writing ----------------------------------------------------------------------------------

    def apply(
        self,
        changes: Sequence[FileChange],
        shown: Mapping[str, bytes | None] | None = None,
        *,
        by: By = "response",
    ) -> Moved:
        """Write `changes`, or none of them. What a person changed elsewhere in a file stays.

        `shown` has the files as they were when the writer saw them; others are replaced as they
        are.

        Raises:
            Conflict: a person changed a file at the same places; nothing was written.
            NotReady: a write failed; the files are as they were.
        """
        seen: dict[str, Difference] = {}
        choices: dict[str, Choose] = {}
        for change in changes:
            base: Base = UNKNOWN
            target = None if change.content is None else Version(change.content, change.mode)
            if shown and change.path in shown:
                content = shown[change.path]
                base = None if content is None else Version(content)
                seen[change.path] = (base, target)
            choices[change.path] = partial(self._step, base, target)
        with self.lock:
            self.begin()
            return self._move(choices, by, seen=seen)

    def _step(self, base: Base, target: Version | None, current: Version | None) -> Version | None:
        return three_way(base, current, target, self._merge)

    def _move(
        self,
        choices: Mapping[str, Choose],
        by: By,
        *,
        since: int = 0,
        time: int | None = None,
        fallback: Mapping[str, Version | None] = MappingProxyType({}),
        seen: Mapping[str, Difference] = MappingProxyType({}),
    ) -> Moved:
        """Move files, and log it. An entry that moves back names also files that are as wanted."""
        logged: list[tuple[Entry, Line]] = []

        def prepare(moved: Moved) -> Line | None:
            logged.clear()
            versions = moved.differences if by in WRITERS else moved.versions
            if not versions:
                return None
            self.store.put(version for pair in versions.values() for version in pair)
            state_of = self.store.state_of
            paths = {
                path: Change(state_of(before), state_of(after))
                for path, (before, after) in versions.items()
            }
            merged = {
                path: Change(state_of(base), state_of(target))
                for path, (base, target) in seen.items()
                if path in paths and not _same(state_of(base), paths[path].before)
            }
            self.store.put(version for path in merged for version in seen[path])
            entry = Entry(
                by,
                time or now(),
                paths=paths,
                since=since,
                lost=moved.replaced,
                merged=merged,
            )
            self._remember({paths[path].before: before for path, (before, _) in versions.items()})
            line = self.log.line(entry)
            logged.append((entry, line))
            return line

        store = self.store
        with self.lock, STOP.hold():
            moved = move(
                store.tree, store.home, store.read, choices, fallback=fallback, prepare=prepare
            )
            for entry, line in logged:
                self.log.added(entry, line)
        self._wrote |= {
            path: store.state_of(after) for path, (_, after) in moved.differences.items()
        }
        return moved

    def _remember(self, versions: Mapping[State | None, Version | None]) -> None:
        """Keep small versions at hand: acceptance checks ask for what was there before."""
        self._versions |= {
            state: version
            for state, version in versions.items()
            if version is None or len(version.content) <= _SMALL
        }

    # --- moving back ------------------------------------------------------------------------------

    @contextmanager
    def trial(self, show: Sequence[FileChange] = ()) -> Iterator[Trial]:
        """Move back what the run writes in the block, unless you `keep` it.

        The changes `show` stand in place during the block. Where a person changed a file at the
        same places, the file is moved back all the same, and `redo` has it.

        Raises:
            NotReady: the log or a file of `show` cannot be written.
        """
        with self.lock:
            self.begin()
            number = len(self.log.entries)
            self.log.add(Entry("trying", now()))
            trial = Trial()
            try:
                if show:
                    self.apply(show, self._as_written(show), by="shown")
                yield trial
            finally:
                with STOP.hold():
                    if not trial.is_kept:
                        trial.moved = self.back("trial", since=number)
                    self.log.add(Entry("tried", now(), since=number))

    def _as_written(self, changes: Sequence[FileChange]) -> dict[str, bytes | None]:
        """Return the content of those files that the run wrote, as it wrote them last."""
        versions = self.store.versions(
            self._wrote[change.path] for change in changes if change.path in self._wrote
        )
        contents: dict[str, bytes | None] = {}
        for change in changes:
            if change.path in self._wrote:
                version = versions[self._wrote[change.path]]
                contents[change.path] = version and version.content
        return contents

    def back(
        self,
        by: Literal["trial", "restore", "undo"],
        *,
        since: int = 0,
        but: Collection[str] = (),
        only: Collection[str] | None = None,
        force: bool = True,
    ) -> Moved:
        """Move back what the run wrote since the entry `since`, and what nobody moved back yet.

        `only` these paths, and not those of `but`. With `force`, changes of a person that overlap
        give way. Except for an undo, where a person can act, an obstacle keeps no other file: the
        value names it.

        Raises:
            Conflict: an undo without `force`, and changes of a person overlap; nothing was written.
            NotReady: a file cannot be written in an undo, or the store is damaged; nothing was
                written.
        """
        links = {
            path: of_path
            for path, of_path in links_of(self.log.entries, since=since).items()
            if (only is None or path in only) and path not in but
        }
        first = {path: of_path[0].change.before for path, of_path in links.items()}
        versions = self.store.versions(
            link.change.before for of_path in links.values() for link in of_path
        )
        removals_first = sorted(links, key=lambda path: first[path] is not None)
        choices = {path: partial(self._undone, links[path]) for path in removals_first}
        fallback: dict[str, Version | None] = {}
        if force:
            fallback = {path: versions[state] for path, state in first.items()}
        self._versions = versions
        try:
            return self._move(choices, by, since=since, fallback=fallback)
        except NotReady:
            if by == "undo":
                raise
        return self._each_back(choices, by, since=since, fallback=fallback)

    def _each_back(
        self,
        choices: Mapping[str, Choose],
        by: By,
        *,
        since: int,
        fallback: Mapping[str, Version | None],
    ) -> Moved:
        """Move back one file after the other, so that no obstacle keeps the others."""
        versions: dict[str, Difference] = {}
        replaced: frozenset[str] = frozenset()
        obstacles: list[str] = []
        time = now()
        for path, choice in choices.items():
            try:
                moved = self._move({path: choice}, by, since=since, time=time, fallback=fallback)
            except NotReady as error:
                obstacles.append(error.message)
                continue
            versions |= moved.versions
            replaced |= moved.replaced
        return Moved(versions, replaced, tuple(obstacles))

    def redo(self, number: int) -> Moved:
        """Take back the move of the entry `number`, which moved files back.

        Raises:
            Conflict: files were changed since at the same places; nothing was written.
            NotReady: a file cannot be written; nothing was.
        """
        by = self.log.entries[number].by
        moved = moved_by(self.log.entries, number)
        self._versions = self.store.versions(change.before for change in moved.values())
        choices = {
            path: partial(self._undone, [Link(number, by, change)])
            for path, change in moved.items()
        }
        return self._move(choices, "redo", since=number)

    def _undone(self, links: Sequence[Link], current: Version | None) -> Version | None:
        """Return the version without the changes of `links`.

        Raises:
            Overlap: changes of a person overlap.
        """
        for link in reversed(links):
            base = self._version(link.change.after, current)
            target = self._version(link.change.before)
            current = three_way(base, current, target, self._merge)
        return current

    def _version(self, state: State | None, present: Version | None = None) -> Version | None:
        """Return the version of a state; `present` is one that may have its content."""
        if state is None:
            return None
        if _same(self.store.state_of(present), state) and present is not None:
            mode = None if state.is_link else stat.S_IMODE(state.mode)
            return present._replace(mode=mode)
        if state not in self._versions:
            self._versions |= self.store.versions([state])
        return self._versions[state]

    # --- what the run did -------------------------------------------------------------------------

    def versions(self, path: str) -> Iterator[bytes | None]:
        """Yield the contents of a file that the log knows, the latest first."""
        for entry in reversed(self.log.entries):
            states: Sequence[State | None] = ()
            if path in entry.paths:
                states = (entry.paths[path].after, entry.paths[path].before)
            elif entry.tree:
                states = (self.store.state_in(entry.tree, path),)
            for state in states:
                version = self._version(state)
                yield version and version.content

    def originals(self, paths: Collection[str]) -> dict[str, bytes | None]:
        """Return the content of each of `paths` before the run wrote it; None is no file."""
        net = self.net()
        originals: dict[str, bytes | None] = {}
        for path in paths:
            if path in net:
                version = self._version(net[path].before)
            else:
                version, _ = self.store.read(path)
            originals[path] = version and version.content
        return originals

    def left(self) -> tuple[str, ...]:
        """Return the paths that changed while processes ran, that nobody undoes, and that exist."""
        entries = self.log.entries
        written = {path for entry in entries for path in entry.paths}
        paths = {path for entry in entries if entry.by == "process" for path in entry.left}
        root = self.store.tree.root
        return tuple(sorted(path for path in paths - written if lexists(root / path)))

    def net(self) -> dict[str, Change]:
        """Return what the run changed and did not move back itself, without what people changed.

        What was undone since counts.
        """
        return self.net_of(links_of(self.log.of_run))

    def moment(self) -> str:
        """Return the present moment, for `since`, also of a later run.

        What people changed until now is logged as theirs.
        """
        self.note("person")
        return f"{self.log.run}:{len(self.log.entries)}"

    def since(self, moments: Sequence[str]) -> Work:
        """Return what this run and earlier ones changed, each since a `moment` of it.

        Raises:
            NotReady: all moments are of runs whose logs are gone.
        """
        from code_commit_workspace.store.work import work_since

        with self.lock:
            self.note("person")
            return work_since(self.store, moments, self)

    def net_of(self, links: Mapping[str, Sequence[Link]]) -> dict[str, Change]:
        """Return the change that `links` make together, for each path that differs."""
        changes = {path: self._net(of_path) for path, of_path in links.items()}
        return {path: change for path, change in changes.items() if differ(*change)}

    def _net(self, links: Sequence[Link]) -> Change:
        first, last = links[0].change, links[-1].change
        if not are_interrupted(links):
            return Change(first.before, last.after)
        try:
            before = self._undone(links, self._version(last.after))
        except Overlap:
            return Change(first.before, last.after)
        self.store.put([before])
        return Change(self.store.state_of(before), last.after)


class Trial:
    """A part of a run whose changes are moved back at its end, unless you `keep` them.

    `moved` says then what was moved back.
    """

    def __init__(self) -> None:
        self.is_kept = False
        self.moved = Moved({})

    def keep(self) -> None:
        """Keep the changes of the trial."""
        self.is_kept = True


def unfinished(entries: Sequence[Entry], begin: By, end: By) -> Sequence[int]:
    """Return the numbers of the entries by `begin` that have no `end`."""
    ended = {entry.since for entry in entries if entry.by == end}
    begun = [number for number, entry in enumerate(entries) if entry.by == begin]
    return [number for number in begun if number not in ended]


def are_interrupted(links: Sequence[Link]) -> bool:
    """Return whether somebody else changed the file between two of its changes."""
    return any(differ(one.change.after, other.change.before) for one, other in pairwise(links))


def redoable(entry: Entry) -> Collection[str]:
    """Return the paths that a redo of `entry` brings back: of a trial, what a person lost."""
    match entry.by:
        case "restore" | "undo":
            return [path for path, change in entry.paths.items() if differ(*change)]
        case "trial":
            return entry.lost
    return ()


def moved_by(entries: Sequence[Entry], number: int) -> dict[str, Change]:
    """Return what a redo brings back of the move of the entry `number`."""
    return {
        path: entry.paths[path]
        for entry in entries
        if entry.time == entries[number].time
        for path in redoable(entry)
    }


def differ(one: State | None, other: State | None) -> bool:
    """Return whether git sees two states as different."""
    return (one and one.in_git) != (other and other.in_git)


def _same(one: State | None, other: State | None) -> bool:
    """Return whether two states have the same content and kind."""
    if one is None or other is None:
        return one is other
    return one.blob == other.blob and one.is_link == other.is_link
