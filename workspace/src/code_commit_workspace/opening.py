"""What is settled before there is a workspace: its state folder, its repository, and the run that was interrupted."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from code_commit_workspace.errors import NotReady
from code_commit_workspace.git import Git, NoRepository
from code_commit_workspace.project_tree import ProjectTree
from code_commit_workspace.transaction.lock import ProjectLock
from code_commit_workspace.transaction.recover import in_force, recover

Repository = Literal["required", "optional", "private", "existing"]
"""What to do if the root is not in a git repository: `required` refuses, `optional` leaves it to the user of git,
`private` works on an empty repository in the state folder, `existing` does so where an earlier workspace did."""


def home_of(root: Path, private_folder: str, state_folder: str) -> Path:
    above, _, name = state_folder.rpartition("/")
    if not name or above != private_folder or "/" in private_folder or {private_folder, name} & {".", ".."}:
        raise ValueError(f"{state_folder!r} is not a folder directly in {private_folder!r}")
    return root / private_folder / name


def needs_private_git(git: Git, repository: Repository, home: Path) -> bool:
    """Return whether the root lies in no repository, so that a private one must stand in for it.

    Raises:
        NotReady: it must lie in one and does not, or git does not work there.
    """
    if repository == "optional":
        return False
    try:
        git.require_repository()
    except NoRepository:
        from code_commit_workspace.private_git import PRIVATE_GIT

        if repository == "required" or (repository == "existing" and not (home / PRIVATE_GIT).is_dir()):
            raise
        return True
    return False


def recover_for_reading(tree: ProjectTree, home: Path) -> str | None:
    """Undo the incomplete change set of a killed run, unless a running process will finish it."""
    while in_force(home):
        try:
            with ProjectLock(home):
                return recover(tree, home)
        except NotReady:
            if in_force(home):  # otherwise the other run has finished meanwhile
                raise
    return None
