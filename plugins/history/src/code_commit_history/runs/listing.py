"""`code-commit runs list`."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from code_commit.cli.tables import print_document, print_line, print_table, width_of
from code_commit.log import RunSummary, list_runs
from code_commit.plugin_api.errors import ExitCode
from code_commit_history.past_runs import read_story
from code_commit_history.runs import words
from code_commit_workspace.terminal import printable

_HEAD = ("RUN", "MODEL", "OUTCOME", "ATTEMPTS", "TOKENS IN / OUT", "COST", "TIME")


def list_all(arguments: argparse.Namespace) -> int:
    """Print every run, the oldest first, so that the newest stands right above the prompt."""
    found = list_runs(Path.cwd().resolve())
    if arguments.json:
        print_document({"runs": [row_of(summary) for summary in found]})
        return ExitCode.REACHED
    if not found:
        print_line("there are no runs here yet")
        return ExitCode.REACHED
    table = [_HEAD, *(_cells(summary) for summary in found)]
    if sys.stdout.isatty() and width_of(table) > shutil.get_terminal_size().columns:
        _print_in_pairs(table[1:])
    else:
        print_table(table)
    return ExitCode.REACHED


def _print_in_pairs(rows: Sequence[tuple[str, ...]]) -> None:
    """Two lines a run, for a terminal that is too narrow for the columns."""
    for run, model, outcome, attempts, tokens, cost, time in rows:
        print_line(printable(f"{run}  {outcome}", newlines=False))
        told = (model, f"{attempts} attempt{'s' * (attempts != '1')}", f"{tokens} tokens", cost, time)
        print_line(printable("    " + ", ".join(told), newlines=False))


def row_of(summary: RunSummary) -> dict[str, Any]:
    """Return what programs are told about a run: times are UTC, `seconds` durations, costs in USD."""
    document, cost = summary.document, read_story(summary.folder).cost
    return {
        "run": summary.run,
        "workflow": summary.workflow,
        "state": summary.state,
        "outcome": summary.outcome,
        "exit_code": summary.exit_code,
        "summary": summary.summary,
        "started": document.get("started"),
        "finished": document.get("finished"),
        "seconds": words.total_seconds(document),
        "models": words.models(document),
        "attempts": document.get("attempts"),
        "calls": document.get("calls"),
        "tokens": document.get("tokens"),
        "cost_usd": round(cost.usd, 6),
        "cost_complete": cost.complete,
    }


def _cells(summary: RunSummary) -> tuple[str, ...]:
    document = summary.document
    return (
        summary.run,
        ", ".join(words.models(document)) or "-",
        words.outcome(summary),
        str(document.get("attempts", "?")),
        words.tokens(words.table(document, "tokens")),
        str(read_story(summary.folder).cost),
        words.duration(words.total_seconds(document)),
    )
