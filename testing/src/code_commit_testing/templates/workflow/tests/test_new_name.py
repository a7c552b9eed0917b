"""The workflow in whole runs against a scripted server."""

from __future__ import annotations

from pathlib import Path

import pytest
from code_commit_testing import Finished, Project, Reply, ScriptedServer


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project.create(tmp_path)


def summarize(project: Project, server: ScriptedServer, *arguments: str) -> Finished:
    return project.command("--model", "gpt-5", *arguments, environ=server.environment())


def test_the_summary_is_printed(project: Project) -> None:
    with ScriptedServer([Reply("It says old.")]) as server:
        flags = ("--new-name", "a.txt", "--new-name-words", "7")
        finished = summarize(project, server, *flags)
        [request] = server.requests
    assert (finished.exit_code, finished.stdout) == (0, "It says old.\n"), finished.stderr
    assert request.prompt == "Summarize in at most 7 words.\n\n[a.txt]\nold\n"


def test_the_length_is_a_setting(project: Project) -> None:
    settings = "[plugins.new-name]\nnew_name_words = 9\n"
    project.write({"agent-config/config.toml": settings})
    with ScriptedServer([Reply("It says old.")]) as server:
        assert summarize(project, server, "--new-name", "a.txt").exit_code == 0
        assert "at most 9 words" in server.requests[0].prompt


@pytest.mark.parametrize("path", ["nowhere.txt", "agent-config/query.txt"])
def test_a_file_that_cannot_be_read_ends_the_run_before_a_call(project: Project, path: str) -> None:
    with ScriptedServer() as server:
        assert summarize(project, server, "--new-name", path).exit_code == 3
        assert server.requests == []


def test_an_incomplete_summary_is_refused(project: Project) -> None:
    with ScriptedServer([Reply("It sa", finish="length")]) as server:
        assert summarize(project, server, "--new-name", "a.txt").exit_code == 5
