"""`code-commit undo [RUN]`: give the project back as it was before a run."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from code_commit.cli.censoring import censored
from code_commit.cli.help_text import RUN
from code_commit.cli.parser import Parser
from code_commit.log import find_run, list_runs
from code_commit.plugin_api.errors import ExitCode, NotReady
from code_commit_workspace.checkpoint import Checkpoints
from code_commit_workspace.empty_repository import git_of_past_runs
from code_commit_workspace.interruption import uninterrupted
from code_commit_workspace.project_tree import ProjectTree
from code_commit_workspace.terminal import printable
from code_commit_workspace.transaction import HOME, ProjectLock, recover


def undo(argv: Sequence[str]) -> int:
    """Restore what stood before the first write of a run, by default the latest that wrote.

    Raises:
        NotReady: there is no such run, it wrote nothing, or files were changed since.
    """
    parser = Parser(prog="code-commit undo", description="Give the project's files back as they were before a run.")
    parser.add_argument("run", nargs="?", metavar="RUN", help=f"{RUN} (default: the latest that wrote)")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    arguments = parser.parse_args(argv)
    root = Path.cwd().resolve()
    home = root / HOME
    git = git_of_past_runs(root, home)
    with ProjectTree(root) as tree, ProjectLock(home):
        recover(tree, home)
        checkpoints = Checkpoints(tree, git, home)
        run = _run(root, arguments.run, checkpoints)
        with uninterrupted():
            paths = checkpoints.undo(run)
    if arguments.json:
        sys.stdout.write(censored(json.dumps({"run": run, "restored": list(paths)}, indent=2)) + "\n")
        return ExitCode.REACHED
    told = [printable(path, newlines=False) + "\n" for path in paths]
    sys.stdout.write(censored("".join(told)))
    sys.stderr.write(f"code-commit: {len(paths)} paths are as they were before {run}\n")
    return ExitCode.REACHED


def _run(root: Path, name: str | None, checkpoints: Checkpoints) -> str:
    """Return the run that is meant; without a name, the latest one that has a checkpoint."""
    if name is not None:
        run = find_run(root, name).name
        if not checkpoints.of_run(run):
            raise NotReady(f"{run} wrote nothing, so there is nothing to take back")
        return run
    for summary in reversed(list_runs(root)):
        if checkpoints.of_run(summary.run):
            return summary.run
    raise NotReady("no run here wrote anything, so there is nothing to take back")
