"""git's answers, from real repositories, some of which want to run programs."""

from __future__ import annotations

import os
import select
import subprocess
from pathlib import Path

import pytest

from code_commit_workspace.errors import NotReady
from code_commit_workspace.git import Git, GitError
from code_commit_workspace.guard.ignored import ignore_rules
from code_commit_workspace.records import Change, SandboxSettings
from code_commit_workspace.workspace import Workspace

AUTHOR = ("-c", "user.name=A", "-c", "user.email=a@example.org")


def plain_git(folder, *args):
    return subprocess.run(
        ["git", *AUTHOR, *args], cwd=folder, check=True, capture_output=True
    ).stdout


@pytest.fixture
def root(tmp_path, home, git_init):
    return git_init(tmp_path / "project")


def test_the_search_for_a_repository_ends_at_the_users_ceiling(root, tmp_path, monkeypatch):
    (root / "sub/deep").mkdir(parents=True)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", f"{tmp_path}:{root / 'sub'}")
    Git(root).require_repository()
    Git(root / "sub").require_repository()  # a ceiling does not count where the search begins
    with pytest.raises(NotReady, match="not in a git repository"):
        Git(root / "sub/deep").require_repository()


def test_git_may_be_asked_without_a_command(root):
    assert Git(root).run(["--version"]).startswith(b"git version")


def test_a_new_repository_holds_all_files(tmp_path, home):
    (tmp_path / "p/deep").mkdir(parents=True)
    (tmp_path / "p/deep/a.txt").write_bytes(b"one\r\n")
    (tmp_path / "p/.gitattributes").write_text("* filter=upper\n")
    (home / ".gitconfig").write_text('[filter "upper"]\nclean = tr a-z A-Z\n')
    git = Git(tmp_path / "p")
    git.init()
    git.commit_all("The start", author="maker")
    assert git.run(["log", "--format=%an: %s", "--name-only"]).split(b"\n")[:4] == [
        *(b"maker: The start", b"", b".gitattributes", b"deep/a.txt"),
    ]
    assert git.run(["show", "HEAD:deep/a.txt"]) == b"one\r\n"


def test_a_repository_is_required(root, tmp_path):
    Git(root).require_repository()
    (root / "sub").mkdir()
    Git(root / "sub").require_repository()
    with pytest.raises(NotReady, match="not in a git repository") as caught:
        Git(tmp_path).require_repository()
    assert "git init" in caught.value.hint
    with pytest.raises(NotReady):
        Git(root / ".git").require_repository()


@pytest.mark.parametrize("value", ["true", "yes"])
def test_a_bare_repository_has_no_work_tree(root, value):
    plain_git(root, "config", "core.bare", value)
    with pytest.raises(NotReady, match="bare"):
        Git(root).require_repository()


def test_another_work_tree_is_refused(root, tmp_path):
    plain_git(root, "config", "core.worktree", str(tmp_path))
    with pytest.raises(NotReady, match=r"core\.worktree"):
        Git(root).require_repository()


def test_rules_that_the_repository_names_still_count(root, tmp_path):
    (tmp_path / "rules").write_text("*.secret\n")
    plain_git(root, "config", "core.excludesFile", str(tmp_path / "rules"))
    assert Git(root).ignored(["a.secret", "b"]) == {"a.secret"}


def test_a_repository_that_git_rejects_is_told_in_gits_words(root):
    (root / ".git/config").write_text("[core\n")
    with pytest.raises(NotReady, match="bad config line 1"):
        Git(root).require_repository()


def test_files_that_look_like_a_repository_are_none(tmp_path, home):
    plain_git(tmp_path, "init", "-q", "--bare", "looks-so")
    with pytest.raises(NotReady):
        Git(tmp_path / "looks-so").require_repository()
    with pytest.raises(GitError):
        Git(tmp_path / "looks-so").ignored(["x"])


def test_head_is_none_before_the_first_commit(root):
    git = Git(root)
    assert git.head() is None
    plain_git(root, "commit", "-q", "--allow-empty", "-m", "first")
    assert git.head() == plain_git(root, "rev-parse", "HEAD").decode().strip()


def test_head_is_none_on_a_branch_whose_name_is_a_folder_of_branches(root):
    """The reading of that folder leaves no handle open: the fixture for all tests sees it."""
    plain_git(root, "commit", "-q", "--allow-empty", "-m", "first")
    plain_git(root, "branch", "feature/one")
    (root / ".git/HEAD").write_text("ref: refs/heads/feature\n")
    assert Git(root).head() is None


def test_head_in_a_broken_list_of_refs_is_an_error(root):
    plain_git(root, "commit", "-q", "--allow-empty", "-m", "first")
    plain_git(root, "pack-refs", "--all")
    git = Git(root)
    git.require_repository()
    (root / ".git/packed-refs").write_text("garbage\n")
    with pytest.raises(GitError, match=r"unexpected line in .*packed-refs: garbage"):
        git.head()


def test_head_outside_a_repository_is_an_error(tmp_path, home):
    with pytest.raises(GitError, match="not a git repository"):
        Git(tmp_path).head()


