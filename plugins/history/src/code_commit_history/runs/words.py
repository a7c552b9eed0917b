"""Formats the values of a run for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from code_commit_history.past_runs import PastRun


def outcome(summary: PastRun) -> str:
    """Return the outcome of a finished run, else `running` or `killed`."""
    return summary.outcome or summary.state


def query(document: Mapping[str, Any]) -> str:
    """Return the first line of the query, or an empty text."""
    value = document.get("query")
    return value if isinstance(value, str) else ""


def committed(document: Mapping[str, Any]) -> str | None:
    """Return the id of the commit that the run made, or None."""
    commit = table(document, "data").get("committed")
    return commit if isinstance(commit, str) else None


def changed_files(document: Mapping[str, Any]) -> int:
    """Return how many files the run changed."""
    files = document.get("files")
    return len(files) if isinstance(files, list) else 0


def undone(document: Mapping[str, Any]) -> list[str]:
    """Return the files of the run that an undo moved back since."""
    paths = document.get("undone")
    return [path for path in paths if isinstance(path, str)] if isinstance(paths, list) else []


def models(document: Mapping[str, Any]) -> list[str]:
    """Return the service's names of the models that answered."""
    return [str(row.get("model")) for row in model_rows(document)]


def model_rows(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the rows of the models that answered."""
    rows = document.get("models")
    if not isinstance(rows, list):
        return []
    return [row for row in rows if isinstance(row, Mapping)]


def whole(value: object) -> int:
    """Return a number of the document, or 0 if it is something else."""
    return value if isinstance(value, int) else 0


def table(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a member of the document, or an empty table if it is not one.

    A log may contain anything.
    """
    value = document.get(name)
    return value if isinstance(value, Mapping) else {}


def tokens_of_run(document: Mapping[str, Any]) -> str:
    """Format the tokens of a run as `tokens` does."""
    counts = table(document, "tokens")
    return tokens(counts.get("input"), counts.get("output"))


def tokens(sent: object, received: object) -> str:
    """Format input and output tokens: `12,345 / 678`, with `?` for an unknown number."""
    return f"{_number(sent)} / {_number(received)}"


def _number(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else "?"


def total_seconds(document: Mapping[str, Any]) -> float | None:
    """Return the duration of a run, so far if it is running."""
    total = table(document, "seconds").get("total")
    return float(total) if isinstance(total, int | float) else None


def acceptance(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the acceptance checks said: a line of facts, and their notes."""
    verdict = table(table(document, "data"), "acceptance")
    if trailers := table(verdict, "trailers"):
        yield f"  checks    {'; '.join(f'{name}: {text}' for name, text in trailers.items())}"
    notes = verdict.get("notes")
    for note in notes if isinstance(notes, list) else ():
        yield f"            {note}"
