"""Whoever only reads runs only those git commands that change nothing."""

from __future__ import annotations

import pytest

from code_commit_workspace import Git, NotReady
from code_commit_workspace.git.reading import reads


@pytest.fixture
def git(tmp_path, home, copied):
    copied(tmp_path, started)
    (tmp_path / "a.txt").write_text("new\n")
    return Git(tmp_path)


def started(folder):
    folder.mkdir()
    (folder / "a.txt").write_text("old\n")
    git = Git(folder)
    git.init()
    git.commit_all("The start", author="maker")


@pytest.mark.parametrize(
    "args",
    [
        ("status", "--porcelain"),
        ("diff", "--name-only"),
        ("log", "--format=%s", "-Oorder"),
        ("grep", "-e", "new"),
        ("grep", "-eNOT", "new"),
        ("log", "--", "--output=x"),
        ("log", "--end-of-options", "--", "--output=x"),
        ("grep", "-e", "new", "--", "-Ox"),
    ],
)
def test_commands_that_read_run(git, args):
    git.run(args, reads_only=True, check=False)
    assert not (git.root / "x").exists()


@pytest.mark.parametrize(
    ("args", "named"),
    [
        (("checkout", "a.txt"), "git checkout"),
        (("add", "--", "a.txt"), "git add"),
        (("-c", "x.y=z", "status"), "git -c"),
        ((), "git "),
        (("diff", "--output=x"), "git diff --output=x"),
        (("diff", "--outp", "x"), "git diff --outp"),
        (("diff", "--stat", "--output=x", "--output=y"), "git diff --output=x"),
        (("diff", "--output=x", "--", "a.txt"), "git diff --output=x"),
        (("diff", "-Oorder", "--output=x"), "git diff --output=x"),
        (("grep", "-Osh", "new"), "git grep -Osh"),
        (("grep", "-iOsh", "new"), "git grep -iOsh"),
        (("grep", "--open-files-in-pager=sh", "new"), "git grep --open-files-in-pager=sh"),
    ],
)
def test_commands_that_may_write_do_not_run(git, args, named):
    with pytest.raises(NotReady) as caught:
        git.run(args, reads_only=True)
    assert caught.value.message == f"a workflow that does not write ran `{named}`"
    assert caught.value.hint.startswith(
        "this is a bug in its plugin: only git commands that read are allowed"
    )
    assert (git.root / "a.txt").read_text() == "new\n"
    assert not (git.root / "x").exists()


COMMANDS_THAT_READ = """
    blame cat-file check-attr check-ignore cherry count-objects describe diff diff-files diff-index diff-tree for-each-ref
    grep log ls-files ls-tree merge-base merge-tree name-rev range-diff rev-list rev-parse shortlog show show-branch
    show-ref status var version whatchanged
"""
COMMANDS_THAT_MAY_WRITE = "add am apply branch commit config fetch gc init mv pull push reset rm stash switch tag worktree"


def test_the_command_decides():
    assert [command for command in COMMANDS_THAT_READ.split() if not reads(command)] == []
    assert [command for command in COMMANDS_THAT_MAY_WRITE.split() if reads(command)] == []


def test_a_writer_runs_any_command(git):
    git.run(["checkout", "a.txt"])
    assert (git.root / "a.txt").read_text() == "old\n"
