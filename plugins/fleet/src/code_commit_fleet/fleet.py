"""A running fleet: its file, plan and folder, and what workers get and return."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from code_commit.plugin_api import (
    ExitCode,
    Host,
    NotReady,
    Usage,
    UsageError,
    cost_of,
    count_of,
    describe,
)
from code_commit_fleet.bundle import unpack
from code_commit_fleet.driver import Driver, Limits, lost, settle
from code_commit_fleet.fleet_file import FleetFile
from code_commit_fleet.fleet_folder import REACHED, SKIPPED, FleetFolder, Tried, latest, waiting
from code_commit_fleet.plan import Unit, make_plan
from code_commit_fleet.progress import Progress
from code_commit_fleet.worker_keys import worker_redactor
from code_commit_workspace import remove_tree

if TYPE_CHECKING:
    from code_commit_fleet.cluster import DaskCluster

_FEWEST_SLOTS = 4
_LONGEST = 2000  # characters of an error


class Fleet:
    """A running fleet: its file, its plan and its folder."""

    def __init__(
        self,
        host: Host,
        arguments: argparse.Namespace,
        file: FleetFile,
        folder: FleetFolder,
        progress: Progress,
    ) -> None:
        self.host = host
        self.arguments = arguments
        self.file = file
        self.folder = folder
        self.progress = progress
        before = folder.known_plan()
        settle(folder, before.by_id)
        self.plan = make_plan(file, host, again=before.by_id)
        self.require_no_keys()
        folder.write("fleet.toml", file.text)
        folder.write("plan.json", json.dumps(self.plan.document()))
        self.limits = limits_of(file, len(self.plan.units))

    def require_no_keys(self) -> None:
        """Check that no key would be sent to a worker.

        Raises:
            NotReady: a query, a URL or a command contains a key.
        """
        # The host reads no keys outside of a project.
        redactors = (self.host.redactor, worker_redactor())
        for unit in self.plan.units:
            text = f"{unit.query}\n{unit.url}\n{unit.setup}\n{unit.build}\n{unit.ref}"
            if any(redactor.holds_key(text) for redactor in redactors):
                raise NotReady(
                    f"the query or the table of {unit.repository} contains a key",
                    hint="remove it; workers read keys from their own configuration",
                )

    def records(self) -> dict[str, Tried]:
        """Return the latest try of each unit of the plan."""
        units = self.plan.by_id
        tries = latest(self.folder.tries())
        return {name: tried for name, tried in tries.items() if name in units}

    def unfinished(self, units: tuple[Unit, ...], records: Mapping[str, Tried]) -> list[Unit]:
        """Return the units to run: new ones, and those whose last try was not final."""
        return [
            unit for unit in units if unit.unit not in records or not records[unit.unit].is_final
        ]

    def unreached(self, units: Sequence[Unit]) -> list[Unit]:
        """Return the units that were neither reached nor skipped."""
        records = self.records()
        tries = [(unit, records.get(unit.unit, waiting(unit))) for unit in units]
        return [unit for unit, tried in tries if tried.outcome not in {REACHED, SKIPPED}]

    def summary(self) -> str:
        """Return one line for people."""
        records = self.records()
        reached = sum(tried.outcome == REACHED for tried in records.values())
        cost = sum(tried.cost or 0.0 for tried in self.folder.tries())
        return f"{reached} of {count_of(len(self.plan.units), 'unit')} reached, ${cost:.4f}"

    def exit_code(self) -> ExitCode:
        """Return REACHED if every unit was reached or skipped."""
        return ExitCode.NOT_REACHED if self.unreached(self.plan.units) else ExitCode.REACHED

    @contextmanager
    def driver(self, waiting: int) -> Iterator[Driver]:
        """Yield a driver with its cluster.

        Raises:
            NotReady: the cluster cannot be reached.
        """
        with ExitStack() as stack:
            cluster = stack.enter_context(self._cluster(waiting))
            yield Driver(
                cluster,
                self.folder,
                self.limits,
                order=self.order,
                take=self.take,
                report=self.progress.unit,
            )

    @contextmanager
    def _cluster(self, waiting: int) -> Iterator[DaskCluster]:
        arguments = self.arguments
        if arguments.scheduler and arguments.workers:
            raise UsageError("--workers cannot be used with --scheduler, which has its own workers")
        from code_commit_fleet.cluster import local_cluster, remote_cluster

        if arguments.scheduler:
            opening = remote_cluster(
                arguments.scheduler,
                wait=self.file.settings.scheduler_wait,
                insecure=arguments.insecure,
                report=self.host.out.note,
            )
        else:
            slots = arguments.workers or max(_FEWEST_SLOTS, os.cpu_count() or 1)
            opening = local_cluster(min(slots, max(1, waiting)))
        with opening as cluster:
            yield cluster

    def order(self, unit: Unit, number: int, reserved: float | None) -> dict[str, object]:
        """Return what a worker needs to run a unit, without secrets."""
        settings = self.file.settings
        sandbox = "require" if self.arguments.scheduler else "auto"
        return {
            "unit": unit.unit,
            "try": number,
            "url": unit.url,
            "ref": unit.ref,
            "commit": unit.commit,
            "model": unit.model,
            "query": unit.query,
            "setup": unit.setup,
            "build": unit.build,
            "branch": unit.branch,
            "push": settings.push,
            "max_cost": reserved,
            "repairs": settings.repairs,
            "unit_timeout": settings.unit_timeout,
            "clone_timeout": settings.clone_timeout,
            "sandbox": self.arguments.sandbox or sandbox,
        }

    def take(self, unit: Unit, number: int, data: bytes, reserved: float | None) -> Tried:
        """Unpack a result, which is not trusted, and return its record.

        Raises:
            NotReady: it cannot be written on this machine.
        """
        target = self.folder.unit_folder(unit.unit)
        new = target.with_name(f"{target.name}.new")
        try:
            if new.exists():
                remove_tree(new)
            new.mkdir(parents=True, mode=0o700)
            record = unpack(data, new)
            if target.exists():
                remove_tree(target)
            new.rename(target)
        except ValueError as error:
            return lost(unit, number, reserved, f"its result cannot be used: {error}")
        except OSError as error:
            raise NotReady(f"{target} cannot be written: {error.strerror}") from error
        return self._tried(unit, number, record, reserved)

    def _tried(
        self,
        unit: Unit,
        number: int,
        record: Mapping[str, Any],
        reserved: float | None,
    ) -> Tried:
        try:
            cost = record.get("cost")
            if cost is None and not record.get("unknown"):
                cost = _priced(record.get("models"))
            code = record.get("exit_code")
            files = record.get("files")
            return Tried(
                unit=unit.unit,
                repository=unit.repository,
                model=unit.model,
                try_=number,
                outcome=str(record.get("outcome"))[:40],
                exit_code=None if code is None else int(code),
                cost=reserved if cost is None else max(0.0, float(cost)),
                seconds=float(record.get("seconds") or 0.0),
                attempts=int(record.get("attempts") or 0),
                files=tuple(str(path) for path in files[:1000]) if isinstance(files, list) else (),
                branch=str(record.get("branch") or "")[:200],
                error=self.host.redactor.text(str(record.get("error") or "")[:_LONGEST]),
            )
        except (AttributeError, TypeError, ValueError) as error:
            return lost(unit, number, reserved, f"its result cannot be used: {describe(error)}")


def _priced(models: Any) -> float | None:
    """Return the cost of a run's calls in USD, by their tokens; None if a price is unknown."""
    if not isinstance(models, list):
        return None
    total = 0.0
    for row in models:
        tokens = row.get("tokens") or {}
        if row.get("provider") == "replay":
            continue
        usage = Usage(
            input=tokens.get("input"),
            output=tokens.get("output"),
            cache_read=tokens.get("cache_read"),
            cache_write=tokens.get("cache_write"),
        )
        price = cost_of(str(row.get("model")), usage)
        if price is None:
            return None
        total += price
    return total


def limits_of(file: FleetFile, units: int) -> Limits:
    """Return the driver's limits.

    Without `unit_max_cost`, a unit may cost a tenth of `max_cost`, or its equal share if that is
    more.
    """
    settings = file.settings
    unit_max_cost = settings.unit_max_cost
    if unit_max_cost is None and settings.max_cost is not None:
        unit_max_cost = max(settings.max_cost / 10, settings.max_cost / max(units, 1))
    return Limits(
        max_cost=settings.max_cost,
        unit_max_cost=unit_max_cost,
        retries=settings.retries,
        at_once=settings.units_at_once,
        unit_timeout=settings.unit_timeout,
        clone_timeout=settings.clone_timeout,
        worker_wait=settings.scheduler_wait,
    )
