"""The context in a whole run, and the conformance tests."""

from __future__ import annotations

from code_commit_testing import Project, Reply, ScriptedServer
from code_commit_testing.conformance_commit import ContextConformance


class TestBranch(ContextConformance):
    name = "branch"


def test_the_prompt_has_the_changed_files(tmp_path):
    project = Project.create(tmp_path, files={"old.py": "OLD = 1\n"})
    project.git("branch", "-M", "main")
    project.git("switch", "-c", "feature")
    project.write({"new.py": "NEW = 1\n"})
    project.git("add", "new.py")
    project.git("commit", "-m", "Add new")
    with ScriptedServer([Reply("^^^new.py\nNEW = 2\n^^^end\n")]) as server:
        finished = project.command(
            "--model", "gpt-5", "--context", "branch", environ=server.environment()
        )
        assert finished.exit_code == 0, finished.stderr
        prompt = server.requests[0].prompt
    assert "--- new.py ---\nNEW = 1\n" in prompt
    assert "OLD = 1" not in prompt
    assert "old.py" in prompt
