"""Apply a change to a project, build it, and put it back if the build fails.

python apply_changes.py PROJECT PATH < NEW_CONTENT
"""

import sys
from pathlib import Path

from code_commit_workspace import Change, ChangeSetRefused, Workspace

project, path = sys.argv[1:]
changes = [Change(path, sys.stdin.buffer.read())]

with (
    Workspace.open(Path(project), writes=True, private_folder=".apply-changes") as workspace,
    workspace.trial("example") as trial,
):
    try:
        trial.apply(changes)
    except ChangeSetRefused as refused:
        sys.exit(str(refused))
    build = trial.build(timeout=600)
    if not build.passed:
        sys.exit(f"the build failed, and the project is restored: see {build.log}")
    trial.keep()
