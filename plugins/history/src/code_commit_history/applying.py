"""`code-commit apply RUN`: apply the recorded answer of a run, without a call to a model.

It may be the answer of a dry run.
"""

from __future__ import annotations

import os
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath

from code_commit.plugin_api import (
    Change,
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
) -> Callable[[Change], bytes | None] | None:
    """Return what gives a file as the model saw it before a change of an answer.

    None is that nothing has changed since. It raises NotReady for an answer that was not applied
    where it is not known what the model saw.

    Raises:
        NotReady: the run has no log, and files changed since.
    """
    store = workspace.store
    named, started = _named_files(recorded.folder)
    log = store.logs.of(recorded.run)
    if log is None or not log.entries:
        now = {path: _content(workspace.tree, path) for path in named}
        if changed := _changed_files(recorded, now, started, workspace, redact):
            raise _changed_since(recorded, changed)
        return None
    listing = store.listing(log.entries[0].tree)
    applied = [
        (path, entry.merged.get(path, change))
        for entry in log.of_run
        if entry.by == "response"
        for path, change in entry.paths.items()
    ]
    states = [*map(listing.get, named), *(state for _, change in applied for state in change)]
    contents = {
        state: version and version.content for state, version in store.versions(states).items()
    }
    seen = {
        (path, contents[change.after]): contents[change.before]
        for path, change in reversed(applied)
    }
    first = {path: contents[listing.get(path)] for path in named}
    changed = _changed_files(recorded, first, started, workspace, redact)

    def shown(change: Change) -> bytes | None:
        key = (change.path, change.content)
        if key not in seen and change.path in changed:
            raise _changed_since(recorded, [change.path])
        return seen.get(key, first.get(change.path))

    return shown


def _changed_since(recorded: PastRun, paths: Collection[str]) -> NotReady:
    return NotReady(
        f"changed after the model saw them in {recorded.run}: {join_paths(sorted(paths))}",
        hint="restore these files, or start a new run",
    )


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
    recorded: PastRun,
    contents: Mapping[str, bytes | None],
    started: float,
    workspace: Workspace,
    redact: Redact,
) -> Collection[str]:
    """Return the files that changed since the run, unless the model saw these `contents`.

    Raises:
        NotReady: the run folder lacks the inputs of the run.
    """
    try:
        code = RunTexts(recorded.folder).read(_CODE)
    except (OSError, ValueError) as error:
        raise NotReady(f"{recorded.run} lacks a file that `apply` needs: {error}") from error
    # The code may have been out of date from the start, and the settings allowed it.
    return {
        path
        for path, content in contents.items()
        if not _stands_in(code, path, content, redact)
        and _changed_after(started, path, workspace.project)
    }


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
