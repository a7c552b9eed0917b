"""What a workflow that commits asks git first."""

from __future__ import annotations

import subprocess

import pytest

from code_commit_workspace import (
    Git,
    NextCommit,
    NotReady,
    StatusEntry,
)


@pytest.fixture
def root(tmp_path, home, copied):
    return copied(tmp_path / "project", started)


def started(root):
    root.mkdir()
    for name in ("kept", "changed", "staged", "removed"):
        (root / name).write_text("old\n")
    git = Git(root)
    git.init()
    git.commit_all("The start", author="maker")


@pytest.fixture
def git(root):
    """Git as a workflow has it."""
    return lambda *args, **options: Git(root).run(args, **options)


@pytest.fixture
def commit(git, root):
    return NextCommit(git, root, root, hooks=False)


def plain(root, *args):
    return subprocess.run(
        ["git", "-c", "user.name=A", "-c", "user.email=a@b", *args],
        cwd=root,
        check=False,
        capture_output=True,
    )


def test_every_file_that_differs_is_an_entry(root, commit):
    (root / "changed").write_text("new\n")
    (root / "staged").write_text("new\n")
    plain(root, "add", "staged")
    (root / "removed").unlink()
    (root / "new folder").mkdir()
    (root / "new folder/über").touch()
    entries = commit.status()
    assert entries == [
        StatusEntry(" ", "M", "changed"),
        StatusEntry(" ", "D", "removed"),
        StatusEntry("M", " ", "staged"),
        StatusEntry("?", "?", "new folder/über"),
    ]
    assert [(entry.staged, entry.unstaged, entry.unmerged) for entry in entries] == [
        (False, True, False),
        (False, True, False),
        (True, False, False),
        (False, True, False),
    ]
    assert list(map(str, entries)) == [
        " M changed",
        " D removed",
        "M  staged",
        "?? new folder/über",
    ]


@pytest.mark.parametrize("state", ["DD", "AU", "UD", "UA", "DU", "AA", "UU"])
def test_what_a_merge_left_is_neither_staged_nor_unstaged(state):
    entry = StatusEntry(state[0], state[1], "path")
    assert (entry.unmerged, entry.staged, entry.unstaged) == (True, False, False)
    assert StatusEntry("A", "D", "path").unmerged is False


@pytest.mark.parametrize("operation", ["merge", "cherry-pick", "revert", "rebase"])
def test_an_unfinished_operation_is_named(root, commit, operation):
    commit.require_settled()
    plain(root, "checkout", "-qb", "other")
    for name in ("mine", "theirs"):
        (root / "changed").write_text(f"{name}\n")
        plain(root, "commit", "-qam", name)
    plain(root, "checkout", "-q", "-")
    (root / "changed").write_text("here\n")
    plain(root, "commit", "-qam", "here")
    plain(root, operation, "other~1" if operation == "revert" else "other")
    with pytest.raises(NotReady) as caught:
        commit.require_settled()
    assert caught.value.message == f"a {operation} is in progress in {root}"
    assert caught.value.hint == "finish or abort it, then run again"
    plain(root, operation, "--abort")
    commit.require_settled()


def test_a_patch_series_that_stopped_is_a_rebase(root, commit):
    (root / ".git/rebase-apply").mkdir()
    with pytest.raises(NotReady, match="a rebase is in progress"):
        commit.require_settled()


@pytest.mark.parametrize("who", ["AUTHOR", "COMMITTER"])
def test_an_author_that_git_does_not_know_is_told(commit, monkeypatch, who):
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "A")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "a@b.example")
    assert commit.unknown_author() is None
    monkeypatch.setenv(f"GIT_{who}_NAME", "")
    assert "empty ident name" in commit.unknown_author()


def test_a_commit_skips_what_the_repository_has_and_says_so(root, git, commit):
    assert commit.skipped() == []
    for name in ("pre-commit", "commit-msg", "pre-push", "post-commit"):
        hook = root / ".git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\n")
        hook.chmod(0o755)
    (root / ".git/hooks/post-commit").chmod(0o644)
    plain(root, "config", "commit.gpgSign", "yes")
    hooks = ["the hook pre-commit", "the hook commit-msg"]
    assert commit.skipped() == ["the signature", *hooks]
    assert NextCommit(git, root, root, hooks=True).skipped() == []
    plain(root, "config", "--add", "commit.gpgSign", "false")
    assert commit.skipped() == hooks
    plain(root, "config", "core.hooksPath", "tools/hooks")
    assert commit.skipped() == ["the hooks in the project"]
    with pytest.raises(NotReady):
        NextCommit(git, root, root, hooks=True)


@pytest.mark.parametrize(("folder", "prefix"), [("", ""), ("über/low", "über/low/")])
def test_a_project_may_be_below_the_top_of_its_repository(root, git, folder, prefix):
    (root.parent / "link").symlink_to(root)
    commit = NextCommit(git, root.parent / "link" / folder, root, hooks=True)
    assert (commit.folder, commit.prefix) == (root / ".git", prefix)
