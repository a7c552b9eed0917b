"""Apply a change to a project, build it, and revert the change if the build fails.

python apply_changes.py PROJECT PATH < NEW_CONTENT
"""

import sys
from pathlib import Path

from code_commit_workspace import Change, Workspace

project, path = Path(sys.argv[1]).resolve(), sys.argv[2]
changes = [Change(path, sys.stdin.buffer.read())]

with Workspace.open(project, writes=True) as workspace:
    for refusal in workspace.check(changes):
        sys.exit(f"refused: {refusal}")
    workspace.build_command()  # it raises if the build cannot run
    before = workspace.checkpoints.take("example", "start")
    workspace.apply(changes)
    build = workspace.run_build(log=workspace.state("example") / "build.txt", timeout=600)
    if not build.passed:
        workspace.checkpoints.restore(before)
        sys.exit(f"the build failed, and the project is restored: see {build.log}")
