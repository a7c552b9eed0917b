"""No command reads a project that a killed run left half changed."""

from __future__ import annotations

import os
import signal
import time

import pytest

from code_commit_testing import Project, ScriptedServer

KEY = "sk-canary-0123456789-key7Q"
OLD = {f"src/{number:04}.txt": "old\n" for number in range(1000)}
JOURNAL = "agent-config/.code-commit/journal/active"


@pytest.fixture
def project(tmp_path):
    return Project.create(tmp_path, files=OLD)


def environ(server):
    return {"OPENAI_API_KEY": KEY, **server.environment()}


def contents(project):
    return {(project.root / path).read_text() for path in OLD}


def run_that_changes_nothing(project):
    with ScriptedServer(["^^^src/0000.txt\nnew\n^^^end\n"]) as server:
        assert project.command("--model", "gpt-5", "--dry-run", environ=environ(server)).exit_code == 0
    return project.run_folder.name


def kill_while_applying(project):
    """Kill a real run with SIGKILL when some files are new and others old."""
    response = "".join(f"^^^{path}\nnew\n^^^end\n" for path in OLD)
    for _ in range(20):
        with (
            ScriptedServer([response]) as server,
            project.start("--model", "gpt-5", environ=environ(server)) as process,
        ):
            while process.poll() is None:
                if (project.root / JOURNAL).exists() and (project.root / "src/0000.txt").read_text() == "new\n":
                    os.kill(process.pid, signal.SIGKILL)
                    break
                time.sleep(0.0005)
            process.communicate()
        if (project.root / JOURNAL).exists() and contents(project) == {"old\n", "new\n"}:
            return
        project.command("undo")
    pytest.fail("no run was killed in the middle of its change")


@pytest.mark.parametrize(
    "arguments",
    [["replay"], ["rollup"], ["runs", "diff"], ["check", "a"], ["undo"], ["runs", "prune", "--keep", "9"]],
    ids=lambda arguments: arguments[0],
)
def test_a_command_reads_the_restored_project(project, arguments):
    before = run_that_changes_nothing(project) if arguments == ["replay"] else ""
    kill_while_applying(project)
    finished = project.command(*arguments, *filter(None, [before]))
    assert "internal error" not in finished.stderr
    assert contents(project) == {"old\n"}
    if arguments == ["replay"]:
        assert "no differences" in finished.stdout
    if arguments == ["rollup"]:
        assert "new" not in project.read("agent-config/codeRollup.txt")


def test_a_workflow_that_only_reads_reads_the_restored_project(project):
    kill_while_applying(project)
    with ScriptedServer(["# Report\n"]) as server:
        project.command("--consistency-check", "--model", "gpt-5", environ=environ(server))
    assert contents(project) == {"old\n"}
