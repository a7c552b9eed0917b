"""Run all tools through all faults and the task, and print the tables of docs/comparison.md.

    python bench/peers/compare.py [--page] [--again TOOL …]

`--page` also writes the tables into the page. `--again` runs some tools and keeps the results of
the others.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from faults import FAULTS, SPEED, Scenario
from install import INSTALLED, PEERS, ROOT
from tools import TOOLS, Tool

PAGE = ROOT / "docs/comparison.md"
RESULTS = PEERS / "results.json"
ONCE = Path(__file__).with_name("once.py")
AT_ONCE = 4  # runs with a fault: they mostly wait. The task runs alone.
RUN_LIMIT = 900.0  # seconds; each run has limits of its own

Outcome = dict[str, Any]
Outcomes = dict[str, dict[str, Outcome]]
"""By tool, then by scenario."""


def main(arguments: Sequence[str]) -> None:
    """Run, keep the results, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--again", nargs="*", default=[tool.name for tool in TOOLS])
    options = parser.parse_args(arguments)
    installed = json.loads(INSTALLED.read_text())
    outcomes: Outcomes = json.loads(RESULTS.read_text())["outcomes"] if RESULTS.exists() else {}
    chosen = [tool for tool in TOOLS if tool.name in options.again and tool.name in installed]
    outcomes |= _outcomes(chosen, installed)
    date = datetime.now(UTC).strftime("%Y-%m-%d")
    RESULTS.write_text(json.dumps({"date": date, "outcomes": outcomes}, indent=2) + "\n")
    tables = {
        "versions": _versions(installed, date),
        "faults": _faults(outcomes),
        "speed": _speed(outcomes),
    }
    print(*tables.values(), sep="\n\n")
    missing = [tool.name for tool in TOOLS if tool.name not in outcomes]
    print(f"\n{len(missing)} tools are left out{''.join(f', {name}' for name in missing)}")
    if options.page:
        _write(tables)


def _outcomes(chosen: Sequence[Tool], installed: dict[str, dict[str, str]]) -> Outcomes:
    outcomes: Outcomes = {tool.name: {} for tool in chosen}

    def run(tool: Tool, scenario: Scenario) -> None:
        folder = PEERS / "runs" / f"{tool.name}-{scenario.name.replace(' ', '-')}"
        rounds = _run(tool, scenario, folder, installed[tool.name]["program"])
        outcomes[tool.name][scenario.name] = _least(rounds)
        print(f"{tool.name}, {scenario.name}: {_cell(outcomes[tool.name][scenario.name])}")

    with ThreadPoolExecutor(AT_ONCE) as pool:
        # Each tool's runs with the longest waits first.
        runs = [pool.submit(run, tool, fault) for fault in FAULTS for tool in chosen]
        for future in runs:
            future.result()
    for tool in chosen:
        run(tool, SPEED)
    return outcomes


def _run(tool: Tool, scenario: Scenario, folder: Path, program: str) -> list[Outcome]:
    isolated = ["unshare", "--map-root-user", "--net", "--"]
    command = [sys.executable, str(ONCE), tool.name, scenario.name, str(folder), program]
    completed = subprocess.run(
        [*isolated, *command], stdout=subprocess.PIPE, timeout=RUN_LIMIT, check=True
    )
    rounds: list[Outcome] = json.loads(completed.stdout)
    return rounds


def _least(rounds: Sequence[Outcome]) -> Outcome:
    """Return the last round, with the least times: other programs only add to them."""
    counted = rounds[1:] or rounds  # the first round fills the caches
    least = {name: min(outcome[name] for outcome in counted) for name in ("seconds", "cpu")}
    return {**counted[-1], **least}


def _versions(installed: dict[str, dict[str, str]], date: str) -> str:
    versions = [
        f"{tool.name} {installed[tool.name]['version']}" for tool in TOOLS if tool.name in installed
    ]
    return f"Measured on {date}: {', '.join(versions)}."


def _faults(outcomes: Outcomes) -> str:
    names = [tool.name for tool in TOOLS if tool.name in outcomes]
    rows = [
        [fault.name, *(_cell(outcomes[name][fault.name]) for name in names)] for fault in FAULTS
    ]
    return _table(["fault", *names], rows)


def _cell(outcome: Outcome) -> str:
    if outcome["exit_code"] is None:
        ended = f"no end in {outcome['seconds']:.0f} s"
    else:
        ended = f"exit {_as_in_a_shell(outcome['exit_code'])}, {outcome['seconds']:.0f} s"
    words = [ended, outcome["tree"]]
    if outcome["commits"]:
        words.append(_counted(outcome["commits"], "commit"))
    if outcome["key_files"]:
        words.append(f"key in {_counted(len(outcome['key_files']), 'file')}")
    if outcome["orphans"]:
        words.append(f"leaves {_counted(len(outcome['orphans']), 'process', 'es')}")
    return ", ".join(words)


def _as_in_a_shell(exit_code: int) -> int:
    """Return the exit code that a shell shows, also after a signal."""
    return exit_code if exit_code >= 0 else 128 - exit_code


def _counted(number: int, noun: str, plural: str = "s") -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}{plural}"


def _speed(outcomes: Outcomes) -> str:
    rows = [
        [
            name,
            f"{by_scenario[SPEED.name]['cpu']:.2f} s",
            f"{by_scenario[SPEED.name]['seconds']:.1f} s",
            str(by_scenario[SPEED.name]["calls"]),
            f"{by_scenario[SPEED.name]['bytes_sent'] / 1000:.0f} kB",
            f"{max(by_scenario[SPEED.name]['bytes_left'], 0) / 1000:.0f} kB",
        ]
        for name, by_scenario in outcomes.items()
    ]
    return _table(["tool", "CPU", "time", "calls", "sent", "left on disk"], rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _write(tables: dict[str, str]) -> None:
    text = PAGE.read_text("utf-8")
    for name, table in tables.items():
        start, end = f"<!-- {name} -->\n", "<!-- end -->"
        before, _, after = text.partition(start)
        text = f"{before}{start}\n{table}\n\n{end}{after.partition(end)[2]}"
    PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
