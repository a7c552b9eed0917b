"""`code-commit runs show` and `code-commit runs path`."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from code_commit.plugin_api import (
    ExitCode,
    Host,
    describe_changes,
    duration,
    find_run,
    join_paths,
    shorten,
)
from code_commit_history.past_runs import PastRun, named_run
from code_commit_history.runs import words
from code_commit_history.runs.listing import document_of
from code_commit_history.story import (
    Call,
    Chosen,
    Process,
    Story,
    TriedCandidate,
    read_story,
)

_SHOWN_FILES = 50  # of a context
_LONGEST_REASON = 200  # characters


def show(host: Host, arguments: argparse.Namespace) -> int:
    """Print the details of one run.

    Raises:
        NotReady: there is no such run.
    """
    summary = named_run(host.root, arguments.run)
    story = read_story(summary.folder)
    files = sorted(path.name for path in summary.folder.iterdir())
    if arguments.json:
        details = {
            "calls": [asdict(call) for call in story.calls],
            "processes": [asdict(process) for process in story.processes],
            "changes": [asdict(applied) for applied in story.applied],
            "contexts": [_context(chosen) for chosen in story.contexts],
            "candidates": [
                asdict(candidate) | {"cost": asdict(story.cost_of(candidate))}
                for candidate in story.candidates
            ],
            "folder": str(summary.folder),
            "files": files,
        }
        host.out.document(document_of(summary) | details | {"data": summary.document.get("data")})
        return ExitCode.REACHED
    for line in _head(summary, story):
        host.out.line(line)
    if story.contexts:
        host.out.line()
        host.out.line("files that the model saw")
        for chosen in story.contexts:
            reason = f" ({chosen.reason})" if chosen.reason else ""
            host.out.line(f"    {chosen.line}{reason}: {join_paths(chosen.files, _SHOWN_FILES)}")
    if story.calls:
        host.out.line()
        host.out.line("calls")
        host.out.table([("  ", *_call(call)) for call in story.calls])
    if story.candidates:
        host.out.line()
        host.out.line("candidates")
        host.out.table([("  ", *_candidate(candidate, story)) for candidate in story.candidates])
    if story.processes:
        host.out.line()
        host.out.line("builds and commands")
        host.out.table([("  ", *_process(process)) for process in story.processes])
    if story.applied:
        host.out.line()
        host.out.line("changes")
        for applied in story.applied:
            number = f"attempt {applied.attempt}" if applied.attempt else f"call {applied.call}"
            if applied.candidate:
                number += f", candidate {applied.candidate}"
            paths = [*applied.written, *(f"{path} (deleted)" for path in applied.deleted)]
            host.out.line(f"    {number}: {', '.join(paths)}")
    host.out.line()
    host.out.line(f"files in {os.path.relpath(summary.folder)}")
    for name in files:
        host.out.line(f"    {name}")
    return ExitCode.REACHED


def path(host: Host, arguments: argparse.Namespace) -> int:
    """Print only the folder of a run.

    Raises:
        NotReady: there is no such run.
    """
    folder = find_run(host.root, arguments.run)
    if arguments.json:
        host.out.document({"run": folder.name, "folder": str(folder)})
    else:
        host.out.line(str(folder))
    return ExitCode.REACHED


def _head(summary: PastRun, story: Story) -> Iterator[str]:
    document = summary.document
    yield summary.run
    if query := words.query(document):
        yield f"  query     {query}"
    yield f"  workflow  {summary.workflow}"
    ending = f": {summary.summary}" if summary.summary else ""
    yield f"  outcome   {words.outcome(summary)}{ending}"
    seconds = duration(words.total_seconds(document))
    yield f"  started   {document.get('started') or '?'}, took {seconds}"
    yield f"  model     {', '.join(words.models(document)) or '-'}"
    yield f"  tokens    {words.tokens_of_run(document)}"
    yield f"  cost      {story.cost}"
    yield f"  changes   {describe_changes(document) or 'none'}"
    yield f"  began at  {document.get('commit') or '-'}"
    argv = document.get("argv")
    arguments = shlex.join(map(str, argv)) if isinstance(argv, list) else ""
    yield f"  command   code-commit {arguments}".rstrip()
    yield from words.acceptance(document)
    for message in story.messages:
        yield f"  message   {message}"


def _context(chosen: Chosen) -> dict[str, Any]:
    return {name: value for name, value in asdict(chosen).items() if name != "line"}


def _call(call: Call) -> tuple[str, ...]:
    ending = call.finish or "unfinished"
    if call.error and not call.finish:
        ending = f"failed: {call.error}"
    return (
        str(call.number),
        call.label,
        f"{call.provider} {call.model}",
        duration(call.seconds),
        words.tokens(call.usage.input, call.usage.output),
        str(call.cost),
        ending,
    )


def _candidate(candidate: TriedCandidate, story: Story) -> tuple[str, ...]:
    ending = candidate.outcome.replace("_", " ")
    if candidate.reason:
        ending += f": {candidate.reason}"
    return (
        str(candidate.number),
        candidate.model,
        f"call {candidate.call}",
        str(story.cost_of(candidate)),
        shorten(" ".join(ending.split()), _LONGEST_REASON),
    )


def _process(process: Process) -> tuple[str, ...]:
    return (shlex.join(process.argv), duration(process.seconds), process.ending, process.log)
