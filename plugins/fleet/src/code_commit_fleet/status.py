"""`fleet status` and `fleet show`."""

from __future__ import annotations

import argparse
from collections import Counter

from code_commit.plugin_api import ExitCode, Host, UsageError, count_of
from code_commit_fleet.fleet_folder import (
    REACHED,
    SKIPPED,
    WAITING,
    FleetFolder,
    Tried,
    latest,
    waiting,
)
from code_commit_fleet.plan import Plan, Unit


def folder_of(host: Host, file: str) -> FleetFolder:
    """Return the folder of a fleet file."""
    return FleetFolder(host.root / file)


def status(host: Host, arguments: argparse.Namespace) -> int:
    """Show the progress of the fleet.

    The exit code is 0 if every unit was reached or skipped, else 1.

    Raises:
        NotReady: it has not been run.
    """
    folder = folder_of(host, arguments.file)
    plan = folder.plan()
    tries = folder.tries()
    records = latest(tries)
    rows = [records.get(unit.unit) or waiting(unit) for unit in plan.units]
    counts = Counter(tried.outcome for tried in rows)
    cost = sum(tried.cost or 0.0 for tried in tries)
    if arguments.json:
        host.out.document(
            {
                "units": [tried.document() for tried in rows],
                "outcomes": dict(sorted(counts.items())),
                "cost": cost,
                "pilot": plan.pilot,
            }
        )
    else:
        host.out.table([_row(tried) for tried in rows])
        shown = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
        host.out.line(f"{count_of(len(rows), 'unit')}: {shown}; ${cost:.4f}")
    is_reached = all(tried.outcome in {REACHED, SKIPPED} for tried in rows)
    return ExitCode.REACHED if is_reached else ExitCode.NOT_REACHED


def show(host: Host, arguments: argparse.Namespace) -> int:
    """Show a unit with all of its tries.

    Raises:
        NotReady: the fleet has not been run.
        UsageError: there is no such unit, or several.
    """
    folder = folder_of(host, arguments.file)
    unit, *more = find_units(folder.plan(), arguments.unit)
    if more:
        names = ", ".join(f"{unit.unit} ({unit.model})" for unit in (unit, *more))
        raise UsageError(f"{arguments.unit!r} names several units", hint=f"one of: {names}")
    tries = [tried for tried in folder.tries() if tried.unit == unit.unit]
    files = folder.unit_folder(unit.unit)
    if arguments.json:
        last = tries[-1] if tries else waiting(unit)
        host.out.document(
            {
                **last.document(),
                "query": unit.query,
                "folder": str(files) if files.is_dir() else None,
                "tries": [tried.document() for tried in tries],
            }
        )
        return ExitCode.REACHED
    url = f"{unit.url} at {unit.ref}" if unit.ref else unit.url
    host.out.line(f"unit        {unit.unit}")
    host.out.line(f"repository  {unit.repository}: {url}")
    host.out.line(f"model       {unit.model}")
    host.out.line(f"branch      {unit.branch}")
    for tried in tries:
        attempts = count_of(tried.attempts, "attempt")
        facts = f"{tried.outcome}, {attempts}, {tried.seconds:.1f} s, {tried.shown_cost}"
        host.out.line(f"try {tried.try_:<8}{facts}")
        for line in tried.error.splitlines():
            host.out.line(f"            {line}")
    if not tries:
        host.out.line("it has not run yet")
    if files.is_dir():
        for path in sorted(files.rglob("*")):
            if path.is_file():
                host.out.line(f"            {path}")
    return ExitCode.REACHED


def find_units(plan: Plan, word: str) -> list[Unit]:
    """Return the unit whose id begins with `word`, or the units of the repository `word`.

    Raises:
        UsageError: there is none, or several ids begin with `word`.
    """
    by_name = [unit for unit in plan.units if unit.repository == word]
    by_id = [unit for unit in plan.units if word and unit.unit.startswith(word)]
    if not by_name and len(by_id) > 1:
        raise UsageError(
            f"several units begin with {word!r}", hint=", ".join(unit.unit for unit in by_id)
        )
    if by_name or by_id:
        return by_name or by_id
    raise UsageError(
        f"there is no unit {word!r}", hint="`code-commit fleet status` lists the units"
    )


def _row(tried: Tried) -> tuple[str, ...]:
    unit = (tried.unit, tried.repository, tried.model, tried.outcome)
    if tried.outcome == WAITING:
        return (*unit, "", "", "")
    return (*unit, tried.shown_cost, f"{tried.seconds:.1f} s", tried.error_line(80))
