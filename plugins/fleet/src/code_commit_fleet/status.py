"""`fleet status` and `fleet show`."""

from __future__ import annotations

import argparse
from collections import Counter
from typing import Any

from code_commit.plugin_api import ExitCode, Host, UsageError, count_of
from code_commit_fleet.fleet_folder import REACHED, SKIPPED, FleetFolder, Tried, latest
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
    plan, tries = folder.plan(), folder.tries()
    records = latest(tries)
    rows = [(unit, records.get(unit.unit)) for unit in plan.units]
    counts = Counter(tried.outcome if tried else "waiting" for _, tried in rows)
    cost = sum(each.cost or 0.0 for each in tries)
    if arguments.json:
        host.out.document(
            {
                "units": [_document(unit, tried) for unit, tried in rows],
                "outcomes": dict(sorted(counts.items())),
                "cost": cost,
                "pilot": plan.pilot,
            }
        )
    else:
        host.out.table([_row(unit, tried) for unit, tried in rows])
        shown = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
        host.out.line(f"{count_of(len(rows), 'unit')}: {shown}; ${cost:.4f}")
    done = all(tried and tried.outcome in {REACHED, SKIPPED} for _, tried in rows)
    return ExitCode.REACHED if done else ExitCode.NOT_REACHED


def show(host: Host, arguments: argparse.Namespace) -> int:
    """Show a unit with all of its tries.

    Raises:
        NotReady: the fleet has not been run.
        UsageError: there is no such unit, or several.
    """
    folder = folder_of(host, arguments.file)
    found = find_units(folder.plan(), arguments.unit)
    if len(found) > 1:
        names = ", ".join(f"{unit.unit} ({unit.model})" for unit in found)
        raise UsageError(f"{arguments.unit!r} names several units", hint=f"one of: {names}")
    unit = found[0]
    tries = [each for each in folder.tries() if each.unit == unit.unit]
    files = folder.unit_folder(unit.unit)
    if arguments.json:
        document = _document(unit, tries[-1] if tries else None)
        shown = str(files) if files.is_dir() else None
        host.out.document(
            {
                **document,
                "query": unit.query,
                "folder": shown,
                "tries": [each.document() for each in tries],
            }
        )
        return ExitCode.REACHED
    host.out.line(f"unit        {unit.unit}")
    host.out.line(
        f"repository  {unit.repository}: {unit.url}{f' at {unit.ref}' if unit.ref else ''}"
    )
    host.out.line(f"model       {unit.model}")
    host.out.line(f"branch      {unit.branch}")
    for each in tries:
        cost = "?" if each.cost is None else f"${each.cost:.4f}"
        attempts = count_of(each.attempts, "attempt")
        host.out.line(f"try {each.try_:<8}{each.outcome}, {attempts}, {each.seconds:.1f} s, {cost}")
        for line in each.error.splitlines():
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
    if found := by_name or by_id:
        return found
    raise UsageError(
        f"there is no unit {word!r}", hint="`code-commit fleet status` lists the units"
    )


def _document(unit: Unit, tried: Tried | None) -> dict[str, Any]:
    row = tried or Tried(unit.unit, unit.repository, unit.model, 0, "waiting")
    return row.document()


def _row(unit: Unit, tried: Tried | None) -> tuple[str, ...]:
    if tried is None:
        return (unit.unit, unit.repository, unit.model, "waiting", "", "", "")
    cost = "?" if tried.cost is None else f"${tried.cost:.4f}"
    return (
        unit.unit,
        unit.repository,
        unit.model,
        tried.outcome,
        cost,
        f"{tried.seconds:.1f} s",
        tried.error_line(80),
    )
