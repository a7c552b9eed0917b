"""`code-commit runs prune`."""

from __future__ import annotations

import argparse

from code_commit.plugin_api import STOP, ExitCode, Host, NotReady, count_of, run_folders
from code_commit_history.past_runs import list_runs
from code_commit_workspace import remove_tree


def prune(host: Host, arguments: argparse.Namespace) -> int:
    """Delete the folders and checkpoints of all finished runs but the newest `keep`.

    Raises:
        NotReady: another run holds the lock, or a folder cannot be deleted.
        Interrupted: a signal came; no folder is half deleted.
    """
    with host.workspace(writes=True, repository="existing") as project:
        runs = list_runs(host.root)
        older = runs[: max(0, len(runs) - arguments.keep)]
        pruned = [run for run in older if run.state != "running"]
        for run in pruned:
            STOP.check()
            try:
                remove_tree(run.folder)
            except OSError as error:
                raise NotReady(f"cannot delete {run.folder}: {error.strerror}") from error
        left = {folder.name for folder in run_folders(host.root)}
        # Include runs whose folder was deleted by hand.
        project.checkpoints.forget(
            [name for name in project.checkpoints.runs() if name not in left]
        )
    if arguments.json:
        host.out.document({"pruned": [run.run for run in pruned], "kept": sorted(left)})
        return ExitCode.REACHED
    for run in pruned:
        host.out.line(f"deleted {run.run}")
    host.out.line(f"{count_of(len(left), 'run')} left")
    return ExitCode.REACHED
