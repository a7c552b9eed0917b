"""No command reads a project that a killed run left half changed."""

from __future__ import annotations

import os
import shutil
import signal
import time

import pytest

from code_commit_testing import Project, ScriptedServer

KEY = "sk-canary-0123456789-key7Q"
OLD = {f"src/{number:04}.txt": "old\n" for number in range(300)}
JOURNAL = "agent-config/.code-commit/journal/active"


def environ(server):
    return {"OPENAI_API_KEY": KEY, **server.environment()}


def contents(project):
    return {(project.root / path).read_text() for path in OLD}


def run_that_changes_nothing(project):
    with ScriptedServer(["^^^src/0000.txt\nnew\n^^^end\n"]) as server:
        assert (
            project.command("--model", "gpt-5", "--dry-run", environ=environ(server)).exit_code == 0
        )


def kill_while_applying(project):
    """Kill a real run with SIGKILL when some files are new and others old."""
    response = "".join(f"^^^{path}\nnew\n^^^end\n" for path in OLD)
    for _ in range(20):
        with (
            ScriptedServer([response]) as server,
            project.start("--model", "gpt-5", environ=environ(server), cold=True) as process,
        ):
            while process.poll() is None:
                if (project.root / JOURNAL).exists() and (
                    project.root / "src/0000.txt"
                ).read_text() == "new\n":
                    os.kill(process.pid, signal.SIGKILL)
                    break
                time.sleep(0.0005)
            process.communicate()
        if (project.root / JOURNAL).exists() and contents(project) == {"old\n", "new\n"}:
            return
        project.command("undo")
    pytest.fail("no run was killed in the middle of its change")


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """Return a project with a whole run, and one that was killed in the middle of its change."""
    project = Project.create(tmp_path_factory.mktemp("killed"), files=OLD)
    run_that_changes_nothing(project)
    kill_while_applying(project)
    return project


@pytest.fixture
def project(killed, tmp_path):
    """Return a copy of it."""
    shutil.copytree(killed.root, tmp_path / "project", symlinks=True)
    shutil.copytree(killed.home, tmp_path / "home", symlinks=True)
    return Project(tmp_path / "project", tmp_path / "home")


@pytest.mark.parametrize(
    "arguments",
    [
        ["replay", "FIRST"],
        ["rollup"],
        ["runs", "diff"],
        ["check", "a"],
        ["undo"],
        ["runs", "prune", "--keep", "9"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_command_reads_the_restored_project(project, arguments):
    assert contents(project) == {"old\n", "new\n"}
    first = min(path.name for path in (project.root / "logs").glob("2*"))
    finished = project.command(*(first if word == "FIRST" else word for word in arguments))
    assert "internal error" not in finished.stderr
    assert contents(project) == {"old\n"}
    if arguments[0] == "replay":
        assert "no differences" in finished.stdout
    if arguments[0] == "rollup":
        assert "new" not in project.read("agent-config/codeRollup.txt")


def test_a_workflow_that_only_reads_reads_the_restored_project(project):
    with ScriptedServer(["# Report\n"]) as server:
        project.command("--consistency-check", "--model", "gpt-5", environ=environ(server))
    assert contents(project) == {"old\n"}
