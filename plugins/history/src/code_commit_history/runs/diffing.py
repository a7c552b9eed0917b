"""`code-commit runs diff`."""

from __future__ import annotations

import argparse

from code_commit.plugin_api import ExitCode, Host, NotReady, find_run
from code_commit_history.changes import steps_of
from code_commit_history.story import read_story
from code_commit_workspace import RunChanges, create_file, require_no_link_out

_LARGEST = 64 * 1024 * 1024  # bytes; redaction needs three times that in memory


def diff(host: Host, arguments: argparse.Namespace) -> int:
    """Print what the responses of a run, and the commands of its model, changed.

    With `--attempt`, print what one attempt wrote. With `--patch`, write it to a file.

    Raises:
        NotReady: there is no such run or attempt, the run changed nothing, the diff is too large,
            or the file cannot be written.
    """
    folder = find_run(host.root, arguments.run)
    with host.workspace(writes=True, repository="existing") as project:
        log = project.store.logs.of(folder.name)
        if log is None or not any(entry.paths for entry in log.entries):
            raise NotReady(
                f"{folder.name} has no changes",
                hint="it wrote nothing, or its log is gone; `code-commit runs` lists what each run "
                "changed",
            )
        if arguments.attempt is None:
            changes = RunChanges(project.store, log).net()
        else:
            applied = read_story(folder).applied
            steps = {step.number: step for step in steps_of(project.store, folder.name, applied)}
            if arguments.attempt not in steps:
                numbers = ", ".join(map(str, steps)) or "none"
                raise NotReady(
                    f"attempt {arguments.attempt} of {folder.name} changed nothing",
                    hint=f"attempts with changes: {numbers}",
                )
            changes = dict(steps[arguments.attempt].changes)
        diffs = project.store.diffs(changes, most=_LARGEST)
        patch = project.store.patch(changes, most=_LARGEST) if arguments.patch else b""
    if not all(file.text for file in diffs):
        raise NotReady(f"the diff is larger than {_LARGEST // 2**20} MiB")
    redactor = host.redactor
    if arguments.patch:
        require_no_link_out(host.root, host.root / arguments.patch, arguments.patch)
        _write(arguments.patch, redactor.data(patch))
    text = redactor.text("".join(file.text for file in diffs))
    if arguments.json:
        document = {
            "run": folder.name,
            "attempt": arguments.attempt,
            "paths": redactor.json(sorted(changes)),
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
