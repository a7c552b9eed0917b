"""`code-commit runs prune`."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from code_commit.cli.tables import print_document, print_line
from code_commit.log import list_runs
from code_commit.plugin_api.errors import ExitCode, NotReady
from code_commit_history.runs.project import checkpointed


def prune(arguments: argparse.Namespace) -> int:
    """Delete the folders and checkpoints of all runs but the newest `keep`, and of none that goes on.

    Raises:
        NotReady: a run is under way, or a folder cannot be deleted.
    """
    root = Path.cwd().resolve()
    with checkpointed(root) as project:
        found = list_runs(root)
        old = [summary for summary in found[: max(0, len(found) - arguments.keep)] if summary.state != "running"]
        for summary in old:
            try:
                shutil.rmtree(summary.folder)
            except OSError as error:
                raise NotReady(f"cannot delete {summary.folder}: {error.strerror}") from error
        kept = {summary.run for summary in list_runs(root)}
        # Also of runs whose folder somebody deleted by hand: nobody could name them any more.
        project.checkpoints.forget([run for run in project.checkpoints.runs() if run not in kept])
    if arguments.json:
        print_document({"pruned": [summary.run for summary in old], "kept": sorted(kept)})
        return ExitCode.REACHED
    for summary in old:
        print_line(f"deleted {summary.run}")
    print_line(f"{len(kept)} runs are left")
    return ExitCode.REACHED
