"""The command, run as a separate process."""

from __future__ import annotations

from pathlib import Path

import pytest
from code_commit_testing import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project.create(tmp_path, files={"a.py": "x\n", "b.py": "longer\n", "c.txt": "no\n"})


def test_the_largest_file_is_first(project: Project) -> None:
    finished = project.command("new-name", "*.py")
    assert (finished.exit_code, finished.stdout) == (0, "7  b.py\n2  a.py\n")


def test_json_prints_a_document(project: Project) -> None:
    finished = project.command("new-name", "--json", "--count", "1", "*.py")
    assert finished.document == {"files": [{"path": "b.py", "bytes": 7}]}


def test_the_help_lists_the_command(project: Project) -> None:
    assert "list the largest files" in project.command("--help").stdout
