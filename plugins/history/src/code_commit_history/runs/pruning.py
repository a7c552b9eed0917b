"""`code-commit runs prune`."""

from __future__ import annotations

import argparse

from code_commit.plugin_api import ExitCode, Host, Retention, count_of, megabytes, prune_runs


def prune(host: Host, arguments: argparse.Namespace) -> int:
    """Delete the folders and logs of all finished runs but the newest `keep`.

    Raises:
        NotReady: another run holds the lock, or a folder cannot be deleted.
        Interrupted: a signal came; no folder is half deleted.
    """
    with host.workspace(writes=True, repository="existing") as project:
        pruned = prune_runs(project, Retention(runs=arguments.keep))
    if arguments.json:
        host.out.document(
            {
                "pruned": list(pruned.runs),
                "kept": sorted(pruned.left),
                "bytes_freed": pruned.freed,
            }
        )
        return ExitCode.REACHED
    for run in pruned.runs:
        host.out.line(f"deleted {run}")
    host.out.line(f"{count_of(len(pruned.left), 'run')} left, {megabytes(pruned.freed)} freed")
    return ExitCode.REACHED
