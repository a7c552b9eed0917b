"""`code-commit runs diff`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from code_commit.cli.tables import print_document
from code_commit.log import find_run
from code_commit.plugin_api.errors import ExitCode, NotReady
from code_commit_history.past_runs import read_story, steps_of, whole_change
from code_commit_history.runs.project import checkpointed, redactor_of
from code_commit_workspace.terminal import printable


def diff(arguments: argparse.Namespace) -> int:
    """Print what a run changed in the visible files, builds included, or what one attempt wrote.

    Raises:
        NotReady: there is no such run or attempt, or its checkpoints are gone.
    """
    root = Path.cwd().resolve()
    folder = find_run(root, arguments.run)
    with checkpointed(root) as project:
        taken = project.checkpoints.of_run(folder.name)
        whole = whole_change(taken)
        if whole is None:
            raise NotReady(f"{folder.name} has no checkpoint", hint="it wrote nothing, or its checkpoints were pruned")
        if arguments.attempt is not None:
            steps = {step.number: step for step in steps_of(taken, read_story(folder).applied)}
            if arguments.attempt not in steps:
                known = ", ".join(map(str, steps)) or "none"
                raise NotReady(
                    f"attempt {arguments.attempt} of {folder.name} changed nothing", hint=f"these did: {known}"
                )
            whole = steps[arguments.attempt].old, steps[arguments.attempt].new
        paths, raw = project.checkpoints.changes(*whole), project.checkpoints.diff(*whole)
    redactor = redactor_of(root)
    text = redactor.text(raw.decode("utf-8", "replace"))
    if arguments.json:
        document = {"run": folder.name, "attempt": arguments.attempt, "paths": redactor.json(list(paths)), "diff": text}
        print_document(document)
    else:
        sys.stdout.write(printable(text) if sys.stdout.isatty() else text)
    return ExitCode.REACHED
