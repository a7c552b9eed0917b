"""`code-commit runs diff`."""

from __future__ import annotations

import argparse

from code_commit.plugin_api import ExitCode, Host, NotReady, find_run, join_paths
from code_commit_history.changes import steps_of, whole_change
from code_commit_history.story import read_story
from code_commit_workspace import create_file, require_no_link_out

_NAMED = 20  # paths in one message
_LARGEST = 64 * 1024 * 1024  # bytes; redaction needs three times that in memory


def diff(host: Host, arguments: argparse.Namespace) -> int:
    """Print how a run, with its builds, changed the visible files, or what one attempt wrote.

    With `--patch`, write it to a file.

    Raises:
        NotReady: there is no such run or attempt, its checkpoints were deleted, the diff is too
            large, or the file cannot be written.
    """
    folder = find_run(host.root, arguments.run)
    with host.workspace(writes=True, repository="existing") as project:
        checkpoints = project.checkpoints.of_run(folder.name)
        commits = whole_change(checkpoints)
        if commits is None:
            raise NotReady(
                f"{folder.name} has no checkpoint",
                hint="it wrote nothing, or its checkpoints were pruned; `code-commit runs` lists "
                "what each run changed",
            )
        if arguments.attempt is not None:
            applied = read_story(folder).applied
            steps = {step.number: step for step in steps_of(checkpoints, applied)}
            if arguments.attempt not in steps:
                numbers = ", ".join(map(str, steps)) or "none"
                raise NotReady(
                    f"attempt {arguments.attempt} of {folder.name} changed nothing",
                    hint=f"attempts with changes: {numbers}",
                )
            commits = steps[arguments.attempt].old, steps[arguments.attempt].new
        old, new = commits
        paths = project.checkpoints.changes(old, new)
        raw = project.checkpoints.diff(old, new, most=_LARGEST)
        patch = b""
        if arguments.patch:
            patch = project.checkpoints.patch(old, new, most=_LARGEST)
        left_out = project.checkpoints.left_out(old, new)
    if left_out:
        host.out.note(
            f"warning: too large to save, so not in the diff: {join_paths(left_out, _NAMED)}"
        )
    if arguments.patch:
        require_no_link_out(host.root, host.root / arguments.patch, arguments.patch)
        _write(arguments.patch, host.redactor.data(patch))
    redactor = host.redactor
    text = redactor.text(raw.decode("utf-8", "replace"))
    if arguments.json:
        document = {
            "run": folder.name,
            "attempt": arguments.attempt,
            "paths": redactor.json(list(paths)),
            "diff": text,
        }
        host.out.document(document)
    elif not arguments.patch:
        host.out.diff(text, paged=not arguments.no_pager)
    return ExitCode.REACHED


def _write(path: str, content: bytes) -> None:
    try:
        create_file(path, content)
    except OSError as error:
        raise NotReady(
            f"{path} cannot be written: {error.strerror}", hint="name a file that does not exist"
        ) from error
