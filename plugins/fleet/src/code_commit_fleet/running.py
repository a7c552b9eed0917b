"""`fleet run` and `fleet retry`: plan, pilot, rest."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from code_commit.plugin_api import (
    STOP,
    CodeCommitError,
    ExitCode,
    Host,
    Interrupted,
    LimitReached,
    NotReady,
    UsageError,
    count_of,
    exit_code_of,
    no_room,
)
from code_commit_fleet.command import units_and_file
from code_commit_fleet.driver import Driver
from code_commit_fleet.fleet import Fleet
from code_commit_fleet.fleet_file import read_fleet_file
from code_commit_fleet.fleet_folder import SKIPPED, FleetFolder, Tried, waiting
from code_commit_fleet.plan import Unit
from code_commit_fleet.progress import Progress
from code_commit_fleet.report import write_page
from code_commit_workspace import Redactor


def run(host: Host, arguments: argparse.Namespace) -> int:
    """Run the unfinished units: the pilot, and if all of it is reached, the rest."""
    return _run_action(host, arguments, arguments.file, _run)


def retry(host: Host, arguments: argparse.Namespace) -> int:
    """Run some units again."""
    arguments.units, file = units_and_file(arguments.units)
    arguments.go = False
    arguments.skip = False
    return _run_action(host, arguments, file, _retry)


_Action = Callable[[Fleet, argparse.Namespace], int]


def _run_action(host: Host, arguments: argparse.Namespace, file: str, action: _Action) -> int:
    """Run an action; with `--json`, print `fleet.finished` at the end, also after an error."""
    progress = Progress(host, as_json=arguments.json)
    code = ExitCode.INTERNAL
    summary = ""
    hint = ""
    try:
        folder = FleetFolder(host.root / file)
        fleet_file = read_fleet_file(folder.file)
        with folder.locked(), _report_full_disk(folder):
            fleet = Fleet(host, arguments, fleet_file, folder, progress)
            try:
                code = ExitCode(action(fleet, arguments))
            finally:
                with STOP.hold():
                    summary = fleet.summary()
                    _write_page(folder, host)
    except Interrupted:
        code = ExitCode.INTERRUPTED
        hint = f"`code-commit fleet run {file}` continues"
        summary = summary or "interrupted"
        if not arguments.json:
            raise Interrupted(f"interrupted: {summary}", hint=hint) from None
    except CodeCommitError as error:
        if not arguments.json:
            raise
        redactor = Redactor()
        redactor.add_likely(host.environ)
        code = exit_code_of(error)
        summary = redactor.text(error.message)
        hint = redactor.text(error.hint)
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
            path = error.filename or folder.path
            raise NotReady(f"{path} cannot be written: {error.strerror}", hint=full.hint) from error
        raise


def _write_page(folder: FleetFolder, host: Host) -> None:
    """Write the page, or warn that it failed, without hiding how the fleet ended."""
    try:
        write_page(folder, host)
    except OSError as error:
        host.out.note(f"warning: the page cannot be written: {error.strerror}")


def _run(fleet: Fleet, arguments: argparse.Namespace) -> int:
    plan = fleet.plan
    records = fleet.records()
    pilot = plan.units[: plan.pilot]
    others = plan.units[plan.pilot :]
    pilot_left = fleet.unfinished(pilot, records)
    waiting = fleet.unfinished(plan.units, records)
    fleet.progress.begin(plan, records, waiting)
    others_began = any(unit.unit in records for unit in others)
    if not waiting and not arguments.skip:
        return _finish(fleet, None)
    with fleet.driver(len(waiting)) as driver:
        if pilot_left:
            driver.run(pilot_left)
        records = fleet.records()
        red = fleet.unreached(pilot)
        if plan.pilot and others:
            fleet.progress.event(
                "fleet.pilot", units=[unit.unit for unit in pilot], red=[unit.unit for unit in red]
            )
        if driver.limited or driver.idle:
            return _finish(fleet, driver)
        if red and arguments.skip:
            for unit in red:
                _skip(fleet, unit, records.get(unit.unit))
        elif red and others and not others_began and not arguments.go:
            _note_pilot(fleet, len(pilot), len(red))
            return _finish(fleet, driver)
        driver.run(fleet.unfinished(others, records))
        return _finish(fleet, driver)


def _note_pilot(fleet: Fleet, count: int, red: int) -> None:
    """Print that a pilot of `count` units has red ones, and how to continue."""
    file = fleet.arguments.file
    reached = f"{count - red} of {count_of(count, 'unit')} reached"
    fleet.host.out.note(f"the pilot: {reached}; the rest waits")
    fleet.host.out.note(
        f"hint: `code-commit fleet run {file} --go` starts the rest; "
        "--skip starts it without the red units"
    )


def _skip(fleet: Fleet, unit: Unit, before: Tried | None) -> None:
    number = before.try_ if before else 0
    skipped = replace(waiting(unit), try_=number, outcome=SKIPPED, cost=0.0)
    fleet.folder.append("units.jsonl", skipped.document())


def _retry(fleet: Fleet, arguments: argparse.Namespace) -> int:
    from code_commit_fleet.status import find_units

    records = fleet.records()
    if bool(arguments.units) == arguments.failed:
        raise UsageError("name the units to run again, or use --failed")
    if arguments.failed:
        again = [unit for unit in fleet.unreached(fleet.plan.units) if unit.unit in records]
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
        most = fleet.limits.max_cost or 0.0
        left = f"${most - driver.spent:.4f} of ${most:.4f} is left"
        one_more = f"a unit may cost ${fleet.limits.unit_max_cost or 0.0:.4f}"
        raise LimitReached(
            f"max_cost: {left}, {one_more}; {fleet.summary()}",
            hint="raise max_cost, then run the fleet again",
        )
    if driver is not None and driver.idle:
        raise NotReady(
            f"no worker was available for {fleet.limits.worker_wait:g} seconds; {fleet.summary()}"
        )
    if not fleet.arguments.json:
        fleet.host.out.line(fleet.summary())
    return code
