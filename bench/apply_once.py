"""Parse a response, check its changes and apply them; print the time in seconds."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from code_commit.plugin_api import PROTECTED
from code_commit_commit.response import parse_changes
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.git import Git
from code_commit_workspace.guard.guard import Guard
from code_commit_workspace.move.apply import replace
from code_commit_workspace.move.survey import Write


def main(root: Path, response: Path) -> None:
    """Run it in the project at `root`."""
    text = response.read_text("utf-8")
    home = root / "agent-config/.code-commit"
    home.mkdir(mode=0o700, exist_ok=True)
    start = time.perf_counter()
    changes = parse_changes(text)
    tree = ProjectTree(root)
    refusals = Guard(tree, Git(root), PROTECTED).check(changes)
    if refusals:
        sys.exit(f"refused: {refusals[0]}")
    replace(tree, home, [Write(change.path, change.content) for change in changes])
    print(time.perf_counter() - start)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
