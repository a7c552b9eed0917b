"""The record of a change."""

from __future__ import annotations

import pytest

from code_commit_workspace import (
    Change,
    SandboxSettings,
    Workspace,
)

OFF = SandboxSettings(mode="off")


@pytest.fixture
def root(small_project):
    return small_project


def test_a_change_of_text_names_the_mistake():
    with pytest.raises(TypeError, match="the content of a Change is bytes or None, not str"):
        Change("a.txt", "text")


@pytest.mark.parametrize("mode", [0o4755, 0o100644, -1])
def test_a_change_sets_permission_bits_only(mode):
    with pytest.raises(ValueError, match="permission bits only"):
        Change("a.txt", b"", mode=mode)


def test_a_change_may_set_the_mode_of_a_file(root):
    with Workspace.open(root, writes=True, private_folder="agent-config", sandbox=OFF) as workspace:
        changes = [Change("new", b"new\n", mode=0o750), Change("a", b"old", mode=0o700)]
        assert "new file mode 100755" in workspace.diff(changes)
        workspace.apply(changes, run=workspace.begin("run"))
        assert [workspace.tree.mode(path) for path in ("new", "a", "b", "none")] == [
            0o750,
            0o700,
            0o644,
            None,
        ]
