"""Steps before a workspace opens: find its state folder and repository, and recover.

To recover is to roll back the change set of an interrupted run.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.path_kinds import is_folder, lexists
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.git import Git, NoRepository
from code_commit_workspace.move.home import open_home
from code_commit_workspace.move.lock import ProjectLock
from code_commit_workspace.move.recover import in_force, recover

Repository = Literal["required", "optional", "private", "existing"]
"""What to do if the root is not in a git repository: `required` refuses, `optional` goes on without
one, `private` uses an empty repository in the state folder, `existing` does so only if an earlier
workspace did."""
_OPEN_FILES = 64  # that a run needs, with its calls and processes
_PRIVATE_GIT = "no-repository.git"  # in the state folder


def home_of(root: Path, private_folder: str, state_folder: str) -> Path:
    """Return the state folder of the project at `root`.

    Raises:
        ValueError: it is not directly in the private folder, or one of them is not a plain name,
            or git's.
    """
    above, _, name = state_folder.rpartition("/")
    is_direct = above == private_folder and "/" not in private_folder
    if not is_direct or {private_folder.casefold(), name} & {"", ".", "..", ".git"}:
        raise ValueError(f"{state_folder!r} is not a folder directly in {private_folder!r}")
    return root / private_folder / name


def require_open_files() -> None:
    """Check that a run may open enough files; otherwise a call or a build would fail in the middle.

    Raises:
        NotReady: it may not.
    """
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit != resource.RLIM_INFINITY and limit < _OPEN_FILES:
        raise NotReady(
            f"a process may open only {limit} files here, too few to run",
            hint="raise it: ulimit -n 256",
        )


def needs_private_git(git: Git, repository: Repository, home: Path) -> bool:
    """Return whether the root is in no repository and a private one replaces it.

    Raises:
        NotReady: it must be in a repository and is not, or git does not work there.
    """
    if repository == "optional":
        return False
    try:
        git.require_repository()
    except NoRepository:
        if repository == "required":
            raise
        if repository == "existing" and not is_folder(home / _PRIVATE_GIT):
            raise
        return True
    return False


def private_git(root: Path, home: Path, *, replace: bool, writable: Sequence[Path]) -> Git:
    """Return git in `root`, with a private repository in the state folder that stays empty.

    With it, `.gitignore` files still decide which files a change may touch and a model may see.
    With `replace`, an old one is replaced, because somebody may have edited it. `writable`: see
    `Git`.

    Raises:
        NotReady: it cannot be created.
    """
    os.close(open_home(home))  # raises if it is a link
    folder = home / _PRIVATE_GIT
    git = Git(root, repository=folder, writable=writable)
    if lexists(folder):
        if not replace:
            return git
        _remove_repository(folder)
    git.init()
    return git


def _remove_repository(folder: Path) -> None:
    from code_commit_workspace.files.tree_removal import remove_tree

    try:
        remove_tree(folder)
    except OSError as error:
        raise NotReady(
            f"{folder} cannot be replaced: {error.strerror}", hint="remove it"
        ) from error


def recover_for_reading(tree: ProjectTree, home: Path) -> str | None:
    """Roll back the change set of a killed run, unless a running process will finish it."""
    while in_force(home):
        try:
            with ProjectLock(home):
                return recover(tree, home)
        except NotReady:
            if in_force(home):  # otherwise the other run has finished meanwhile
                raise
    return None
