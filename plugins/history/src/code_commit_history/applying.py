"""`code-commit apply RUN`: apply the recorded answer of a run, without a call to a model.

It may be the answer of a dry run.
"""

from __future__ import annotations

import os
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath

from code_commit.plugin_api import (
    Host,
    NotReady,
    RunTexts,
    Tree,
    join_paths,
    open_run_file,
    read_records,
)
from code_commit_history.choice import flags_of_code, recorded_format
from code_commit_history.past_runs import PastRun, named_run
from code_commit_history.recording import require_whole
from code_commit_history.runs.command import RUN
from code_commit_history.story import read_story
from code_commit_workspace import ProjectTree, Workspace

_WORKFLOW = "committing-code"
_QUERY, _CODE = "input-query.txt", "input-codeRollup.txt"  # in the run folder
_END = re.compile(rb"\n*(?:--- .+ ---\n|\Z)")  # of a file in the code
_DESCRIPTION = (
    "Apply the recorded answer of a run, such as a dry run, then run build.sh. No model is "
    "called. The exit code is that of a run; `code-commit undo` reverts the changes. What you "
    "changed since the model saw the files stays. Where the answer changes the same lines, the "
    "files are named, and nothing is applied (exit code 3)."
)

Redact = Callable[[bytes], bytes]


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `apply`."""
    parser.description = _DESCRIPTION
    parser.add_argument("run", metavar="RUN", help=RUN)
    parser.add_argument(
        "--commit",
        action="store_true",
        help="commit the changed files with git if the build passes",
    )
    parser.add_argument("--quiet", "-q", action="store_true", help="print only errors, no progress")
    parser.add_argument(
        "--json", action="store_true", help="print events to stdout, one JSON object per line"
    )


def apply(host: Host, arguments: Namespace) -> int:
    """Run the commit workflow with the recorded answers of a run; return its exit code.

    Raises:
        NotReady: the run does not exist, has no answer or lacks a file; or files changed since.
    """
    recorded = named_run(host.root, arguments.run)
    require_whole(recorded)
    story = read_story(recorded.folder)
    answers = [call for call in story.used_calls if call.finish]
    reason = ""
    if recorded.workflow != _WORKFLOW:
        reason = f"is a run of {recorded.workflow}"
    elif not answers:
        reason = "has no answer of a model"
    if reason:
        raise NotReady(
            f"{recorded.run} {reason}, so it cannot be applied",
            hint="`code-commit runs` lists the runs",
        )
    _require_query(recorded)
    with host.workspace(writes=True, repository="existing") as workspace:
        shown = _shown(recorded, workspace, host.redactor.data)
        code = flags_of_code(recorded.folder)
        if "files" in code:
            code["files"] = [path for path in code["files"] if _content(workspace.tree, path)]
    query = str((recorded.folder / _QUERY).relative_to(host.root))
    # Each attempt takes the next answer, the first one those of all candidates.
    calls_of_candidates = {candidate.call for candidate in story.candidates} or {answers[0].number}
    repairs = [call for call in answers if call.number not in calls_of_candidates]
    argv = ["--model", f"replay/{recorded.run}", "--query-file", query]
    argv += [f"--format={recorded_format(recorded.folder)}"]
    argv += ["--candidates", str(len(calls_of_candidates)), "--repairs", str(len(repairs))]
    argv += [f"--{name}" for name in ("commit", "quiet", "json") if getattr(arguments, name)]
    invocation = host.parse(argv)
    return host.run(replace(invocation, flags={**invocation.flags, **code}, shown=shown))


def _require_query(recorded: PastRun) -> None:
    """Check that the run folder has the query.

    Raises:
        NotReady: it has not.
    """
    try:
        with open_run_file(recorded.folder, _QUERY):
            return
    except (OSError, ValueError) as error:
        raise NotReady(f"{recorded.run} lacks a file that `apply` needs: {error}") from error


def _shown(
    recorded: PastRun, workspace: Workspace, redact: Redact
) -> dict[str, list[bytes | None]]:
    """Return the files as the answers saw them, in turn for each answer that changed a file.

    Raises:
        NotReady: the run has no log, and files changed since.
    """
    store = workspace.store
    named, started = _named_files(recorded.folder)
    log = store.logs.of(recorded.run)
    if log is None or not log.entries:
        changed = sorted(_changed_files(recorded, named, started, workspace, redact))
        if not changed:
            return {}
        raise NotReady(
            f"changed after the model saw them in {recorded.run}: {join_paths(changed)}",
            hint="restore these files, or start a new run; nothing was applied",
        )
    states = store.listing(log.entries[0].tree)
    shown = {path: [states.get(path)] for path in named}
    responses = [entry for entry in log.of_run if entry.by == "response"]
    for path in {path for entry in responses for path in entry.paths}:
        shown[path] = [
            entry.bases.get(path, entry.paths[path].before)
            for entry in responses
            if path in entry.paths
        ]
    versions = store.versions(state for of_path in shown.values() for state in of_path)
    contents = {state: version and version.content for state, version in versions.items()}
    return {path: [contents[state] for state in of_path] for path, of_path in shown.items()}


def _named_files(folder: Path) -> tuple[set[str], float]:
    """Return the files that the answers name, and when the run started."""
    started = 0.0
    named: set[str] = set()
    for record in read_records(folder / "events.jsonl"):
        started = started or record.time
        if record.kind == "changes.parsed":
            with suppress(LookupError, TypeError):
                named.update(map(str, [*record.data["written"], *record.data["deleted"]]))
    return named, started


def _changed_files(
    recorded: PastRun, named: set[str], started: float, workspace: Workspace, redact: Redact
) -> Iterator[str]:
    """Yield those of the files `named` that changed since the run, which has no log.

    Raises:
        NotReady: the run folder lacks the inputs of the run.
    """
    try:
        code = RunTexts(recorded.folder).read(_CODE)
    except (OSError, ValueError) as error:
        raise NotReady(f"{recorded.run} lacks a file that `apply` needs: {error}") from error
    for path in named:
        content = _content(workspace.tree, path)
        # The code may have been out of date from the start, and the settings allowed it.
        if not _stands_in(code, path, content, redact) and _changed_after(
            started, path, workspace.project
        ):
            yield path


def _stands_in(code: bytes, path: str, content: bytes | None, redact: Redact) -> bool:
    """Return whether `code` has a file with this content, or has no file if that is None.

    The code may come from another program, in another form.
    """
    head = b"--- %b ---\n" % path.encode("utf-8", "surrogateescape")
    place = code.find(head)
    if place < 0:
        return not content or redact(content) in code
    start = place + len(head)
    return content is not None and any(
        code.startswith(form, start) and _END.match(code, start + len(form))
        for form in (content, redact(content))  # with or without keys
    )


def _content(tree: Tree, path: str) -> bytes | None:
    try:
        return tree.read(path)
    except (OSError, ValueError):
        return None


def _changed_after(start: float, path: str, project: ProjectTree) -> bool:
    """Return whether a file may have changed, or disappeared from its folder, after `start`.

    No tool sets this back.
    """
    for place in (path, *map(str, PurePosixPath(path).parents)):
        with suppress(OSError, ValueError):  # a path in a run folder may be anything
            if status := project.lstat(place):
                return status.st_ctime > start
    return os.fstat(project.handle).st_ctime > start
