"""A repository that stands in where a project lies in none."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from code_commit_workspace.errors import NotReady
from code_commit_workspace.git import Git
from code_commit_workspace.transaction.home import open_home
from code_commit_workspace.tree_removal import remove_tree

PRIVATE_GIT = "no-repository.git"  # in the state folder


def private_git(root: Path, home: Path, *, anew: bool, writable: Sequence[Path]) -> Git:
    """Return git in `root`, on a private repository in the state folder that is always empty.

    git still decides what a change may touch and a model may see: `.gitignore` files count in it, and nothing is ever
    committed there. `anew` replaces an old one, which somebody may have edited. `writable`: see `Git`.

    Raises:
        NotReady: it cannot be made.
    """
    os.close(open_home(home))  # raises if it is a link
    folder = home / PRIVATE_GIT
    git = Git(root, repository=folder, writable=writable)
    if anew or not folder.exists():
        try:
            if folder.exists():
                remove_tree(folder)
        except OSError as error:
            raise NotReady(f"{folder} cannot be replaced: {error.strerror}", hint="remove it") from error
        git.init()
    return git