def test_a_failed_command_says_which_and_why(root):
    with pytest.raises(GitError, match=r"`git rev-parse` failed: .*nowhere"):
        Git(root).run(["rev-parse", "nowhere"])
    assert Git(root).run(["rev-parse", "--verify", "-q", "nowhere"], check=False) == b""


def test_a_command_that_does_not_end_is_ended(root):
    (root / "sub").mkdir()
    os.mkfifo(root / "sub/.gitignore")
    with pytest.raises(GitError, match="did not end"):
        Git(root).run(["check-ignore", "--no-index", "sub/x"], timeout=0.2)


def test_git_must_be_installed(root, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotReady, match="not found"):
        Git(root).run(["version"])


@pytest.mark.parametrize("folder", [".", "{root}", "{root}/.venv/bin", "{link}/.venv/bin"])
def test_git_is_never_taken_from_the_project(root, tmp_path, monkeypatch, folder):
    (root / ".venv/bin").mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(root)
    monkeypatch.chdir(tmp_path)
    for program in (tmp_path / "git", root / "git", root / ".venv/bin/git"):
        program.write_text("#!/bin/sh\ntouch ran\n")
        program.chmod(0o755)
    monkeypatch.setenv(
        "PATH", folder.format(root=root, link=link) + os.pathsep + os.environ["PATH"]
    )
    Git(root).run(["version"])
    assert not (root / "ran").exists()


@pytest.mark.parametrize("folder", ["tool", "links"])
def test_git_is_never_taken_from_a_folder_that_builds_can_write(
    root, tmp_path, monkeypatch, folder
):
    for name in ("tool", "links"):
        (tmp_path / name).mkdir()
    (tmp_path / "tool/git").write_text("#!/bin/sh\ntouch ran\n")
    (tmp_path / "tool/git").chmod(0o755)
    (tmp_path / "links/git").symlink_to(tmp_path / "tool/git")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path / folder}{os.pathsep}{os.environ['PATH']}")
    settings = SandboxSettings("off", writable=(Path("~/tool"),))
    with Workspace.open(
        root, writes=False, private_folder="agent-config", sandbox=settings
    ) as workspace:
        workspace.git.run(["version"])
        assert "+new" in workspace.diff([Change("file", b"new\n")])
    assert not list(root.rglob("ran"))
    monkeypatch.setenv("PATH", str(tmp_path / folder))
    with pytest.raises(NotReady) as caught:
        Git(root, writable=[Path("~/other"), Path("~/tool")]).run(["version"])
    assert caught.value.message == (
        f"sandbox.writable: {tmp_path}/tool holds {tmp_path / folder}/git, which a build could replace"
    )
    assert caught.value.hint == "open only the folders in it that builds need"


def test_a_repository_cannot_make_git_run_programs(root, tmp_path):
    program = tmp_path / "program"
    marker = tmp_path / "ran"
    program.write_text(f"#!/bin/sh\necho ran >> '{marker}'\n")
    program.chmod(0o755)
    for name in (
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "core.askPass",
        "credential.helper",
        "core.editor",
    ):
        plain_git(root, "config", name, str(program))
    plain_git(root, "config", "gpg.program", str(program))
    plain_git(root, "config", "commit.gpgSign", "true")
    for command in ("check-ignore", "rev-parse", "ls-files"):
        plain_git(root, "config", f"alias.{command}", f"!{program}")
        plain_git(root, "config", f"pager.{command}", str(program))
    (root / "hooks").mkdir()
    (root / "hooks/post-index-change").symlink_to(program)
    plain_git(root, "config", "core.hooksPath", "hooks")
    (root / "file").write_text("x")
    git = Git(root)
    git.require_repository()
    git.head()
    git.submodules()
    git.ignored(["x"])
    git.run(["status", "--porcelain"])
    git.run(["add", "file"])
    git.run([*AUTHOR, "commit", "-m", "x"])
    with pytest.raises(
        GitError, match="`git commit` failed: error: There was a problem with the editor"
    ):
        git.run([*AUTHOR, "commit", "--amend"])
    with pytest.raises(GitError):
        git.run(["fetch", "ssh://localhost/x"])
    assert not marker.exists()
    plain_git(root, "status")
    assert marker.exists()  # or nothing was shown above


def test_hooks_run_when_asked_for_and_end_with_git(root, tmp_path):
    hook = root / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(
        f"#!/bin/sh\nexec > '{tmp_path}/alive'\necho > '{tmp_path}/begun'\nexec sleep 600\n"
    )
    hook.chmod(0o755)
    os.mkfifo(tmp_path / "alive")
    alive = os.open(tmp_path / "alive", os.O_RDONLY | os.O_NONBLOCK)
    (root / "file").write_text("x")
    git = Git(root)
    git.run(["add", "file"])
    for timeout in (0.3, 3, 30):  # until the hook had begun, which takes longer on a busy machine
        with pytest.raises(GitError, match="did not end within"):
            git.run([*AUTHOR, "commit", "-a", "-m", "x"], hooks=True, timeout=timeout)
        if (tmp_path / "begun").exists():
            break
    assert select.select([alive], [], [], 60)[0]  # the end of what the hook would write
    os.close(alive)
    assert not (root / ".git/index.lock").exists()
    git.run([*AUTHOR, "commit", "-m", "x"])


