"""The changes of a run, from the log of who wrote what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from code_commit_history.story import Applied
from code_commit_workspace import Store


class Step(NamedTuple):
    """A change set that changed files, and what `Store.diffs` takes of it.

    `number` is the number of the attempt, or a count in workflows without attempts.
    """

    number: int
    changes: Mapping[str, Any]
    applied: Applied | None


def steps_of(store: Store, run: str, applied: Sequence[Applied]) -> Iterator[Step]:
    """Yield the change sets of a run that changed files; `applied` are all of them.

    Raises:
        NotReady: the log is damaged.
    """
    log = store.logs.of(run)
    entries = log.of_run if log else ()
    following = iter(applied)
    responses = (entry for entry in entries if entry.by == "response")
    for count, entry in enumerate(responses, 1):
        paths = entry.paths.keys()
        change_set = next((one for one in following if paths <= one.paths), None)
        number = change_set.attempt if change_set else None
        yield Step(number or count, entry.paths, change_set)
