"""Ask the acceptance checks about the work of agents."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress

from code_commit.plugin_api import Change, ProcessResult, Run, Submission, Verdict, WorkDone


def accept_work(
    run: Run,
    work: WorkDone,
    paths: Collection[str],
    *,
    query: str,
    build: ProcessResult,
) -> Verdict | None:
    """Return the verdict on the files at `paths` that the work changed, None if there are none.

    `query` asked for the work, and `build` is green.

    Raises:
        NotReady, LimitReached, ProviderFailed: see `Run.accept`.
    """
    changes = list(_changes(run, paths))
    if not changes:
        return None
    originals = work.originals(paths)
    submission = Submission(changes=changes, query=query, build=build, originals=originals)
    return run.accept(submission)


def _changes(run: Run, paths: Collection[str]) -> Iterator[Change]:
    """Yield the files as they are now, except links and what cannot be read."""
    for path in sorted(paths):
        with suppress(OSError):
            yield Change(path, run.tree.read(path))
