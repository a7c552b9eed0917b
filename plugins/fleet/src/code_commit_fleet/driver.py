"""The driver decides which unit runs when: slots, caps of providers, retries and the budget.

It knows nothing about Dask. A `Cluster` runs tries, each with its own key, and returns those that
ended.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from code_commit.plugin_api import STOP, Interrupted, NotReady
from code_commit_fleet.fleet_folder import LOST, FleetFolder, Tried
from code_commit_fleet.plan import Unit

_POLL = 0.5  # seconds between checks of the workers
_UNRECORDED = "the fleet was killed, or the disk was full when it ended"
_LATE = 120.0  # seconds after its time limit until a running unit counts as lost
# Seconds during which a worker with a full disk gets units only if there is no other worker.
_FULL = 60.0
_EPSILON = 1e-9


@dataclass(frozen=True, slots=True)
class Ended:
    """A try that ended.

    `data` is its result, or None if it was lost; then `error` is the reason.
    """

    key: str
    data: bytes | None
    error: str = ""


class Cluster(Protocol):
    """Runs units on workers, which have addresses."""

    def slots(self) -> Mapping[str, int]:
        """Return how many units each worker can run at the same time."""

    def start(self, key: str, order: Mapping[str, object], worker: str) -> None:
        """Start a try on a worker."""

    def wait(self, seconds: float) -> Sequence[Ended]:
        """Return the tries that ended; wait at most `seconds` for one."""

    def forget(self, key: str) -> None:
        """End a try if possible, and do not return it from `wait`."""

    def stop(self, keys: Iterable[str]) -> None:
        """Ask these tries to end."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits that the driver enforces.

    Costs are in USD; None means no limit. Times are in seconds.
    """

    max_cost: float | None
    unit_max_cost: float | None
    retries: int
    at_once: Mapping[str, int]
    unit_timeout: float
    clone_timeout: float
    worker_wait: float


@dataclass(slots=True)
class _Running:
    unit: Unit
    number: int
    worker: str
    reserved: float | None
    started: float = field(default_factory=time.monotonic)


class Driver:
    """Runs units, and records each try before the next decision.

    `order` returns what a worker needs to run a unit: it gets the unit, the number of the try and
    its reserved cost. `take` unpacks the result of a try. `report` is called at each start and end.
    `spent` is the cost of all ended tries. At the end, `limited` is whether the budget stopped the
    driver, `idle` whether no worker came.
    """

    def __init__(
        self,
        cluster: Cluster,
        folder: FleetFolder,
        limits: Limits,
        *,
        order: Callable[[Unit, int, float | None], Mapping[str, object]],
        take: Callable[[Unit, int, bytes, float | None], Tried],
        report: Callable[[str, Unit, Tried | None], None],
    ) -> None:
        self.cluster = cluster
        self.folder = folder
        self.limits = limits
        self.limited = False
        self.idle = False
        self._order = order
        self._take = take
        self._report = report
        self._running: dict[str, _Running] = {}
        self._full: dict[str, float] = {}  # when the disk of a worker was full
        tries = folder.tries()
        self.spent = sum(tried.cost or 0.0 for tried in tries)
        self._numbers: Counter[str] = Counter()
        for tried in tries:
            self._numbers[tried.unit] = max(self._numbers[tried.unit], tried.try_)

    def run(self, units: Iterable[Unit]) -> None:
        """Run `units` until each has an outcome, the budget is spent, or no worker is left.

        Raises:
            Interrupted: a signal came. The running units were asked to end, and are recorded.
        """
        try:
            self._run(deque(units))
        except Interrupted:
            with STOP.hold():
                self._stop()
            raise
        except NotReady as error:  # the cluster is gone
            for key in list(self._running):
                self._end(Ended(key, None, error.message))
            raise

    def _run(self, waiting: deque[Unit]) -> None:
        losses: Counter[str] = Counter()
        last_worker = time.monotonic()
        self.limited = False
        self.idle = False
        while waiting or self._running:
            STOP.check()
            slots = self.cluster.slots()
            if slots:
                last_worker = time.monotonic()
            while waiting and (worker := self._free(slots)) and (unit := self._next(waiting)):
                self._start(unit, worker)
            if not self._running:
                self.limited = bool(slots)
                self.idle = not slots and time.monotonic() - last_worker > self.limits.worker_wait
                if self.limited or self.idle:
                    return
            for ended in [*self.cluster.wait(_POLL), *self._overdue()]:
                if lost_unit := self._end(ended):
                    losses[lost_unit.unit] += 1
                    if losses[lost_unit.unit] <= self.limits.retries:
                        waiting.appendleft(lost_unit)

    def _free(self, slots: Mapping[str, int]) -> str:
        """Return the worker with the most free slots, or "" if all are busy."""
        busy = Counter(running.worker for running in self._running.values())
        soon = time.monotonic() - _FULL
        with_room = [worker for worker in slots if self._full.get(worker, soon) <= soon]
        free = {worker: slots[worker] - busy[worker] for worker in with_room or slots}
        worker = max(free, key=lambda worker: free[worker], default="")
        return worker if worker and free[worker] > 0 else ""

    def _next(self, waiting: deque[Unit]) -> Unit | None:
        """Take the first unit whose provider has a free place, if the budget allows one more."""
        if not self._affords():
            return None
        at_once = Counter(running.unit.provider for running in self._running.values())
        for unit in waiting:
            cap = self.limits.at_once.get(unit.provider)
            if cap is None or at_once[unit.provider] < cap:
                waiting.remove(unit)
                return unit
        return None

    def _affords(self) -> bool:
        if self.limits.max_cost is None:
            return True
        reserved = sum(running.reserved or 0.0 for running in self._running.values())
        one_more = self.limits.unit_max_cost or 0.0
        return self.spent + reserved + one_more <= self.limits.max_cost + _EPSILON

    def _start(self, unit: Unit, worker: str) -> None:
        self._numbers[unit.unit] += 1
        number = self._numbers[unit.unit]
        reserved = self.limits.unit_max_cost
        row = {"unit": unit.unit, "try": number, "reserved": reserved, "worker": worker}
        self.folder.append("tries.jsonl", row, sync=reserved is not None)
        key = f"{unit.unit}-{number}"
        self._running[key] = _Running(unit, number, worker, reserved)
        self._report("unit.started", unit, None)
        self.cluster.start(key, self._order(unit, number, reserved), worker)

    def _overdue(self) -> list[Ended]:
        """Give up the tries that are far beyond their time limit, and return them."""
        most = self.limits.unit_timeout + 2 * self.limits.clone_timeout + _LATE
        now = time.monotonic()
        late = [key for key, running in self._running.items() if now - running.started > most]
        for key in late:
            self.cluster.forget(key)
        return [Ended(key, None, "the worker does not answer") for key in late]

    def _end(self, ended: Ended) -> Unit | None:
        """Record a try; return its unit if it should run again.

        It should if its worker was lost or has a full disk. Such a worker fails fast, so without
        `_full` it would take the units of the others.
        """
        running = self._running.pop(ended.key, None)
        if running is None:
            return None  # it was counted before
        unit = running.unit
        number = running.number
        if ended.data is None:
            seconds = time.monotonic() - running.started
            tried = lost(unit, number, running.reserved, ended.error, seconds=seconds)
        else:
            tried = self._take(unit, number, ended.data, running.reserved)
        self.folder.append("units.jsonl", tried.document())
        self.spent += tried.cost or 0.0
        self._report("unit.finished", unit, tried)
        if tried.had_no_room:
            self._full[running.worker] = time.monotonic()
        if tried.outcome == LOST or tried.had_no_room:
            return unit
        return None

    def _stop(self) -> None:
        """Give running units some seconds to end; record the others as lost."""
        self.cluster.stop(list(self._running))
        end = time.monotonic() + 45  # more than a unit gives its process
        while self._running and time.monotonic() < end:
            for ended in self.cluster.wait(_POLL):
                self._end(ended)
        for key in list(self._running):
            self.cluster.forget(key)
            self._end(Ended(key, None, "the fleet was interrupted"))


def lost(
    unit: Unit,
    number: int,
    reserved: float | None,
    error: str,
    *,
    seconds: float = 0.0,
) -> Tried:
    """Return the record of a lost try. Its cost is unknown, so all of the reserved cost counts."""
    return Tried(
        unit=unit.unit,
        repository=unit.repository,
        model=unit.model,
        try_=number,
        outcome=LOST,
        cost=reserved,
        seconds=round(seconds, 3),
        error=error,
    )


def settle(folder: FleetFolder, units: Mapping[str, Unit]) -> None:
    """Record the tries that were running when an earlier driver was killed."""
    recorded = {(tried.unit, tried.try_) for tried in folder.tries()}
    for (name, number), reserved in folder.reserved().items():
        if (name, number) in recorded:
            continue
        unit = units.get(name)
        tried = Tried(
            unit=name,
            repository=unit.repository if unit else "",
            model=unit.model if unit else "",
            try_=number,
            outcome=LOST,
            cost=reserved or None,
            error=_UNRECORDED,
        )
        folder.append("units.jsonl", tried.document())
