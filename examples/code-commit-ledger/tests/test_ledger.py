"""The ledger after whole runs against a scripted server."""

from __future__ import annotations

from code_commit_testing import Project, Reply, ScriptedServer


def test_each_run_writes_a_line(tmp_path):
    project, ledger = Project.create(tmp_path), tmp_path / "ledger.tsv"
    project.write({"agent-config/config.toml": f'[plugins.ledger]\nfile = "{ledger}"\n'})
    with ScriptedServer([Reply("^^^a.txt\nnew\n^^^end\n"), Reply.error(401)]) as server:
        for _ in range(2):
            project.command("--model", "gpt-5", environ=server.environment())
    lines = [line.split("\t")[1:] for line in ledger.read_text().splitlines()]
    assert lines == [
        ["committing-code", "reached", "15"],
        ["committing-code", "provider_failed", "0"],
    ]


def test_a_ledger_that_cannot_be_written_does_not_end_the_run(tmp_path):
    project = Project.create(tmp_path)
    project.write({"agent-config/config.toml": f'[plugins.ledger]\nfile = "{tmp_path}"\n'})
    with ScriptedServer([Reply("^^^a.txt\nnew\n^^^end\n")]) as server:
        finished = project.command("--model", "gpt-5", environ=server.environment())
    assert (finished.exit_code, project.read("a.txt")) == (0, "new\n")
    assert "ledger" in finished.stderr
