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
from pathlib import PurePosixPath

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
_HEAD = re.compile(rb"^--- (.+) ---\n", re.MULTILINE)  # of a file in the code
_BLANK = re.compile(rb"\n*")
_DESCRIPTION = (
    "Apply the recorded answer of a run, such as a dry run, then run build.sh. No model is "
    "called. The exit code is that of a run; `code-commit undo` reverts the changes. If a file "
    "that the model saw has changed since, it is named, and nothing is applied (exit code 3)."
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
        NotReady: the run does not exist or has no answer, or a file that the model saw has changed.
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
    with host.workspace() as workspace:
        changed = sorted(_changed_files(recorded, workspace, host.redactor.data))
        code = flags_of_code(recorded.folder)
        if "files" in code:
            code["files"] = [path for path in code["files"] if _content(workspace.tree, path)]
    if changed:
        raise NotReady(
            f"changed after the model saw them in {recorded.run}: {join_paths(changed)}",
            hint="restore these files, or start a new run; nothing was applied",
        )
    query = str((recorded.folder / _QUERY).relative_to(host.root))
    # Each attempt takes the next answer, the first one those of all candidates.
    calls_of_candidates = {candidate.call for candidate in story.candidates} or {answers[0].number}
    repairs = [call for call in answers if call.number not in calls_of_candidates]
    argv = ["--model", f"replay/{recorded.run}", "--query-file", query]
    argv += [f"--format={recorded_format(recorded.folder)}"]
    argv += ["--candidates", str(len(calls_of_candidates)), "--repairs", str(len(repairs))]
    argv += [f"--{name}" for name in ("commit", "quiet", "json") if getattr(arguments, name)]
    invocation = host.parse(argv)
    return host.run(replace(invocation, flags={**invocation.flags, **code}))


def _changed_files(recorded: PastRun, workspace: Workspace, redact: Redact) -> Iterator[str]:
    """Yield the files that differ from the code in a run's prompt.

    Files that its answer would overwrite count, even if that code lacks them.

    Raises:
        NotReady: the run folder lacks the inputs of the run.
    """
    try:
        with open_run_file(recorded.folder, _QUERY):
            code = RunTexts(recorded.folder).read(_CODE)
    except (OSError, ValueError) as error:
        raise NotReady(f"{recorded.run} lacks a file that `apply` needs: {error}") from error
    seen = _compare(code, workspace.tree, redact)
    started = 0.0
    named: set[str] = set()
    for record in read_records(recorded.folder / "events.jsonl"):
        started = started or record.time
        if record.kind == "changes.parsed":
            with suppress(LookupError, TypeError):
                named.update(map(str, [*record.data["written"], *record.data["deleted"]]))
    differing = {path for path, same in seen.items() if not same}
    # The code may come from another program, in another form, and lack files that the answer names.
    for path in named - seen.keys():
        content = _content(workspace.tree, path)
        if content and redact(content) not in code:
            differing.add(path)
    # The code may have been out of date from the start, and the settings allowed it.
    yield from (path for path in differing if _changed_after(started, path, workspace.project))


def _compare(code: bytes, tree: Tree, redact: Redact) -> dict[str, bool]:
    """Return for each file in `code` whether it still has that content.

    The result is empty if the code has another form.
    """
    seen: dict[str, bool] = {}
    head = _HEAD.match(code)
    while head:
        content = _content(tree, _path(head))
        end = None if content is None else _end(code, head.end(), content, redact)
        seen[_path(head)] = end is not None
        if end is None:
            head = _next_head(code, head.end(), tree)
        else:
            head = _HEAD.match(code, end)
    return seen


def _next_head(code: bytes, start: int, tree: Tree) -> re.Match[bytes] | None:
    """Return the head after a file that changed.

    Where its old content ends is unknown, and that content may look like heads.
    """
    for head in _HEAD.finditer(code, start):
        if _content(tree, _path(head)) is not None:
            return head
    return None


def _path(head: re.Match[bytes]) -> str:
    return head[1].decode("utf-8", "surrogateescape")


def _end(code: bytes, start: int, content: bytes, redact: Redact) -> int | None:
    """Return where the next file begins in `code`, if `content` is at `start`.

    `content` may be there with or without keys.
    """
    for form in (content, redact(content)):
        if not code.startswith(form, start):
            continue
        blank = _BLANK.match(code, start + len(form))
        end = blank.end() if blank else start
        if end == len(code) or _HEAD.match(code, end):
            return end
    return None


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
