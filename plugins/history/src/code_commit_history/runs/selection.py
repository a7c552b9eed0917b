"""Choose runs by their start, query, model and outcome."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, time, timedelta

from code_commit_history.past_runs import PastRun
from code_commit_history.runs import words

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}
_AGO = re.compile(r"(?P<count>\d{1,4})(?P<unit>[hdw])")
FILTERS = ("since", "until", "grep", "model", "outcome")
DATE = "2026-11-22, today, yesterday, tuesday, or 3d for three days ago (also h and w)"


def add_filters(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    """Add the flags that choose runs; `default` is that of each."""
    flags = parser.add_argument_group("flags that choose runs")
    flags.add_argument(
        "--since",
        type=date,
        default=default,
        metavar="DATE",
        help=f"only runs that started then or later: {DATE}",
    )
    flags.add_argument(
        "--until",
        type=date,
        default=default,
        metavar="DATE",
        help="only runs that started before then; dates as for --since",
    )
    flags.add_argument(
        "--grep",
        default=default,
        metavar="TEXT",
        help="only runs with this text in the query or the summary",
    )
    flags.add_argument(
        "--model", default=default, metavar="M", help="only runs with a model of this name or part"
    )
    flags.add_argument(
        "--outcome",
        default=default,
        metavar="NAME",
        help="only runs with this outcome, such as reached or killed",
    )


def date(text: str) -> datetime:
    """Return the local time that `text` means; a day begins at midnight.

    Raises:
        argparse.ArgumentTypeError: it is not a date.
    """
    now = datetime.now().astimezone()
    midnight = datetime.combine(now.date(), time()).astimezone()
    word = text.strip().lower()
    if word in {"today", "yesterday"}:
        return midnight - timedelta(days=1 if word == "yesterday" else 0)
    if word in _DAYS:
        days = (now.weekday() - _DAYS.index(word)) % 7
        return midnight - timedelta(days=days)
    if ago := _AGO.fullmatch(word):
        return now - timedelta(**{_UNITS[ago["unit"]]: int(ago["count"])})
    with suppress(ValueError, OverflowError):
        return datetime.fromisoformat(text.strip()).astimezone()
    raise argparse.ArgumentTypeError(f"{text!r} is not a date; write {DATE}")


def chosen(past_runs: Iterable[PastRun], arguments: argparse.Namespace) -> list[PastRun]:
    """Return the runs that pass every filter."""
    return [past_run for past_run in past_runs if _passes(past_run, arguments)]


def _passes(past_run: PastRun, arguments: argparse.Namespace) -> bool:
    document = past_run.document
    if arguments.outcome and words.outcome(past_run) != arguments.outcome:
        return False
    if arguments.model and not _any_has(words.models(document), arguments.model):
        return False
    texts = (words.query(document), past_run.summary)
    if arguments.grep and not _any_has(texts, arguments.grep):
        return False
    return _is_between(started(past_run), arguments.since, arguments.until)


def _any_has(texts: Iterable[str], part: str) -> bool:
    return any(part.lower() in text.lower() for text in texts)


def _is_between(start: datetime | None, since: datetime | None, until: datetime | None) -> bool:
    if start is None:
        return since is None and until is None
    return (since is None or since <= start) and (until is None or start < until)


def started(past_run: PastRun) -> datetime | None:
    """Return the local time when a run started, or None if its log does not say."""
    with suppress(ValueError, TypeError, OverflowError):
        return datetime.fromisoformat(past_run.document.get("started") or "").astimezone()
    return None
