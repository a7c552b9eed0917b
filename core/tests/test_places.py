"""Projects below the top of their repository, in a linked work tree, and in a repository without
commits.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from code_commit_testing import Project, Reply, ScriptedServer

KEY = "sk-canary-0123456789-key7Q"
CHANGE = Reply("^^^a.txt\nnew\n^^^end\n^^^made/b.txt\nb\n^^^end\n")


def run(project: Project, root: Path, *arguments: str, reply: Reply = CHANGE):
    with ScriptedServer([reply]) as server:
        environ = {"OPENAI_API_KEY": KEY, **server.environment()}
        return project.command("--model", "gpt-5", "--json", *arguments, environ=environ, cwd=root)


def ready(root: Path) -> Path:
    (root / "agent-config").mkdir()
    (root / "agent-config/query.txt").write_text("change it\n")
    (root / "agent-config/codeRollup.txt").write_text("--- a.txt ---\nold\n")
    return root


@pytest.fixture
def project(tmp_path):
    return Project.create(
        tmp_path / "made", query=None, rollup=None, files={"a.txt": "old\n", "sub/a.txt": "old\n"}
    )


@pytest.fixture(params=["below the top", "linked work tree", "no commit yet"])
def root(request, project):
    if request.param == "below the top":
        for name in ("build.sh", ".gitignore"):
            shutil.copy(project.root / name, project.root / "sub" / name)
        return ready(project.root / "sub")
    if request.param == "linked work tree":
        project.git("worktree", "add", "-q", "../linked")
        return ready(project.root.parent / "linked")
    shutil.rmtree(project.root / ".git")
    project.git("init", "-q")
    return ready(project.root)


@pytest.mark.fast_rows(1)
def test_a_run_changes_only_its_own_folder_and_can_be_undone(project, root):
    finished = run(project, root)
    assert finished.exit_code == 0, finished.stderr
    assert ((root / "a.txt").read_text(), (root / "made/b.txt").read_text()) == ("new\n", "b\n")
    undone = project.command("undo", "--json", cwd=root)
    assert undone.document["restored"] == ["a.txt", "made/b.txt"]
    assert (root / "a.txt").read_text() == "old\n"
    assert not (root / "made").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [
        "hooks/pre-commit",
        *(pytest.param(place, marks=pytest.mark.slow) for place in ("config", "info/exclude")),
    ],
)
def test_a_build_that_changes_the_git_folder_fails_everywhere(project, root, path):
    (root / "build.sh").write_text(f'echo hit >> "$(git rev-parse --git-path {path})"; exit 0\n')
    finished = run(project, root, "--repairs", "0", "--sandbox", "off")
    assert finished.exit_code == 1
    assert "changed its own checks" in finished.events[-1]["data"]["summary"]
