"""Files from which other programs run commands are told when they are written."""

from __future__ import annotations

import pytest

from code_commit_workspace import Change, SandboxSettings, Workspace

TOLD = "other programs run commands from this file; read it before you use git or an editor here"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    root = tmp_path_factory.mktemp("executed") / "project"
    (root / "bare").mkdir(parents=True)
    (root / "bare/HEAD").write_text("ref: refs/heads/main\n")
    (root / ".gitignore").write_text("/agent-config\n")
    with Workspace.open(
        root,
        writes=True,
        private_folder="agent-config",
        repository="private",
        sandbox=SandboxSettings("off"),
    ) as workspace:
        yield workspace


def warnings(workspace, *changes):
    warned: list[str] = []
    assert workspace.check(changes, warn=warned.append) == ()
    return warned


@pytest.mark.parametrize(
    "path",
    [
        *(
            ".envrc",
            "sub/.pre-commit-config.yaml",
            ".gitlab-ci.yml",
            ".devcontainer.json",
            ".husky/pre-push",
        ),
        *(
            ".vscode/tasks.json",
            ".github/workflows/ci.yml",
            ".github/actions/x/action.yml",
            "Jenkinsfile",
        ),
        *(
            "hooks/pre-commit",
            "tools/hooks/commit-msg",
            ".idea/x.xml",
            ".circleci/config.yml",
            ".GitHub/Workflows/a",
        ),
        *("bare/config", "bare/commondir", "bare/hooks"),
    ],
)
def test_such_a_file_is_told_once(workspace, path):
    change = Change(path, b"x")
    assert warnings(workspace, change) == [f"{path}: {TOLD}"]
    assert warnings(workspace, change) == []


@pytest.mark.parametrize(
    "path", ["envrc", ".vscode/notes.txt", ".github/CODEOWNERS", "hooks/mine", "config", "a/config"]
)
def test_other_files_are_not(workspace, path):
    assert warnings(workspace, Change(path, b"x")) == []


def test_a_folder_in_place_of_a_file_is_no_repository(workspace):
    (workspace.root / "file").touch()
    assert warnings(workspace, Change("file", None), Change("file/config", b"x")) == []


def test_a_repository_may_come_with_the_change(workspace):
    changes = [
        Change("new/config", b"x"),
        Change("new/HEAD", b"ref: x\n"),
        Change("bare/config", None),
    ]
    assert warnings(workspace, *changes[:2]) == [f"new/config: {TOLD}"]


def test_what_is_deleted_is_not_told(workspace):
    (workspace.root / ".envrc").touch()
    assert warnings(workspace, Change(".envrc", None)) == []


def test_many_share_one_warning(workspace):
    warned = warnings(workspace, *(Change(f".husky/{number:02}", b"x") for number in range(22)))
    assert warned[:20] == [f".husky/{number:02}: {TOLD}" for number in range(20)]
    assert warned[20:] == [
        ".husky/20 and 1 more: other programs run commands from these files, too"
    ]
    assert (
        len(warnings(workspace, *(Change(f".idea/{number:02}", b"x") for number in range(20))))
        == 20
    )
