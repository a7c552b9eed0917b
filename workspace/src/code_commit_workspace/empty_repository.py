"""A project that lies in no git repository, where a workflow may do without one.

What a reply may write and a model may see is still judged by git, from a private repository that is always empty:
`.gitignore` files count in it, and nothing is ever committed there.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from code_commit_workspace.errors import NotReady
from code_commit_workspace.git import Git, NoRepository
from code_commit_workspace.transaction import open_home

_NAME = "no-repository.git"


def git_without_repository(root: Path, home: Path) -> Git:
    """Return git in `root`, on a private repository below `home`, made anew: nothing in an old one is believed.

    Raises:
        NotReady: it cannot be made.
    """
    os.close(open_home(home))  # no link leads elsewhere
    folder = home / _NAME
    try:
        if folder.exists():
            shutil.rmtree(folder)
    except OSError as error:
        raise NotReady(f"{folder} cannot be replaced: {error.strerror}", hint="remove it") from error
    git = Git(root, repository=folder)
    git.run(["init", "--quiet", "--template="])
    return git


def git_of_past_runs(root: Path, home: Path) -> Git:
    """Return git for what earlier runs have left in `root`.

    Raises:
        NotReady: the root lies in no repository, and no run has done without one.
    """
    git = Git(root)
    try:
        git.require_repository()
    except NoRepository:
        if not (home / _NAME).is_dir():
            raise
        return git_without_repository(root, home)
    return git
