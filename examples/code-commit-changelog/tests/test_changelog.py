"""The check in whole runs, and the conformance tests."""

from __future__ import annotations

from code_commit_testing import Project, Reply, ScriptedServer
from code_commit_testing.conformance_commit import AcceptanceConformance

SOURCE = "^^^src/a.py\nA = 2\n^^^end\n"
NEWS = "^^^news/1.md\nA is 2.\n^^^end\n"


class TestChangelog(AcceptanceConformance):
    name = "changelog"


def test_a_change_without_news_is_sent_back(tmp_path):
    project = Project.create(tmp_path, files={"src/a.py": "A = 1\n"})
    with ScriptedServer([Reply(SOURCE), Reply(NEWS)]) as server:
        finished = project.command("--model", "gpt-5", environ=server.environment())
        assert finished.exit_code == 0, finished.stderr
        assert "Add a file to news/" in server.requests[1].prompt
    assert project.read("news/1.md") == "A is 2.\n"


def test_a_change_that_never_has_news_is_not_reached(tmp_path):
    project = Project.create(tmp_path, files={"src/a.py": "A = 1\n"})
    with ScriptedServer([Reply(SOURCE)]) as server:
        finished = project.command(
            "--model", "gpt-5", "--repairs", "0", environ=server.environment()
        )
    assert finished.exit_code == 1, finished.stderr
    assert "Add a file to news/" in finished.stderr
