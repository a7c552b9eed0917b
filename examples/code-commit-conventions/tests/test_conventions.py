"""The section in the prompts of whole runs."""

from __future__ import annotations

from code_commit_testing import Project, Reply, ScriptedServer

CHANGE = "^^^a.txt\nnew\n^^^end\n"


def prompt_of(project):
    with ScriptedServer([Reply(CHANGE)]) as server:
        finished = project.command("--model", "gpt-5", environ=server.environment())
        assert finished.exit_code == 0, finished.stderr
        return server.requests[0].prompt


def test_the_prompt_has_the_conventions(tmp_path):
    project = Project.create(tmp_path, files={"AGENTS.md": "Write short functions.\n"})
    prompt = prompt_of(project)
    assert "[instructions of code-commit-conventions]\nWrite short functions.\n" in prompt


def test_a_project_without_the_file_has_no_section(tmp_path):
    assert "[instructions of" not in prompt_of(Project.create(tmp_path))


def test_a_file_that_no_model_may_see_ends_the_run(tmp_path):
    project = Project.create(tmp_path)
    project.write(
        {"agent-config/config.toml": '[plugins.conventions]\nfile = "agent-config/query.txt"\n'}
    )
    with ScriptedServer() as server:
        finished = project.command("--model", "gpt-5", environ=server.environment())
    assert finished.exit_code == 3
    assert "code-commit-conventions" in finished.stderr
