"""The branches that runs push to a bare repository."""

from __future__ import annotations

import subprocess

import pytest
from code_commit_testing import Project, Reply, ScriptedServer


@pytest.fixture
def project(tmp_path):
    project = Project.create(tmp_path, files={"a.txt": "old\n", "gone.txt": "old\n"})
    project.git("config", "user.name", "author")
    project.git("config", "user.email", "author@example.org")
    project.git("init", "-q", "--bare", str(tmp_path / "remote.git"))
    project.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    project.write({"agent-config/config.toml": '[plugins.pull-request]\nremote = "origin"\n'})
    return project


def run(project):
    answer = "^^^a.txt\nnew\n^^^end\n^^^gone.txt\n^^^delete\n^^^made.txt\nnew\n^^^end\n"
    with ScriptedServer([Reply(answer)]) as server:
        return project.command("--model", "gpt-5", "--repairs", "0", environ=server.environment())


def pushed(project, *arguments):
    remote = project.git("remote", "get-url", "origin").strip()
    return subprocess.run(
        ["git", "-C", remote, *arguments], capture_output=True, text=True, check=True
    ).stdout


def test_the_change_is_pushed_as_a_branch(project):
    finished = run(project)
    assert finished.exit_code == 0, finished.stderr
    branch = f"code-commit/{project.run_folder.name}"
    assert f"pushed to origin: {branch}" in finished.stderr
    assert (
        pushed(project, "diff", "--name-status", f"{branch}~", branch)
        == "M\ta.txt\nD\tgone.txt\nA\tmade.txt\n"
    )
    assert pushed(project, "show", f"{branch}:a.txt") == "new\n"
    message = pushed(project, "log", "-1", "--format=%B", branch)
    assert message.startswith("3 files changed, the build passes\n\nSignals: none\n")
    assert "\nTests-Of-Before: not needed\n" in message


def test_the_users_branch_and_index_stay_unchanged(project):
    before = project.git("rev-parse", "HEAD")
    run(project)
    assert project.git("rev-parse", "HEAD") == before
    assert project.git("status", "--porcelain") == " M a.txt\n D gone.txt\n?? made.txt\n"


def test_a_failed_build_is_not_pushed(project):
    project.write({"build.sh": "exit 1\n"})
    assert run(project).exit_code == 1
    assert pushed(project, "branch") == ""


def test_a_missing_remote_does_not_change_the_outcome(project):
    project.git("remote", "set-url", "origin", "/nowhere")
    finished = run(project)
    assert finished.exit_code == 0
    assert "plugin pull-request of code-commit-pull-request failed" in finished.stderr
