"""The section in the prompt of a run."""

from __future__ import annotations

from pathlib import Path

import pytest
from code_commit_testing import Project, Reply, ScriptedServer


@pytest.mark.parametrize(("files", "count"), [({"AGENTS.md": "Be brief.\n"}, 1), ({}, 0)])
def test_the_prompt_has_the_section(tmp_path: Path, files: dict[str, str], count: int) -> None:
    project = Project.create(tmp_path, files=files)
    with ScriptedServer([Reply("^^^a.txt\nnew\n^^^end\n")]) as server:
        finished = project.command("--model", "gpt-5", environ=server.environment())
        assert finished.exit_code == 0, finished.stderr
        prompt = server.requests[0].prompt
    assert prompt.count("[instructions of code-commit-new-name]\nBe brief.\n") == count