def test_git_gets_neither_keys_nor_another_repository_from_the_environment(
    root, monkeypatch, tmp_path
):
    monkeypatch.setenv("OPENAI_API_KEY", "canary-canary")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    seen = Git(root).run(["-c", "alias.show-env=!env", "show-env"]).decode()
    assert "canary" not in seen
    assert "elsewhere" not in seen
    assert (
        "ADDED=1"
        in Git(root).run(["-c", "alias.show-env=!env", "show-env"], env={"ADDED": "1"}).decode()
    )


def test_ignored_paths_are_told_from_others(root):
    (root / ".gitignore").write_text("*.secret\n!keep.secret\n/only\ndir/\n")
    paths = [
        "a.secret",
        "keep.secret",
        "only",
        "sub/only",
        "dir/x",
        "dir",
        ":(top)a",
        "-n",
        "a\nb.secret",
        "[x].*",
    ]
    assert Git(root).ignored(paths) == {"a.secret", "only", "dir/x", "a\nb.secret"}
    assert Git(root).ignored([]) == frozenset()


def test_tracked_files_are_ignored_too(root):
    (root / "a.log").write_text("x")
    plain_git(root, "add", "a.log")
    (root / ".gitignore").write_text("*.log\n")
    assert Git(root).ignored(["a.log"]) == {"a.log"}


def test_rules_above_and_outside_the_project_count(root, home):
    (root / "sub").mkdir()
    (root / ".gitignore").write_text("/sub/a\n")
    (root / ".git/info").mkdir(exist_ok=True)
    (root / ".git/info/exclude").write_text("b\n")
    (home / ".gitconfig").write_text(f"[core]\n\texcludesFile = {home}/ignore\n")
    (home / "ignore").write_text("c\n")
    assert Git(root / "sub").ignored(["a", "b", "c", "d"]) == {"a", "b", "c"}


def test_the_rule_is_told(root):
    (root / "sub").mkdir()
    (root / "sub/.gitignore").write_text("# mine\n*.o\n")
    assert ignore_rules(["sub/x.o"], Git(root)) == {"sub/x.o": "'*.o' in line 2 of sub/.gitignore"}


def test_deep_paths_do_not_make_git_fail(root):
    (root / ".gitignore").write_text("!keep\n*.o\n")
    deep = "a/" * 500 + "x.o"
    assert Git(root).ignored([deep, "keep", "y.o"]) == {deep, "y.o"}
    assert set(ignore_rules([deep, "y.o"], Git(root))) == {"y.o"}


@pytest.mark.parametrize("path", ["link/x", "../x", "a\0b", "\ud800"])
def test_what_git_cannot_judge_is_an_error(root, path):
    (root / "link").symlink_to(root)
    with pytest.raises(GitError):
        Git(root).ignored(["x", path])


def test_rules_that_cannot_be_read_are_an_error(root):
    (root / "sub").mkdir()
    (root / "rules").write_text("*.o\n")
    (root / "sub/.gitignore").symlink_to(root / "rules")  # git does not follow it
    with pytest.raises(GitError, match=r"sub/\.gitignore"):
        Git(root).ignored(["sub/x.o"])


@pytest.mark.parametrize("index", [(), ("--index-version", "4"), ("--split-index",)])
def test_submodules_are_found_before_they_are_checked_out(root, index):
    assert Git(root).submodules() == frozenset()
    plain_git(root, "commit", "-q", "--allow-empty", "-m", "first")
    commit = plain_git(root, "rev-parse", "HEAD").decode().strip()
    # The entries are in the shared index.
    plain_git(root, "config", "splitIndex.maxPercentChange", "0")
    plain_git(root, "update-index", *index)
    plain_git(root, "update-index", "--add", "--cacheinfo", f"160000,{commit},lib/mod é")
    (root / "lib").mkdir()
    assert Git(root).submodules() == {"lib/mod é"}
    assert Git(root / "lib").submodules() == {"mod é"}


def test_submodules_are_looked_up_anew_after_each_change_of_the_index(root):
    git = Git(root)
    plain_git(root, "commit", "-q", "--allow-empty", "-m", "first")
    commit = plain_git(root, "rev-parse", "HEAD").decode().strip()
    for name in "abc":
        plain_git(root, "update-index", "--add", "--cacheinfo", f"160000,{commit},{name}")
        assert git.submodules() == {name}
        plain_git(root, "update-index", "--force-remove", name)
        assert git.submodules() == frozenset()


def test_a_line_break_in_the_name_of_a_folder_is_part_of_its_name(root):
    below = root / "a\nb"
    below.mkdir()
    plain_git(below, "init", "-q")
    assert Git(below).top() == below.resolve()
    assert Git(below).layout().index == below.resolve() / ".git/index"
