"""A repository of another user is used only after the user declared it safe."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from code_commit_workspace import Git, NotReady

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


def plain_git(folder: Path, *args: str) -> None:
    subprocess.run(["git", *args], cwd=folder, check=True)


@pytest.fixture
def root(tmp_path, home, monkeypatch, git_init):
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return git_init(tmp_path / "project")


def test_a_repository_of_another_user_is_refused_until_it_is_declared_safe(root, home):
    for path in (root, root / ".git"):
        os.chown(path, 12345, 12345)
    with pytest.raises(NotReady, match="dubious ownership") as caught:
        Git(root).require_repository()
    assert "safe.directory" in caught.value.hint
    plain_git(home, "config", "--global", "safe.directory", str(root))
    assert Git(root).head() is None
    (home / ".gitconfig").unlink()
    plain_git(
        root,
        "-c",
        "safe.directory=*",
        "config",
        "--file",
        str(root / ".git/config"),
        "safe.directory",
        "*",
    )
    with pytest.raises(NotReady, match="dubious ownership"):
        Git(root).require_repository()


@pytest.mark.parametrize(
    ("folders", "trusted"),
    [
        (["{root}"], True),
        (["*"], True),
        (["{root}/../*"], True),
        (["{root}/*"], True),
        (["~/../project"], True),
        (["{root}", "/x", "/y"], True),
        (["/x", "{root}/..", "{root}/a"], False),
        (["{root}", "", "/x"], False),
        (["{root}", ""], False),
        (["", "{root}"], True),
        (["{root}/sub/*"], False),
    ],
)
def test_the_last_safe_directories_count(root, home, folders, trusted):
    os.chown(root, 12345, 12345)
    for folder in folders:
        plain_git(home, "config", "--global", "--add", "safe.directory", folder.format(root=root))
    if trusted:
        Git(root).require_repository()
    else:
        with pytest.raises(
            NotReady, match=f"at '{root}': {root} belongs to another user"
        ) as caught:
            Git(root).require_repository()
        assert (
            caught.value.hint
            == f"if you trust it, `git config --global --add safe.directory {root}`"
        )


def test_who_called_sudo_owns_the_repository_for_root(root, monkeypatch):
    for path in (root, root / ".git"):
        os.chown(path, 12345, 12345)
    monkeypatch.setenv("SUDO_UID", "12345")
    Git(root).require_repository()
