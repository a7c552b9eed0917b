"""The explanation in whole runs against a scripted server."""

from __future__ import annotations

import pytest
from code_commit_testing import Project, Reply, ScriptedServer


@pytest.fixture
def project(tmp_path):
    return Project.create(tmp_path)


def explained(project, server, *arguments):
    return project.command(
        "--model", "gpt-5", "--explain", *arguments, environ=server.environment()
    )


def test_the_explanation_is_shown(project):
    with ScriptedServer([Reply("It says old.")]) as server:
        finished = explained(project, server, "a.txt", "--words", "7")
        prompt = server.requests[0].prompt
    assert (finished.exit_code, finished.stdout) == (0, "It says old.\n")
    assert prompt == "Explain this file in at most 7 words.\n\n[a.txt]\nold\n"


def test_the_length_is_a_setting(project):
    project.write({"agent-config/config.toml": "[plugins.explain]\nwords = 9\n"})
    with ScriptedServer([Reply("It says old.")]) as server:
        assert explained(project, server, "a.txt").exit_code == 0
        assert "at most 9 words" in server.requests[0].prompt


def test_a_file_in_agent_config_is_not_sent_to_the_model(project):
    with ScriptedServer() as server:
        assert explained(project, server, "agent-config/query.txt").exit_code == 3
        assert server.requests == []


@pytest.mark.parametrize(
    ("path", "exit_code"), [("./a.txt", 0), ("src", 3), ("none.txt", 3), ("../a.txt", 3)]
)
def test_only_a_file_of_the_project_is_explained(project, path, exit_code):
    project.write({"src/b.txt": "old\n"})
    with ScriptedServer([Reply("It says old.")]) as server:
        assert explained(project, server, path).exit_code == exit_code


def test_an_incomplete_explanation_is_refused(project):
    with ScriptedServer([Reply("It sa", finish="length")]) as server:
        assert explained(project, server, "a.txt").exit_code == 5
