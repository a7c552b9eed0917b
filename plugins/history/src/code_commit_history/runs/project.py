"""The project that past runs belong to: its checkpoints, and its keys, which are shown nowhere."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from code_commit.config.keys import KeyStore
from code_commit.plugin_api.errors import NotReady
from code_commit.plugins.host import PluginHost
from code_commit.plugins.registry import Registry
from code_commit_workspace.checkpoint import Checkpoints
from code_commit_workspace.empty_repository import git_of_past_runs
from code_commit_workspace.git import Git
from code_commit_workspace.project_tree import ProjectTree
from code_commit_workspace.redaction import Redactor
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


def redactor_of(root: Path, registry: Registry | None = None) -> Redactor:
    """Return a redactor that knows the project's keys; checkpoints hold files as they are."""
    redactor = Redactor()
    registry = registry or Registry(PluginHost())
    with suppress(NotReady):  # no key is read in such a project, hence none is in use
        KeyStore(root, redactor, os.environ).censor_all(registry.secret_variables())
    return redactor
