"""The format in a run, and the conformance tests."""

from __future__ import annotations

from pathlib import Path

from code_commit_testing import Project, Reply, ScriptedServer
from code_commit_testing.conformance_commit import FormatConformance, FormatSample

from code_commit_new_name.plugin import code_commit_formats

RESPONSE = "^^^a.txt\nmore\n^^^end\n"


class TestNewName(FormatConformance):
    format = code_commit_formats()[0]
    samples = (FormatSample(RESPONSE, {"a.txt": b"old\n"}, {"a.txt": b"old\nmore\n"}),)
    malformed = ("", "more", "^^^a.txt\nmore\n", "^^^new.txt\nmore\n^^^end\n")


def test_a_run_adds_the_text(tmp_path: Path) -> None:
    project = Project.create(tmp_path, files={"b.txt": "old\n"})
    with ScriptedServer([Reply(RESPONSE.replace("a.txt", "b.txt"))]) as server:
        arguments = ("--model", "gpt-5", "--format", "new-name")
        finished = project.command(*arguments, environ=server.environment())
        assert finished.exit_code == 0, finished.stderr
        assert "it is added at its end" in server.requests[0].prompt
    assert project.read("b.txt") == "old\nmore\n"
