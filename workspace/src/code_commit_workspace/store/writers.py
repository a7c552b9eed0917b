"""Who wrote what during a run: its responses, its processes, or people.

Each checkpoint records who may have written since the one before it (`Writers`). `RunWrites` reads
that history: what the run may put back, and what it must leave, because a person wrote it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

_NOTHING, _EXECUTABLE = "000000", "100755"


class State(NamedTuple):
    """What is at a path: git's mode and object id, as a tree has them."""

    mode: str
    blob: str

    @property
    def missing(self) -> bool:
        """Whether nothing is there."""
        return self.mode == _NOTHING

    @property
    def executable(self) -> bool:
        """Whether it is a program."""
        return self.mode == _EXECUTABLE


class Step(NamedTuple):
    """The path of a file that differs between two checkpoints, with its old and its new state."""

    path: str
    old: State
    new: State


@dataclass(frozen=True, slots=True)
class Writers:
    """Who may have written since the checkpoint before.

    `responses` has the object id of each file as a response wrote it, None for one that a response
    deleted. `process` is whether a process may have written; None if the program that takes the
    checkpoints wrote everything. `put_back` are the paths that it put back. A person wrote what
    none of these explains. `rewinds` is an earlier checkpoint of the run: what was written since
    then is put back, and does not count.
    """

    responses: Mapping[str, str | None] = field(default_factory=dict)
    process: bool | None = None
    put_back: Collection[str] = ()
    rewinds: str = ""

    def is_person(self, path: str) -> bool:
        """Return whether a person wrote the file at `path`, unless a response did."""
        return self.process is False and path not in self.put_back

    def is_program(self, path: str) -> bool:
        """Return whether the program wrote the file at `path`, unless a response did."""
        return self.process is None or path in self.put_back


@dataclass(frozen=True, slots=True)
class Interval:
    """The steps from one checkpoint to the next, and who may have made them.

    `begin` is the number of the older checkpoint. `rights` has the permission bits before and after
    of each file whose bits alone changed.
    """

    begin: int
    writers: Writers
    steps: Sequence[Step]
    rights: Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Earlier:
    """What to put back at a path: its state, and the number of a checkpoint that has it."""

    state: State
    checkpoint: int


@dataclass(slots=True)
class _PathHistory:
    """What happened to one path.

    `back` is None unless the run wrote it after the last person who did.
    """

    last: State  # at the last checkpoint
    states: set[State]
    back: Earlier | None = None
    before_run: Earlier | None = None  # before the run first wrote it
    response_wrote: bool = False
    program_wrote: bool = False  # the one that takes the checkpoints
    process_wrote: bool = False
    edited: bool = False  # a person wrote it after the run did

    @property
    def is_own(self) -> bool:
        """Whether the run itself wrote it, not only one of its processes."""
        return self.response_wrote or self.program_wrote

    @property
    def may_be_of_person(self) -> bool:
        """Whether it changed while a process ran and no response wrote it."""
        return self.process_wrote and not self.response_wrote

    def forget_run(self) -> None:
        """Forget what the run wrote: it is put back."""
        self.back = None
        self.before_run = None
        self.response_wrote = False
        self.program_wrote = False
        self.process_wrote = False
        self.edited = False


class RunWrites:
    """What a run wrote to its files, by the history of its checkpoints.

    `back` has what to put back at each path that the run changed: its state at the start, or as a
    person left it before the run wrote it. `edited` are the files that a person changed after the
    run wrote them. `unclaimed` are those that changed while a process ran and that no response
    wrote: the process wrote them, or a person. `rights` has the permission bits to put back.
    `by_people` are all paths that people wrote.
    """

    def __init__(self, intervals: Iterable[Interval]) -> None:
        self._paths: dict[str, _PathHistory] = {}
        self.by_people: set[str] = set()
        self.rights: dict[str, int] = {}
        for interval in intervals:
            for step in interval.steps:
                self._add(step, interval)
            for path, (old, new) in interval.rights.items():
                self._add_rights(path, old, new, interval.writers)
        self.back = {
            path: history.back
            for path, history in self._paths.items()
            if history.back and history.back.state != history.last
        }
        self.edited = {
            path for path, history in self._paths.items() if history.edited and history.is_own
        }
        self.unclaimed = {path for path in self.back if self._paths[path].may_be_of_person}

    @property
    def changed(self) -> set[str]:
        """The paths that the run changed, as of its last checkpoint."""
        return self.back.keys() | self.edited | self.rights.keys()

    def is_own(self, path: str) -> bool:
        """Return whether the run itself wrote the file at `path`, not only one of its processes."""
        return path in self._paths and self._paths[path].is_own

    def before_run(self, path: str) -> Earlier | None:
        """Return what was at `path` before the run first wrote it, or None if it never did."""
        history = self._paths.get(path)
        return history.before_run if history else None

    def last(self, path: str) -> State:
        """Return the state of a changed path at the last checkpoint."""
        return self._paths[path].last

    def has_seen(self, path: str, state: State) -> bool:
        """Return whether a checkpoint of the run has this state of the path."""
        return path in self._paths and state in self._paths[path].states

    def _add(self, step: Step, interval: Interval) -> None:
        history = self._paths.setdefault(step.path, _PathHistory(step.old, {step.old}))
        history.last = step.new
        history.states.add(step.new)
        before = Earlier(step.old, interval.begin)
        by_response = _is_of_response(step, interval.writers)
        if not by_response and interval.writers.is_person(step.path):
            self._add_of_person(step.path, history, before, interval.writers)
            return
        if history.back is None or (by_response and history.may_be_of_person):
            history.back = before
        by_program = not by_response and interval.writers.is_program(step.path)
        if by_program and history.back.state == step.new:
            history.forget_run()  # the program put it back
            return
        history.before_run = history.before_run or before
        history.edited = False
        history.response_wrote |= by_response
        history.program_wrote |= by_program
        history.process_wrote |= not (by_response or by_program)

    def _add_of_person(
        self,
        path: str,
        history: _PathHistory,
        before: Earlier,
        writers: Writers,
    ) -> None:
        self.by_people.add(path)
        history.edited = history.edited or history.back is not None
        if path in writers.responses:  # a response wrote it, then a person
            history.before_run = history.before_run or before
            history.response_wrote = True
            history.edited = True
        history.back = None

    def _add_rights(self, path: str, old: int, new: int, writers: Writers) -> None:
        if writers.is_person(path) and path not in writers.responses:
            self.rights.pop(path, None)
        elif self.rights.setdefault(path, old) == new:
            del self.rights[path]


def _is_of_response(step: Step, writers: Writers) -> bool:
    if step.path not in writers.responses:
        return False
    blob = writers.responses[step.path]
    if blob is None:
        return step.new.missing
    return step.new.blob == blob
