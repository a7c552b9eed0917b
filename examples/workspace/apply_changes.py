"""Apply a change to a project, build it, and move it back if the build fails.

python apply_changes.py PROJECT PATH < NEW_CONTENT
"""

import sys
from pathlib import Path

from code_commit_workspace import Change, ChangeSetRefused, Workspace

project, path = sys.argv[1:]
changes = [Change(path, sys.stdin.buffer.read())]

with Workspace.open(Path(project), writes=True, private_folder=".apply-changes") as workspace:
    run = workspace.begin("example")
    log = workspace.state("example") / "build.txt"
    with run.trial() as trial:
        try:
            workspace.apply(changes, run=run)
        except ChangeSetRefused as refused:
            sys.exit(str(refused))
        if not workspace.run_build(log=log, timeout=600).passed:
            sys.exit(f"the build failed, and the project is as it was: see {log}")
        trial.keep()
