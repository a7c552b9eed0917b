"""The changes of a run, from the log of who wrote what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from code_commit_history.story import Applied
from code_commit_workspace import Entry, RunLog


@dataclass(frozen=True, slots=True)
class Step:
    """A change set that changed files, with its entry in the log.

    `number` is the number of the attempt, or a count in workflows without attempts.
    """

    number: int
    entry: Entry
    applied: Applied | None = None


def written_by_responses(log: RunLog | None) -> list[Entry]:
    """Return the entries of responses; an applied change set that changed nothing has none.

    Raises:
        NotReady: the log is damaged.
    """
    entries = log.of_run if log else ()
    return [entry for entry in entries if entry.by == "response"]


def steps_of(log: RunLog | None, applied: Sequence[Applied]) -> Iterator[Step]:
    """Yield the change sets of a run that changed files.

    Raises:
        NotReady: the log is damaged.
    """
    following = iter(applied)
    for count, entry in enumerate(written_by_responses(log), 1):
        paths = entry.paths.keys()
        change_set = next((one for one in following if paths <= one.paths), None)
        number = change_set.attempt if change_set else None
        yield Step(number or count, entry, change_set)
