"""The context in a run, and the conformance tests."""

from __future__ import annotations

from pathlib import Path

from code_commit_testing import Project, Reply, ScriptedServer
from code_commit_testing.conformance_commit import ContextConformance


class TestNewName(ContextConformance):
    name = "new-name"


def test_the_files_of_the_folder_come_first(tmp_path: Path) -> None:
    files = {"large.py": "x = 1\n" * 1000, "src/a.py": "A = 1\n"}
    project = Project.create(tmp_path, files=files)
    budget = ("--context", "new-name", "--context-tokens", "100")
    with ScriptedServer([Reply("^^^src/a.py\nA = 2\n^^^end\n")]) as server:
        finished = project.command("--model", "gpt-5", *budget, environ=server.environment())
        assert finished.exit_code == 0, finished.stderr
        prompt = server.requests[0].prompt
    assert "--- src/a.py ---\nA = 1\n" in prompt
    assert "--- large.py ---" not in prompt
