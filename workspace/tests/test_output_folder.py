"""The folder of a run's output: its name, and why it cannot be made."""

from __future__ import annotations

import pytest

from code_commit_workspace import NotReady, OutputFolder


def test_a_taken_name_gets_a_number(tmp_path):
    made = [OutputFolder.make(tmp_path / "logs", "run") for _ in range(3)]
    assert [folder.path.name for folder in made] == ["run", "run-2", "run-3"]
    for folder in made:
        folder.close()


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "logs").mkdir()
    with pytest.raises(NotReady, match=r"cannot write .*/logs: File name too long"):
        OutputFolder.make(tmp_path / "logs", "n" * 300)
