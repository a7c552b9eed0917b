"""The rule in whole runs against a scripted server."""

from __future__ import annotations

from pathlib import Path

import pytest
from code_commit_testing import Finished, Project, Reply, ScriptedServer

LARGE = "^^^new.txt\nmore than nine bytes\n^^^end\n"
SMALL = "^^^new.txt\nsmall\n^^^end\n"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project.create(tmp_path)
    project.write({"agent-config/config.toml": "[plugins.new-name]\nmax_bytes = 9\n"})
    return project


def commit(project: Project, *answers: str) -> tuple[Finished, list[str]]:
    """Run the default workflow; return how it ended, and the prompts."""
    with ScriptedServer([Reply(answer) for answer in answers]) as server:
        finished = project.command("--model", "gpt-5", "--repairs", "1", environ=server.environment())
        return finished, [request.prompt for request in server.requests]


def test_a_large_new_file_is_sent_back(project: Project) -> None:
    finished, prompts = commit(project, LARGE, SMALL)
    assert finished.exit_code == 0, finished.stderr
    assert project.read("new.txt") == "small\n"
    assert "A new file has at most 9 bytes" in prompts[1]


def test_an_existing_file_may_grow(project: Project) -> None:
    finished, _ = commit(project, LARGE.replace("new.txt", "a.txt"))
    assert (finished.exit_code, project.read("a.txt")) == (0, "more than nine bytes\n"), finished.stderr
