"""The rule in whole runs against a scripted server."""

from __future__ import annotations

import pytest
from code_commit_testing import Project, Reply, ScriptedServer


@pytest.fixture
def project(tmp_path):
    return Project.create(tmp_path, files={"migrations/1.sql": "create table a;\n"})


def run(project, *responses):
    with ScriptedServer(Reply(response) for response in responses) as server:
        finished = project.command(
            "--model", "gpt-5", "--repairs", "1", environ=server.environment()
        )
        return finished, [request.prompt for request in server.requests]


def test_a_change_of_an_old_migration_is_sent_back(project):
    old, new = (
        "^^^migrations/1.sql\ndrop table a;\n^^^end\n",
        "^^^migrations/2.sql\ndrop table a;\n^^^end\n",
    )
    finished, prompts = run(project, old, new)
    assert finished.exit_code == 0, finished.stderr
    assert "Do not change an existing migration" in prompts[1]
    assert project.read("migrations/1.sql") == "create table a;\n"
    assert project.read("migrations/2.sql") == "drop table a;\n"


def test_a_deletion_is_sent_back(project):
    deletion = "^^^migrations/1.sql\n^^^delete\n"
    finished, _ = run(project, deletion, deletion)
    assert finished.exit_code == 5
    assert project.read("migrations/1.sql") == "create table a;\n"
