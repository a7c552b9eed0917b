"""`code-commit runs diff`."""

from __future__ import annotations

import argparse

from code_commit.plugin_api import ExitCode, Host, NotReady, find_run
from code_commit_history.changes import steps_of, whole_change
from code_commit_history.story import read_story


def diff(host: Host, arguments: argparse.Namespace) -> int:
    """Print how a run, with its builds, changed the visible files, or what one attempt wrote.

    Raises:
        NotReady: there is no such run or attempt, or its checkpoints were deleted.
    """
    folder = find_run(host.root, arguments.run)
    with host.workspace(writes=True, repository="existing") as project:
        taken = project.checkpoints.of_run(folder.name)
        whole = whole_change(taken)
        if whole is None:
            raise NotReady(f"{folder.name} has no checkpoint", hint="it wrote nothing, or its checkpoints were pruned")
        if arguments.attempt is not None:
            steps = {step.number: step for step in steps_of(taken, read_story(folder).applied)}
            if arguments.attempt not in steps:
                known = ", ".join(map(str, steps)) or "none"
                raise NotReady(
                    f"attempt {arguments.attempt} of {folder.name} changed nothing",
                    hint=f"attempts with changes: {known}",
                )
            whole = steps[arguments.attempt].old, steps[arguments.attempt].new
        paths, raw = project.checkpoints.changes(*whole), project.checkpoints.diff(*whole)
    redactor = host.redactor
    text = redactor.text(raw.decode("utf-8", "replace"))
    if arguments.json:
        document = {"run": folder.name, "attempt": arguments.attempt, "paths": redactor.json(list(paths)), "diff": text}
        host.out.document(document)
    else:
        host.out.write(text)
    return ExitCode.REACHED
