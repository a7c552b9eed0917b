"""The sink in whole runs against a scripted server."""

from __future__ import annotations

from pathlib import Path

from code_commit_testing import Finished, Project, Reply, ScriptedServer


def commit(project: Project, file: Path, *answers: Reply) -> Finished:
    """Run the default workflow."""
    project.write({"agent-config/config.toml": f'[plugins.new-name]\nfile = "{file}"\n'})
    with ScriptedServer(answers) as server:
        return project.command("--model", "gpt-5", environ=server.environment())


def test_each_run_adds_a_line(tmp_path: Path) -> None:
    project, file = Project.create(tmp_path), tmp_path / "runs.tsv"
    finished = commit(project, file, Reply("^^^a.txt\nnew\n^^^end\n"))
    assert finished.exit_code == 0, finished.stderr
    commit(project, file, Reply.error(401))
    lines = [line.split("\t") for line in file.read_text("utf-8").splitlines()]
    assert [outcome for _, outcome, _ in lines] == ["reached", "provider_failed"]


def test_a_file_that_cannot_be_written_does_not_end_the_run(tmp_path: Path) -> None:
    project = Project.create(tmp_path)
    finished = commit(project, tmp_path, Reply("^^^a.txt\nnew\n^^^end\n"))
    assert (finished.exit_code, project.read("a.txt")) == (0, "new\n"), finished.stderr
    assert "code-commit-new-name failed" in finished.stderr
