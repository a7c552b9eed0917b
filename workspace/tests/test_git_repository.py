"""Repositories of every kind work, and none of them configures our git; the user's own
configuration does.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from code_commit_workspace import Git, GitError, NotReady
from code_commit_workspace.git.common_folder import CommonFolder

Make = Callable[[Path], Path]
AUTHOR = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always")


def plain_git(folder: Path, *args: str) -> str:
    completed = subprocess.run(
        ["git", *AUTHOR, *args], cwd=folder, check=True, capture_output=True, text=True
    )
    return completed.stdout.strip()


@pytest.fixture
def home(home, monkeypatch):
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    (home / ".gitconfig").write_text("[user]\n\tname = Home\n\temail = home@example.org\n")
    return home


@pytest.fixture
def make(home, copied) -> Make:
    return lambda folder: copied(folder, made)


@pytest.fixture
def root(tmp_path, make):
    return make(tmp_path / "project")


def made(folder: Path, *flags: str) -> Path:
    folder.mkdir()
    plain_git(folder, "init", "-q", "-b", "main", *flags)
    (folder / "a.txt").write_text("old\n")
    plain_git(folder, "add", "-A")
    plain_git(folder, "commit", "-qm", "start")
    return folder


def program(folder: Path, name: str, text: str = "cat") -> tuple[str, Path]:
    """Return a program for git, and the file that it makes when it runs."""
    marker = folder / f"{name}-ran"
    path = folder / name
    path.write_text(f"#!/bin/sh\ntouch '{marker}'\n{text}\n")
    path.chmod(0o755)
    return str(path), marker


def commit(folder: Path, text: str = "new\n", **options: bool) -> str:
    """Change a file and commit it, as planning does; return what was committed."""
    (folder / "a.txt").write_text(text)
    git = Git(folder)
    git.run(["add", "--", "a.txt"])
    git.run(["commit", "-q", "-m", "second"], **options)
    assert git.run(["status", "--porcelain"]) == b""
    return plain_git(folder, "show", "HEAD:./a.txt")


# --- repositories of every kind -------------------------------------------------------------------


def linked(tmp_path: Path, make: Make) -> Path:
    plain_git(
        make(tmp_path / "main"), "worktree", "add", "-q", "-b", "other", str(tmp_path / "linked")
    )
    return tmp_path / "linked"


def linked_to_bare(tmp_path: Path, make: Make) -> Path:
    plain_git(tmp_path, "clone", "-q", "--bare", str(make(tmp_path / "main")), "bare")
    plain_git(tmp_path / "bare", "worktree", "add", "-q", "-b", "other", str(tmp_path / "linked"))
    return tmp_path / "linked"


def submodule(tmp_path: Path, make: Make) -> Path:
    plain_git(
        make(tmp_path / "around"), "submodule", "add", "-q", str(make(tmp_path / "main")), "sub"
    )
    return tmp_path / "around/sub"


def sparse(tmp_path: Path, make: Make) -> Path:
    folder = make(tmp_path / "main")
    (folder / "far/away").mkdir(parents=True)
    (folder / "far/away/b.txt").write_text("b\n")
    plain_git(folder, "add", "-A")
    plain_git(folder, "commit", "-qm", "more")
    plain_git(folder, "sparse-checkout", "set", "--cone", "--sparse-index", "near")
    return folder


def partial(tmp_path: Path, make: Make) -> Path:
    origin = make(tmp_path / "main")
    plain_git(origin, "config", "uploadpack.allowFilter", "true")
    plain_git(tmp_path, "clone", "-q", "--filter=blob:none", origin.as_uri(), "clone")
    return tmp_path / "clone"


def separate(tmp_path: Path, _make: Make) -> Path:
    return made(tmp_path / "main", "--separate-git-dir", str(tmp_path / "elsewhere"))


def sha256(tmp_path: Path, _make: Make) -> Path:
    return made(tmp_path / "main", "--object-format=sha256")


def packed(tmp_path: Path, make: Make) -> Path:
    folder = make(tmp_path / "main")
    plain_git(folder, "pack-refs", "--all")
    return folder


def shallow(tmp_path: Path, make: Make) -> Path:
    origin = make(tmp_path / "main")
    plain_git(origin, "commit", "-q", "--allow-empty", "-m", "more")
    plain_git(tmp_path, "clone", "-q", "--depth=1", origin.as_uri(), "clone")
    return tmp_path / "clone"


def linked_folder(tmp_path: Path, make: Make) -> Path:
    folder = make(tmp_path / "main")
    (folder / ".git").rename(tmp_path / "moved")
    (folder / ".git").symlink_to(tmp_path / "moved")
    return folder


KINDS = [
    linked,
    linked_to_bare,
    submodule,
    sparse,
    partial,
    separate,
    sha256,
    packed,
    shallow,
    linked_folder,
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_of_repository_can_be_read_and_committed_to(tmp_path, make, kind):
    folder = kind(tmp_path, make)
    git = Git(folder)
    layout = git.layout()
    answer = plain_git(
        folder,
        *("rev-parse", "--show-toplevel", "--show-object-format", "HEAD"),
        *("--path-format=absolute", "--git-path", "index"),
    )
    assert [
        str(layout.top),
        layout.object_format,
        git.head(),
        str(layout.index),
    ] == answer.splitlines()
    assert "a.txt" in git.list_files()
    assert commit(folder) == "new"
    assert plain_git(folder, "log", "-1", "--format=%an %s", "HEAD") == "Home second"
    assert plain_git(folder, "reflog", "-1", "--format=%gs").startswith("commit: second")
    assert plain_git(folder, "fsck", "--no-dangling", "--connectivity-only") == ""


@pytest.mark.parametrize(("enabled", "author"), [("true", "Worktree"), ("false", "Home")])
def test_a_worktree_has_settings_of_its_own_where_they_are_enabled(tmp_path, make, enabled, author):
    root = linked(tmp_path, make)
    plain_git(root, "config", "extensions.worktreeConfig", "true")
    plain_git(root, "config", "--worktree", "user.name", "Worktree")
    plain_git(root, "config", "extensions.worktreeConfig", enabled)

    commit(root)

    assert plain_git(root, "log", "-1", "--format=%an") == author


# --- submodules -----------------------------------------------------------------------------------


@pytest.mark.parametrize("ignore", ["none", "untracked"])
def test_no_git_runs_in_a_submodule(tmp_path, make, ignore):
    root = submodule(tmp_path, make).parent
    plain_git(root, "config", "--file", ".gitmodules", "submodule.sub.ignore", ignore)
    plain_git(root, "commit", "-qam", "with a submodule")
    marker = plant_in_submodule(tmp_path, root)
    git = Git(root)
    assert git.run(["status", "--porcelain"]) == b""
    assert git.run(["diff", "HEAD"]) == b""
    git.list_files()
    with pytest.raises(GitError):
        git.run(["commit", "-m", "nothing to commit"])
    assert commit(root) == "new"
    assert not marker.exists()
    plain_git(root, "status")
    assert marker.exists()  # or nothing was shown above


def test_no_file_hides_the_names_of_submodules(tmp_path, make):
    """Its name is that of a version of `.gitmodules`, which itself is missing: git reads it from
    the index.
    """
    root = submodule(tmp_path, make).parent
    plain_git(root, "config", "--file", ".gitmodules", "submodule.sub.ignore", "none")
    names = (":.gitmodules", "HEAD:.gitmodules")
    for name in names:
        (root / name).touch()
    plain_git(root, "--literal-pathspecs", "add", "--", *names, ".gitmodules", "sub")
    plain_git(root, "commit", "-qm", "with a submodule")
    marker = plant_in_submodule(tmp_path, root)
    (root / ".gitmodules").unlink()

    with pytest.raises(GitError):
        Git(root).run(["commit", "-m", "nothing to commit"])

    assert not marker.exists()
    plain_git(root, "status")
    assert marker.exists()  # or nothing was shown above


def plant_in_submodule(tmp_path: Path, root: Path) -> Path:
    """Let git in the submodule run a program, and return the file that the program makes."""
    planted, marker = program(tmp_path, "planted")
    (root / "sub/.git").unlink()
    (root / ".git/modules/sub").rename(root / "sub/.git")
    plain_git(root, "config", "--file", "sub/.git/config", "--unset", "core.worktree")
    plain_git(root, "config", "--file", "sub/.git/config", "filter.x.clean", planted)
    (root / "sub/.git/info/attributes").write_text("* filter=x\n")
    (root / "sub/a.txt").write_text("own\n")
    return marker


def test_a_broken_submodule_breaks_nothing(tmp_path, make):
    root = submodule(tmp_path, make).parent
    plain_git(root, "commit", "-qam", "with a submodule")
    plain_git(root / "sub", "config", "core.worktree", "/nowhere")
    assert Git(root).run(["diff", "HEAD"]) == b""
    assert commit(root) == "new"


# --- the user's own configuration -----------------------------------------------------------------


def test_the_users_own_filters_run_for_commits_alone(root, home, tmp_path):
    clean, marker = program(tmp_path, "git-lfs", "sed s/new/pointer/")
    plain_git(root, "config", "--global", "filter.lfs.clean", clean)
    (root / ".gitattributes").write_text("*.txt filter=lfs\n")
    (root / "a.txt").write_text("own\n")
    git = Git(root)
    assert b"+own" in git.run(["diff", "HEAD"])
    git.run(["status", "--porcelain"])
    assert not marker.exists()
    (root / "a.txt").write_text("new\n")
    git.run(["add", "--", "a.txt"])
    git.run(["commit", "-q", "-m", "second"])
    assert plain_git(root, "show", "HEAD:a.txt") == "pointer"


@pytest.mark.parametrize("kind", ["clean", "process"])
def test_a_filter_of_the_repository_neither_runs_nor_is_left_out(root, tmp_path, kind):
    """Without git-crypt, `git add` would commit a secret as it is."""
    planted, marker = program(tmp_path, "planted")
    plain_git(root, "config", f"filter.crypt.{kind}", planted)
    (root / ".gitattributes").write_text("a.txt filter=crypt\n")
    (root / "a.txt").write_text("own\n")
    with pytest.raises(
        GitError, match=r"only if the configuration in your home folder has it(?s:.*)'crypt' failed"
    ):
        Git(root).run(["add", "--", "a.txt"])
    assert not marker.exists()


def test_a_filter_in_the_repository_does_not_replace_the_users_own(root, home, tmp_path):
    clean, marker = program(tmp_path, "git-lfs")
    planted, shadow = program(tmp_path, "planted")
    plain_git(root, "config", "--global", "filter.lfs.clean", clean)
    for name in ("clean", "process"):
        plain_git(root, "config", f"filter.lfs.{name}", planted)
    (root / ".gitattributes").write_text("*.txt filter=lfs\n")
    (root / "a.txt").write_text("own\n")
    Git(root).run(["add", "--", "a.txt"])
    assert (marker.exists(), shadow.exists()) == (True, False)


def test_commits_are_signed_by_the_users_own_program(root, home, tmp_path):
    sign, marker = program(
        tmp_path, "sign", "cat >/dev/null; echo '[GNUPG:] SIG_CREATED ' >&2; echo signature"
    )
    planted, shadow = program(tmp_path, "planted")
    plain_git(root, "config", "--global", "gpg.program", sign)
    plain_git(root, "config", "--global", "commit.gpgSign", "true")
    plain_git(root, "config", "gpg.program", planted)
    assert commit(root) == "new"
    assert not marker.exists()  # only with `hooks`
    assert commit(root, "third\n", hooks=True) == "third"
    assert "gpgsig signature" in plain_git(root, "cat-file", "commit", "HEAD")
    assert (marker.exists(), shadow.exists()) == (True, False)


def test_hooks_run_where_no_model_can_write(root, home, tmp_path):
    hook, marker = program(tmp_path, "hook", "exit 0")
    (root / ".git/hooks").mkdir(exist_ok=True)
    (root / ".git/hooks/pre-commit").symlink_to(hook)
    commit(root)
    assert not marker.exists()
    commit(root, "third\n", hooks=True)
    assert marker.exists()
    marker.unlink()
    (root / ".husky").mkdir()
    (root / ".husky/pre-commit").symlink_to(hook)
    for place in (".husky", str(root / ".husky")):
        plain_git(root, "config", "core.hooksPath", place)
        with pytest.raises(NotReady, match="where a model can write") as caught:
            Git(root).run(["commit", "--allow-empty", "-qm", "x"], hooks=True)
        assert (
            caught.value.hint
            == "set core.hooksPath to a folder outside the project, or commit without hooks"
        )
    assert not marker.exists()


def test_the_users_settings_for_some_folders_count(root, home, tmp_path):
    (home / "work").write_text("[user]\n\temail = work@example.org\n")
    with (home / ".gitconfig").open("a") as file:
        file.write(f'[includeIf "gitdir:{tmp_path}/"]\n\tpath = work\n')
    commit(root)
    assert plain_git(root, "log", "-1", "--format=%ae") == "work@example.org"


@pytest.mark.parametrize("way", ["home", "link", "include", "variable"])
def test_a_users_configuration_in_the_project_counts_for_nothing(
    root, home, tmp_path, monkeypatch, way
):
    """A model may have written it: think of a repository of dotfiles."""
    planted, marker = program(tmp_path, "planted")
    config = root / ".gitconfig"
    config.write_text(f'[user]\n\tname = Model\n[filter "x"]\n\tclean = {planted}\n')
    (root / ".gitattributes").write_text("*.txt filter=x\n")
    match way:
        case "home":
            monkeypatch.setenv("HOME", str(root))
        case "link":
            (home / ".gitconfig").unlink()
            (home / ".gitconfig").symlink_to(config)
        case "include":
            (home / ".gitconfig").write_text(f"[include]\n\tpath = {config}\n")
        case "variable":
            monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    (root / "a.txt").write_text("own\n")
    git = Git(root)
    git.run(["add", "--", "a.txt"])
    git.run([*AUTHOR, "commit", "-qm", "x"])
    assert not marker.exists()
    assert git.run(["config", "user.name"], check=False) == b""


@pytest.mark.parametrize(("no_system", "name"), [("0", b"System\n"), ("1", b"")])
def test_the_systems_configuration_counts_unless_the_user_turns_it_off(
    root, home, monkeypatch, no_system, name
):
    (home / ".gitconfig").write_text("")
    (home / "system").write_text("[user]\n\tname = System\n")
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", str(home / "system"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", no_system)
    assert Git(root).run(["config", "user.name"], check=False) == name


@pytest.mark.parametrize("tool", ["git-lfs", "gpg"])
def test_no_program_on_the_path_is_taken_from_the_project(root, home, tmp_path, monkeypatch, tool):
    planted, marker = program(tmp_path, tool)
    tools = root / ".venv/bin"
    tools.mkdir(parents=True)
    (tools / tool).symlink_to(planted)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    plain_git(root, "config", "--global", "filter.lfs.clean", "git-lfs clean -- %f || cat")
    plain_git(root, "config", "--global", "commit.gpgSign", "true")
    (root / ".gitattributes").write_text("*.txt filter=lfs\n")
    (root / "a.txt").write_text("own\n")
    git = Git(root)
    git.run(["add", "--", "a.txt"], check=False)
    git.run(["commit", "-qm", "x"], hooks=True, check=False)
    assert not marker.exists()


# --- reading --------------------------------------------------------------------------------------


def test_no_attribute_hides_a_change(root):
    (root / ".gitattributes").write_text("*.txt -diff\n")
    (root / "a.txt").write_text("own\n")
    assert b"+own" in Git(root).run(["diff", "HEAD"])


def test_what_the_repository_includes_is_not_read(root):
    os.mkfifo(root / ".git/pipe")
    plain_git(root, "config", "--file", ".git/config", "include.path", "pipe")
    assert Git(root).run(["show", "HEAD:a.txt"], timeout=30) == b"old\n"


def test_a_common_folder_that_was_planted_configures_nothing(root, tmp_path):
    planted, marker = program(tmp_path, "planted")
    shutil.copytree(root / ".git", tmp_path / "common")
    (root / ".git/commondir").write_text("../../common\n")
    plain_git(tmp_path, "config", "--file", "common/config", "filter.x.clean", planted)
    (tmp_path / "common/info").mkdir(exist_ok=True)
    (tmp_path / "common/info/attributes").write_text("* filter=x\n")
    (tmp_path / "common/hooks").mkdir(exist_ok=True)
    (tmp_path / "common/hooks/pre-commit").symlink_to(planted)
    (root / "a.txt").write_text("own\n")
    git = Git(root)
    assert b"+own" in git.run(["diff", "HEAD"])
    git.run(["commit", "-qam", "x"])
    assert not marker.exists()
    (root / "a.txt").write_text("two\n")
    plain_git(root, "diff", "HEAD")
    assert marker.exists()  # or nothing was shown above


def test_what_a_killed_process_left_is_removed(root):
    used, left = CommonFolder(root / ".git"), CommonFolder(root / ".git")
    place = left.path.parent
    copy, young = (place / f"{left.path.name}-{name}" for name in ("left", "young"))
    left.path.rename(copy)  # without its lock
    del left
    young.mkdir()  # its process may not have its lock yet
    old = time.time() - 3600
    for path in (used.path, copy):
        os.utime(path, (old, old))
    (place / "code-commit-git-link").unlink(missing_ok=True)
    fresh = CommonFolder(root / ".git")
    assert [path.exists() for path in (used.path, fresh.path, young, copy)] == [
        True,
        True,
        True,
        False,
    ]
    young.rmdir()
