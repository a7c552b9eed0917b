"""`fleet run` and `fleet retry`: plan, pilot, rest."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from code_commit.plugin_api import (
    CodeCommitError,
    ExitCode,
    Host,
    Interrupted,
    LimitReached,
    NotReady,
    UsageError,
    count_of,
    exit_code_of,
)
from code_commit_fleet.command import split_file
from code_commit_fleet.driver import Driver
from code_commit_fleet.fleet import Fleet
from code_commit_fleet.fleet_file import read_fleet_file
from code_commit_fleet.fleet_folder import REACHED, SKIPPED, FleetFolder, Tried
from code_commit_fleet.plan import Unit
from code_commit_fleet.progress import Progress
from code_commit_fleet.report import write_page
from code_commit_workspace import Redactor, likely_keys, no_room


def run(host: Host, arguments: argparse.Namespace) -> int:
    """Run the unfinished units: the pilot, and if all of it is reached, the rest."""
    return _run_action(host, arguments, arguments.file, _run)


def retry(host: Host, arguments: argparse.Namespace) -> int:
    """Run some units again."""
    arguments.units, file = split_file(arguments.units)
    arguments.go = arguments.skip = False
    return _run_action(host, arguments, file, _retry)


_Action = Callable[[Fleet, argparse.Namespace], int]


def _run_action(host: Host, arguments: argparse.Namespace, file: str, action: _Action) -> int:
    """Run an action; with `--json`, print `fleet.finished` at the end, also after an error."""
    progress = Progress(host, as_json=arguments.json)
    code, summary, hint = ExitCode.INTERNAL, "", ""
    try:
        folder = FleetFolder(host.root / file)
        fleet_file = read_fleet_file(folder.file)
        with folder.locked(), _report_full_disk(folder):
            fleet = Fleet(host, arguments, fleet_file, folder, progress)
            try:
                code = ExitCode(action(fleet, arguments))
            finally:
                summary = fleet.summary()
                _write_page(folder, host)
    except KeyboardInterrupt:
        code, hint = ExitCode.INTERRUPTED, f"`code-commit fleet run {file}` continues"
        summary = summary or "interrupted"
        if not arguments.json:
            raise Interrupted(f"interrupted: {summary}", hint=hint) from None
    except CodeCommitError as error:
        if not arguments.json:
            raise
        redactor = Redactor(likely_keys(host.environ))
        code, summary, hint = (
            exit_code_of(error),
            redactor.text(error.message),
            redactor.text(error.hint),
        )
        host.out.error(summary, hint)
    finally:
        progress.close()
        if arguments.json:
            progress.event(
                "fleet.finished",
                outcome=code.outcome,
                exit_code=int(code),
                summary=summary,
                hint=hint,
            )
    return code


@contextmanager
def _report_full_disk(folder: FleetFolder) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if full := no_room(error):
            where = error.filename or folder.path
            raise NotReady(
                f"{where} cannot be written: {error.strerror}", hint=full.hint
            ) from error
        raise


def _write_page(folder: FleetFolder, host: Host) -> None:
    """Write the page, or warn that it failed, without hiding how the fleet ended."""
    try:
        write_page(folder, host)
    except OSError as error:
        host.out.note(f"warning: the page cannot be written: {error.strerror}")


def _run(fleet: Fleet, arguments: argparse.Namespace) -> int:
    plan, records = fleet.plan, fleet.records()
    pilot, rest = plan.units[: plan.pilot], plan.units[plan.pilot :]
    pilot_left = fleet.unfinished(pilot, records)
    waiting = fleet.unfinished(plan.units, records)
    fleet.progress.begin(plan, records, waiting)
    passed = any(unit.unit in records for unit in rest)  # the rest has started before
    if not waiting and not arguments.skip:
        return _finish(fleet, None)
    with fleet.driver(len(waiting)) as driver:
        if pilot_left:
            driver.run(pilot_left)
        records = fleet.records()
        red = [
            unit
            for unit in pilot
            if unit.unit not in records or records[unit.unit].outcome not in {REACHED, SKIPPED}
        ]
        if plan.pilot and rest:
            fleet.progress.event(
                "fleet.pilot", units=[unit.unit for unit in pilot], red=[unit.unit for unit in red]
            )
        if driver.limited or driver.idle:
            return _finish(fleet, driver)
        if red and arguments.skip:
            for unit in red:
                _skip(fleet, unit, records.get(unit.unit))
        elif red and rest and not passed and not arguments.go:
            reached = f"{len(pilot) - len(red)} of {count_of(len(pilot), 'unit')} reached"
            fleet.host.out.note(f"the pilot: {reached}; the rest waits")
            _note_pilot_hint(fleet)
            return _finish(fleet, driver)
        driver.run(fleet.unfinished(rest, records))
        return _finish(fleet, driver)


def _note_pilot_hint(fleet: Fleet) -> None:
    """Print how to continue after a pilot with a red unit."""
    file = fleet.arguments.file
    fleet.host.out.note(
        f"hint: `code-commit fleet run {file} --go` starts the rest; --skip starts it without the red units"
    )


def _skip(fleet: Fleet, unit: Unit, before: Tried | None) -> None:
    number = before.try_ if before else 0
    fleet.folder.append(
        "units.jsonl",
        Tried(unit.unit, unit.repository, unit.model, number, SKIPPED, cost=0.0).document(),
    )


def _retry(fleet: Fleet, arguments: argparse.Namespace) -> int:
    from code_commit_fleet.status import find_units

    records = fleet.records()
    if bool(arguments.units) == arguments.failed:
        raise UsageError("name the units to run again, or use --failed")
    if arguments.failed:
        again = [
            unit
            for unit in fleet.plan.units
            if unit.unit in records and records[unit.unit].outcome not in {REACHED, SKIPPED}
        ]
    else:
        again = [unit for word in arguments.units for unit in find_units(fleet.plan, word)]
    if not again:
        fleet.host.out.note("no unit has failed")
        return fleet.exit_code()
    fleet.progress.begin(fleet.plan, {}, again)
    with fleet.driver(len(again)) as driver:
        driver.run(dict.fromkeys(again))
        return _finish(fleet, driver)


def _finish(fleet: Fleet, driver: Driver | None) -> int:
    fleet.progress.close()
    code: int = fleet.exit_code()
    if driver is not None and driver.limited:
        left = (fleet.limits.max_cost or 0.0) - driver.spent
        raise LimitReached(
            f"max_cost: ${left:.4f} of ${fleet.limits.max_cost:.4f} is left, a unit may cost"
            f" ${fleet.limits.unit_max_cost or 0.0:.4f}; {fleet.summary()}",
            hint="raise max_cost, then run the fleet again",
        )
    if driver is not None and driver.idle:
        raise NotReady(
            f"no worker was available for {fleet.limits.worker_wait:g} seconds; {fleet.summary()}"
        )
    if not fleet.arguments.json:
        fleet.host.out.line(fleet.summary())
    return code
