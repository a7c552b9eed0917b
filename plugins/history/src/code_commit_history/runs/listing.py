"""`code-commit runs list`."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from typing import Any

from code_commit.plugin_api import ExitCode, Host, duration, shorten
from code_commit_history.past_runs import PastRun, list_runs
from code_commit_history.runs import words
from code_commit_history.story import read_story

_HEAD = ("RUN", "MODEL", "OUTCOME", "ATTEMPTS", "TOKENS IN / OUT", "COST", "TIME", "QUERY")
_SHORTEST = 20  # columns for a query: below, a table is too wide


def list_all(host: Host, arguments: argparse.Namespace) -> int:
    """Print every run, the newest last, so that it is directly above the shell prompt."""
    found = list_runs(host.root)
    if arguments.json:
        host.out.document({"runs": [row_of(summary) for summary in found]})
        return ExitCode.REACHED
    if not found:
        host.out.line("there are no runs yet")
        return ExitCode.REACHED
    table = [_HEAD, *(_cells(summary) for summary in found)]
    if not sys.stdout.isatty():
        host.out.table(table)
        return ExitCode.REACHED
    columns = shutil.get_terminal_size().columns
    room = columns - _width_of([row[:-1] for row in table]) - 2
    if room < min(_SHORTEST, max(len(row[-1]) for row in table)):
        _print_narrow(host, table[1:], columns)
    else:
        host.out.table([(*row, shorten(query, room)) for *row, query in table])
    return ExitCode.REACHED


def _width_of(rows: Sequence[Sequence[str]]) -> int:
    return sum(max(map(len, column)) + 2 for column in zip(*rows, strict=True)) - 2


def _print_narrow(host: Host, rows: Sequence[tuple[str, ...]], columns: int) -> None:
    """Print two or three lines per run, for a terminal that is too narrow for the table."""
    for run, model, outcome, attempts, tokens, cost, time, query in rows:
        host.out.line(f"{run}  {outcome}")
        if query:
            host.out.line(f"    {shorten(query, columns - 4)}")
        details = (
            model,
            f"{attempts} attempt{'s' * (attempts != '1')}",
            f"{tokens} tokens",
            cost,
            time,
        )
        host.out.line("    " + ", ".join(details))


def row_of(summary: PastRun) -> dict[str, Any]:
    """Return the JSON row of a run: times are in UTC, durations in seconds, costs in USD."""
    document, cost = summary.document, read_story(summary.folder).cost
    return {
        "run": summary.run,
        "workflow": summary.workflow,
        "query": words.query(document) or None,
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


def _cells(summary: PastRun) -> tuple[str, ...]:
    document = summary.document
    return (
        summary.run,
        ", ".join(words.models(document)) or "-",
        words.outcome(summary),
        str(document.get("attempts", "?")),
        words.tokens(words.table(document, "tokens")),
        str(read_story(summary.folder).cost),
        duration(words.total_seconds(document)),
        words.query(document),
    )
