"""The project that past runs belong to, and its checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from code_commit_workspace.checkpoint import Checkpoints
from code_commit_workspace.empty_repository import git_of_past_runs
from code_commit_workspace.git import Git
from code_commit_workspace.project_tree import ProjectTree
from code_commit_workspace.transaction import HOME, ProjectLock


@dataclass(frozen=True, slots=True)
class Checkpointed:
    """The checkpoints of a project, while its lock is held."""

    root: Path
    git: Git
    tree: ProjectTree
    home: Path
    checkpoints: Checkpoints


@contextmanager
def checkpointed(root: Path) -> Iterator[Checkpointed]:
    """Hold the project's lock: a run that goes on may be using the checkpoints.

    Raises:
        NotReady: there is no git repository, or a run is under way.
    """
    home = root / HOME
    git = git_of_past_runs(root, home)
    with ProjectTree(root) as tree, ProjectLock(home):
        yield Checkpointed(root, git, tree, home, Checkpoints(tree, git, home))
