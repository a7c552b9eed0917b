"""Whether the private folder may have come with a repository, in whatever way git can bring it
along.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from code_commit_workspace import NotReady, check_private_folder

RUNS = {"logs": re.compile("2026-")}
NAME = "agent-config"
BLOB = "78981922613b2afb6025042ff6bd878ac1994e85"  # a.txt
AUTHOR = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always")


def git(folder: Path, *args: str, stdin: str = "") -> str:
    completed = subprocess.run(
        ["git", *AUTHOR, *args], cwd=folder, input=stdin, check=True, capture_output=True, text=True
    )
    return completed.stdout.strip()


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def root(tmp_path, copied):
    return copied(tmp_path / "project", started)


def started(folder: Path) -> None:
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / ".gitignore").write_text(f"/{NAME}\n")
    (folder / "a.txt").write_text("a\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "start")


def track(root: Path, path: str, mode: str = "100644") -> None:
    """Put `path` into the index, whether or not this file system can have it."""
    git(root, "update-index", "--add", "--cacheinfo", f"{mode},{BLOB},{path}")


def refused(root: Path) -> str:
    with pytest.raises(NotReady) as caught:
        check_private_folder(root, "agent-config")
    hints = {
        "git tracks": "check the files in ",
        "git cannot check": "fix the repository, then run again",
        f"{NAME} is a git repository": f"check its files; if they are yours, delete {NAME}/.git",
    }
    expected = [hint for begin, hint in hints.items() if caught.value.message.startswith(begin)]
    assert not expected or caught.value.hint.startswith(expected[0])
    return str(caught.value)


def test_a_folder_of_the_users_own_is_accepted(root):
    check_private_folder(root, "agent-config")
    (root / NAME).mkdir()
    (root / NAME / "config.toml").write_text("")
    check_private_folder(root, "agent-config")


@pytest.mark.parametrize(
    "path",
    [
        *("agent-config", "agent-config/a/b", "Agent-Config/x", "AGENT-CONFIG"),
        *(
            "agent-con\ufb01g/x",
            "agent-con\u200cfig/x",
            "\uff41gent-config",
            "agent\u00ad-config/x",
        ),
        *(
            "agent-config./x",
            "agent-config /x",
            "agent-config...",
            " agent-config/x",
            "agent-config::$DATA",
        ),
        *("agent-~1/x", "AGENT-~2/config.toml", "agent-config\\x"),
    ],
)
def test_every_spelling_that_a_file_system_may_fold_counts(root, path):
    track(root, path)
    assert "git tracks" in refused(root)


@pytest.mark.parametrize(
    "path",
    [
        "sub/agent-config/x",
        "agent-configs/x",
        "my-agent-config",
        "agent",
        "\u00e4gent-config/x",
        "x~1",
    ],
)
def test_other_names_do_not(root, path):
    track(root, path)
    check_private_folder(root, "agent-config")


@pytest.mark.parametrize("mode", ["100755", "120000", "160000"])
def test_what_kind_it_is_makes_no_difference(root, mode):
    track(root, NAME, mode)
    assert f"git tracks {NAME}" in refused(root)


@pytest.mark.parametrize(
    "hide",
    [
        ("update-index", "--index-version", "4"),
        ("update-index", "--split-index"),
        ("update-index", "--skip-worktree", f"{NAME}/x"),
        ("update-index", "--assume-unchanged", f"{NAME}/x"),
        ("config", "core.ignoreCase", "true"),
        ("config", "core.precomposeUnicode", "true"),
        ("config", "core.worktree", ".."),
        ("config", "extensions.worktreeConfig", "true"),
        ("config", "core.bare", "true"),
        ("config", "core.repositoryFormatVersion", "99"),
    ],
    ids=lambda hide: "-".join(hide[1:]),
)
def test_no_form_of_the_index_and_no_setting_hides_it(root, hide):
    track(root, f"{NAME}/x")
    git(root, *hide)
    assert NAME in refused(root) or "git does not work" in refused(root)


def test_an_intention_to_add_counts(root):
    (root / NAME).mkdir()
    (root / NAME / "x").write_text("x\n")
    git(root, "add", "-f", "--intent-to-add", f"{NAME}/x")
    assert "git tracks" in refused(root)


def test_an_unmerged_entry_counts(root):
    blob = git(root, "hash-object", "-w", "--stdin", stdin="x\n")
    git(root, "update-index", "--index-info", stdin=f"100644 {blob} 2\t{NAME}/x\n")
    assert "git tracks" in refused(root)


def test_a_folder_outside_of_a_sparse_checkout_counts(root):
    track(root, f"{NAME}/x")
    git(root, "commit", "-qm", "theirs")
    git(root, "sparse-checkout", "set", "--cone", "--sparse-index", "sub")
    assert "git tracks" in refused(root)


def test_a_repository_around_the_projects_own_counts(tmp_path, root):
    git(tmp_path, "init", "-q")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "around")
    check_private_folder(root, "agent-config")
    track(tmp_path, f"project/{NAME}/config.toml")
    assert "git tracks" in refused(root)


def test_a_project_below_the_top_has_its_own_folder(root):
    below = root / "below"
    below.mkdir()
    (below / ".gitignore").write_text(f"/{NAME}\n")
    track(root, f"{NAME}/x")
    check_private_folder(below, "agent-config")
    track(root, f"below/{NAME}/x")
    assert "git tracks" in refused(below)


def test_a_submodule_and_a_linked_work_tree_are_projects(tmp_path, root):
    around = tmp_path / "around"
    around.mkdir()
    git(around, "init", "-q")
    git(around, "submodule", "add", "-q", str(root), "inside")
    git(root, "worktree", "add", "-q", str(tmp_path / "linked"))
    for project in (around / "inside", tmp_path / "linked"):
        check_private_folder(project, "agent-config")
        track(project, f"{NAME}/x")
        assert "git tracks" in refused(project)


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("HEAD", b"broken"),
        ("HEAD", None),
        ("index", b"broken"),
        ("config", b"[core\n"),
        ("commondir", b"elsewhere\n"),
    ],
)
def test_a_broken_repository_counts(root, path, content):
    track(root, f"{NAME}/x")
    if content is None:
        (root / ".git" / path).unlink()
    else:
        (root / ".git" / path).write_bytes(content)
    assert f"git cannot check whether it tracks {NAME}" in refused(root)


@pytest.mark.parametrize("content", ["gitdir: elsewhere\n", "nonsense\n", ""])
def test_a_broken_git_file_counts(root, content):
    (root / ".git").rename(root.parent / "moved.git")
    (root / ".git").write_text(content)
    assert "git cannot check" in refused(root)
    (root / ".git").write_text("gitdir: ../moved.git\n")
    check_private_folder(root, "agent-config")


def test_a_repository_that_looks_like_its_own_git_folder_counts(root):
    for name in ("HEAD", "objects", "refs"):
        (root / ".git" / name).rename(root / name)
    assert "git cannot check" in refused(root)


def test_the_environment_hides_nothing(root, tmp_path, monkeypatch):
    track(root, f"{NAME}/x")
    git(tmp_path, "init", "-q", "elsewhere")
    for name in ("GIT_DIR", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY"):
        monkeypatch.setenv(name, str(tmp_path / "elsewhere/.git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "no-index"))
    for name in ("GIT_LITERAL_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", f"{tmp_path}:{root}")
    assert "git tracks" in refused(root)


def test_no_repository_brings_nothing(tmp_path):
    (tmp_path / ".gitignore").write_text(f"/{NAME}\n")
    check_private_folder(tmp_path, "agent-config", untracked=RUNS)


@pytest.mark.parametrize("path", ["logs", "logs/2026-1/x", "Logs/2026-1", "lo\u200cgs/2026-1/x"])
def test_another_folder_may_have_to_be_untracked_too(root, path):
    for harmless in (f"sub/{path}", "logs/.gitignore", "logs/models/2026.py"):
        if path != "logs":
            track(root, harmless)
        check_private_folder(root, NAME, untracked=RUNS)
    track(root, path)
    check_private_folder(root, NAME)
    for check in (
        lambda: check_private_folder(root, NAME, untracked=RUNS),
        lambda: check_private_folder(root, "logs", needs_line=False, untracked=RUNS),
    ):
        with pytest.raises(NotReady, match="git tracks"):
            check()


def test_another_folder_that_is_a_submodule_is_refused(root, tmp_path):
    git(tmp_path, "clone", "-q", str(root), "other")
    git(root, "submodule", "add", "-q", str(tmp_path / "other"), "logs")
    with pytest.raises(NotReady, match="git tracks logs"):
        check_private_folder(root, "logs", needs_line=False)
    git(root, "rm", "-q", "-r", "-f", "--cached", "--", "logs")
    with pytest.raises(NotReady, match="logs is a git repository itself"):
        check_private_folder(root, "logs", needs_line=False)


@pytest.mark.parametrize("place", ["top", "below", "around", "changed", "no file"])
def test_the_command_of_the_hint_helps(root, tmp_path, place):
    project = tracking = root
    path = "logs/a run/x"
    if place == "below":
        project, path = root / "below", f"below/{path}"
    elif place == "around":
        git(tmp_path, "init", "-q")
        tracking, path = tmp_path, f"project/{path}"
    file = tracking / path
    file.parent.mkdir(parents=True)
    file.write_text("mine\n")
    track(tracking, path)
    if place == "changed":
        git(tracking, "commit", "-qm", "x")
        file.write_text("more\n")
        git(tracking, "add", "-f", path)
        file.write_text("and more\n")
    elif place == "no file":
        file.unlink()
    with pytest.raises(NotReady, match="git tracks logs/a run/x") as caught:
        check_private_folder(project, "logs", needs_line=False)
    command = caught.value.hint.split("`")[1]
    subprocess.run(["bash", "-c", command], cwd=project, check=True, capture_output=True)
    check_private_folder(project, "logs", needs_line=False)
    assert file.exists() == (place != "no file")
