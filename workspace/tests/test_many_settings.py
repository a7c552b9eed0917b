"""A repository may have any number of submodules and filters: they cost linear time, and no space
in the environment.
"""

from __future__ import annotations

import subprocess
import time

import pytest

from code_commit_workspace import Git, GitError
from code_commit_workspace.git import command
from code_commit_workspace.git.config_file import parse_config
from code_commit_workspace.git.layout import SMALL
from code_commit_workspace.git.process import run_git

MANY = 12_000  # more than an environment holds


@pytest.fixture
def root(tmp_path, home, git_init):
    (home / ".gitconfig").write_text("[user]\n\tname = a\n\temail = a@example.org\n")
    root = git_init(tmp_path / "project")
    (root / "a.txt").write_text("a")
    return root


def modules(count: int) -> str:
    return "".join(
        f'[submodule "m\\"{number}"]\n\tpath = m{number} ; a comment\n' for number in range(count)
    )


def test_a_commit_with_many_submodules(root):
    (root / ".gitmodules").write_text(modules(MANY))
    git = Git(root)
    git.run(["add", "a.txt", ".gitmodules"])
    git.run(["commit", "--quiet", "-m", "first"])
    assert git.head()


def test_a_repository_with_many_filters_of_its_own(root):
    """None of them runs: each is replaced by a program that refuses."""
    config = root / ".git/config"
    filters = "".join(f'[filter "f{number}"]\n\tclean = touch ran\n' for number in range(MANY))
    config.write_text(config.read_text() + filters)
    (root / ".gitattributes").write_text("*.txt filter=f7\n")
    git = Git(root)
    with pytest.raises(GitError, match="clean filter 'f7' failed"):
        git.run(["add", "a.txt"])
    git.run(["add", ".gitattributes"])
    assert not (root / "ran").exists()


def test_no_setting_of_a_repository_is_in_the_environment(root, monkeypatch):
    (root / ".gitmodules").write_text(modules(3))
    started = []
    monkeypatch.setattr(
        command, "run_git", lambda *args, **more: started.append(args) or run_git(*args, **more)
    )
    Git(root).run(["add", "a.txt"])
    Git(root).run(["commit", "--quiet", "-m", "first"])
    assert started
    for argv, _folder, environ in started:
        assert "submodule" not in " ".join((*argv, *environ, *environ.values()))


def test_a_submodule_is_not_entered_by_a_commit_without_changes(root, git_init):
    """git would look for changes in it, and run its filters."""
    inner = git_init(root / "inner")
    (inner / ".gitattributes").write_text("*.txt filter=planted\n")
    (inner / "b.txt").write_text("b")
    for words in (
        ["add", "-A"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "b"],
    ):
        subprocess.run(["git", *words], cwd=inner, check=True)
    config = inner / ".git/config"
    config.write_text(f'{config.read_text()}[filter "planted"]\n\tclean = touch {root / "ran"}\n')
    (inner / "b.txt").write_text("c")  # as long as before
    (root / ".gitmodules").write_text(
        '[submodule "in \\"ner"]\n\tpath = inner\n\turl = ./inner\n\tignore = none\n'
    )
    git = Git(root)
    git.run(["add", ".gitmodules", "inner"])
    git.run(["commit", "--quiet", "-m", "first"])
    git.run(["commit", "--quiet", "-m", "nothing"], check=False)
    assert not (root / "ran").exists()


def test_settings_are_read_in_linear_time():
    def seconds(count: int) -> float:
        text = modules(count)
        begin = time.process_time()
        assert len(parse_config(text, "x")) == count
        return time.process_time() - begin

    assert seconds(8 * 4000) < 8 * 2.5 * max(seconds(4000), 0.005)


def test_a_file_of_submodules_has_a_limit(root):
    (root / ".gitmodules").write_bytes(b"#" * (SMALL + 1))
    with pytest.raises(GitError, match=r"\.gitmodules is larger than 4 MiB"):
        Git(root).run(["commit", "--quiet", "--allow-empty", "-m", "first"])
