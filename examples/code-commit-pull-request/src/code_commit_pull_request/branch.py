"""Creates a branch from the change of a run, without touching the user's branch, index or files."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from code_commit.plugin_api import Run, read_records


def push_branch(run: Run, remote: str, message: str) -> str:
    """Push a commit with the files that the run changed; return the branch, or "" without files."""
    paths = changed_paths(run)
    if not paths:
        return ""
    branch = f"code-commit/{run.folder.name}"
    with TemporaryDirectory() as folder:
        git = Git(run.root, index=Path(folder) / "index")
        git("read-tree", "HEAD")
        git("update-index", "--add", "--remove", "-z", "--stdin", stdin="\0".join(paths))
        tree = git("write-tree")
        commit = git("commit-tree", tree, "-p", "HEAD", stdin=message)
        git("push", "--quiet", remote, f"{commit}:refs/heads/{branch}")
    return branch


def changed_paths(run: Run) -> list[str]:
    """Return the paths that the run wrote and deleted."""
    paths: set[str] = set()
    for record in read_records(run.folder / "events.jsonl"):
        if record.kind == "changes.applied":
            paths.update(record.data["written"], record.data["deleted"])
    return sorted(paths)


class Git:
    """Runs git with a separate index."""

    def __init__(self, root: Path, index: Path) -> None:
        self._root = root
        self._environ = {**os.environ, "GIT_INDEX_FILE": str(index), "GIT_TERMINAL_PROMPT": "0"}

    def __call__(self, *arguments: str, stdin: str = "") -> str:
        """Return the output of git."""
        completed = subprocess.run(
            ["git", *arguments],
            cwd=self._root,
            env=self._environ,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=50,
            check=False,
        )
        if completed.returncode:
            raise RuntimeError(f"`git {arguments[0]}` failed: {completed.stderr.strip()}")
        return completed.stdout.strip()
