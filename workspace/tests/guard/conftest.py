"""A repository, and the guard over it."""

from __future__ import annotations

import pytest

from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.git import Git
from code_commit_workspace.guard.guard import Guard


@pytest.fixture
def root(tmp_path, git_init):
    return git_init(tmp_path / "project")


@pytest.fixture
def tree(root):
    with ProjectTree(root) as tree:
        yield tree


@pytest.fixture
def guard(root, tree, protected):
    return Guard(tree, Git(root), protected)
