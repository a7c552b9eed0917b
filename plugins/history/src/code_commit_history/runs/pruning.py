"""`code-commit runs prune`."""

from __future__ import annotations

import argparse

from code_commit.plugin_api import ExitCode, Host, NotReady, count_of, run_folders
from code_commit_history.past_runs import list_runs
from code_commit_workspace import remove_tree


def prune(host: Host, arguments: argparse.Namespace) -> int:
    """Delete the folders and checkpoints of all finished runs but the newest `keep`.

    Raises:
        NotReady: another run holds the lock, or a folder cannot be deleted.
    """
    with host.workspace(writes=True, repository="existing") as project:
        found = list_runs(host.root)
        old = [
            summary
            for summary in found[: max(0, len(found) - arguments.keep)]
            if summary.state != "running"
        ]
        for summary in old:
            try:
                remove_tree(summary.folder)
            except OSError as error:
                raise NotReady(f"cannot delete {summary.folder}: {error.strerror}") from error
        kept = {folder.name for folder in run_folders(host.root)}
        # Include runs whose folder was deleted by hand.
        project.checkpoints.forget([run for run in project.checkpoints.runs() if run not in kept])
    if arguments.json:
        host.out.document({"pruned": [summary.run for summary in old], "kept": sorted(kept)})
        return ExitCode.REACHED
    for summary in old:
        host.out.line(f"deleted {summary.run}")
    host.out.line(f"{count_of(len(kept), 'run')} left")
    return ExitCode.REACHED
