"""`code-commit runs list`."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from code_commit.plugin_api import ExitCode, Host, describe_changes, duration, shorten
from code_commit_history.cost import Cost
from code_commit_history.past_runs import PastRun, list_runs
from code_commit_history.runs import words
from code_commit_history.runs.selection import chosen

_NONE = "none"  # below CHANGES
_SHORTEST = 20  # columns for a query: below, a table is too wide


class Row(NamedTuple):
    """The line of a run, or the head of the table: the text of each column."""

    run: str
    model: str
    outcome: str
    changes: str
    attempts: str
    tokens: str
    cost: str
    time: str
    query: str


_HEAD = Row(
    run="RUN",
    model="MODEL",
    outcome="OUTCOME",
    changes="CHANGES",
    attempts="ATTEMPTS",
    tokens="TOKENS IN / OUT",
    cost="COST",
    time="TIME",
    query="QUERY",
)


def list_all(host: Host, arguments: argparse.Namespace) -> int:
    """Print the chosen runs, the newest last, so that it is directly above the shell prompt."""
    from code_commit.plugin_api import stored_bytes  # imports the workspace, which `show` does not

    all_runs = list_runs(host.root)
    past_runs = chosen(all_runs, arguments)
    if arguments.json:
        rows_of_runs = [document_of(past_run) for past_run in past_runs]
        stored = stored_bytes(host.root)
        host.out.document(
            {
                "runs": rows_of_runs,
                "bytes": {"logs": stored.logs, "store": stored.store},
            }
        )
        return ExitCode.REACHED
    if not past_runs:
        host.out.line("no run matches" if all_runs else "there are no runs yet")
        return ExitCode.REACHED
    _print_all(host, [_row(past_run) for past_run in past_runs])
    host.out.note(f"in all: {stored_bytes(host.root)}")
    return ExitCode.REACHED


def _print_all(host: Host, rows: Sequence[Row]) -> None:
    table = [_HEAD, *rows]
    if not sys.stdout.isatty():
        host.out.table(table)
        return
    columns = shutil.get_terminal_size().columns
    room = columns - _width_without_query(table)
    if room < min(_SHORTEST, max(len(row.query) for row in table)):
        _print_narrow(host, rows, columns)
    else:
        host.out.table([row._replace(query=shorten(row.query, room)) for row in table])


def _width_without_query(rows: Sequence[Row]) -> int:
    """Return the columns before the query, with two blanks after each cell."""
    columns = zip(*(row[:-1] for row in rows), strict=True)
    return sum(max(map(len, cells)) + 2 for cells in columns)


def _print_narrow(host: Host, rows: Sequence[Row], columns: int) -> None:
    """Print two or three lines per run, for a terminal that is too narrow for the table."""
    for row in rows:
        changes = "no changes" if row.changes == _NONE else row.changes
        host.out.line(f"{row.run}  {row.outcome}, {changes}")
        if row.query:
            host.out.line(f"    {shorten(row.query, columns - 4)}")
        unit = "attempt" if row.attempts == "1" else "attempts"
        details = (
            row.model,
            f"{row.attempts} {unit}",
            f"{row.tokens} tokens",
            f"cost {row.cost}",
            row.time,
        )
        host.out.line("    " + ", ".join(details))


def document_of(past_run: PastRun) -> dict[str, Any]:
    """Return the JSON row of a run: times are in UTC, durations in seconds, costs in USD."""
    document = past_run.document
    cost = Cost.of_run(document)
    return {
        "run": past_run.run,
        "workflow": past_run.workflow,
        "query": words.query(document) or None,
        "state": past_run.state,
        "outcome": past_run.outcome,
        "exit_code": past_run.exit_code,
        "summary": past_run.summary,
        "started": document.get("started"),
        "finished": document.get("finished"),
        "seconds": words.total_seconds(document),
        "models": words.models(document),
        "changed_files": words.changed_files(document),
        "committed": words.committed(document),
        "undone": words.undone(document),
        "attempts": document.get("attempts"),
        "calls": document.get("calls"),
        "tokens": document.get("tokens"),
        "cost_usd": round(cost.usd, 6),
        "cost_complete": cost.complete,
    }


def _row(past_run: PastRun) -> Row:
    document = past_run.document
    return Row(
        run=past_run.run,
        model=", ".join(words.models(document)) or "-",
        outcome=words.outcome(past_run),
        changes=describe_changes(document) or _NONE,
        attempts=str(document.get("attempts", "?")),
        tokens=words.tokens_of_run(document),
        cost=str(Cost.of_run(document)),
        time=duration(words.total_seconds(document)),
        query=words.query(document),
    )
