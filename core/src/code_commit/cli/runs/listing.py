"""`code-commit runs list`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from code_commit.cli.runs import words
from code_commit.cli.tables import print_document, print_line, print_table
from code_commit.past_runs import read_story
from code_commit.records.errors import ExitCode
from code_commit.run_log import RunSummary, list_runs

_HEAD = ("RUN", "MODEL", "OUTCOME", "ATTEMPTS", "TOKENS IN / OUT", "COST", "TIME")


def list_all(arguments: argparse.Namespace) -> int:
    """Print every run, the oldest first, so that the newest stands right above the prompt."""
    found = list_runs(Path.cwd().resolve())
    rows = [row_of(summary) for summary in found]
    if arguments.json:
        print_document({"runs": rows})
        return ExitCode.REACHED
    if not rows:
        print_line("there are no runs here yet")
        return ExitCode.REACHED
    print_table([_HEAD, *(_cells(summary) for summary in found)])
    return ExitCode.REACHED


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
        "models": [row.get("model") for row in document.get("models") or ()],
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
        words.models(document),
        words.outcome(summary),
        str(document.get("attempts", "?")),
        words.tokens(document.get("tokens") or {}),
        str(read_story(summary.folder).cost),
        words.duration(words.total_seconds(document)),
    )
