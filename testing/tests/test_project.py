"""Test projects are repositories as git makes them."""

from __future__ import annotations

from code_commit_testing import Project


def test_the_index_of_a_copied_repository_is_what_git_writes(tmp_path):
    files = {"a": "1\n", "1234567": "2\n", "12345678": "3\n", "deep/er/ünï.txt": "4\n"}
    for folder in ("first", "second"):
        project = Project.create(tmp_path / folder, files=files)
        seen = project.git("ls-files", "--debug")
        (project.root / ".git/index").unlink()
        project.git("add", "-A")
        assert seen == project.git("ls-files", "--debug")
        assert "ino: " in seen
    project.git("fsck", "--strict")
