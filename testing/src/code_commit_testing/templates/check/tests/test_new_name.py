"""The check in a run, and the conformance tests."""

from __future__ import annotations

from pathlib import Path

from code_commit_testing import Project, Reply, ScriptedServer
from code_commit_testing.conformance_commit import AcceptanceConformance

LARGE = "".join(f"^^^{name}.txt\nnew\n^^^end\n" for name in "abc")
SMALL = "^^^a.txt\nnew\n^^^end\n^^^b.txt\n^^^delete\n^^^c.txt\n^^^delete\n"


class TestNewName(AcceptanceConformance):
    name = "new-name"


def test_a_large_change_is_sent_back(tmp_path: Path) -> None:
    project = Project.create(tmp_path)
    project.write({"agent-config/config.toml": "[plugins.new-name]\nmax_files = 1\n"})
    with ScriptedServer([Reply(LARGE), Reply(SMALL)]) as server:
        finished = project.command("--model", "gpt-5", environ=server.environment())
        assert finished.exit_code == 0, finished.stderr
        assert "Change at most 1 file, not 3." in server.requests[1].prompt
    assert not (project.root / "b.txt").exists()
