"""Where git cannot work, the error says what and where; nothing is left behind."""

from __future__ import annotations

import gc
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from code_commit_workspace import Git, GitError, NotReady
from code_commit_workspace.git import NO_REPOSITORY
from code_commit_workspace.git.common_folder import CommonFolder


@pytest.fixture
def root(tmp_path, home, git_init):
    return git_init(tmp_path / "project")


def harm_config(root: Path) -> None:
    (root.parent / "home/.gitconfig").write_text("[user\n")


def harm_index(root: Path) -> None:
    (root / ".git/index").write_bytes(b"none")


def harm_logs(root: Path) -> None:
    (root / ".git/logs").touch()


def harm_file(root: Path) -> None:
    (root / ".git").rename(root / "git")
    (root / ".git").write_text("git\n")


def harm_pointer(root: Path) -> None:
    (root / ".git").rename(root / "git")
    (root / ".git").write_text("gitdir: elsewhere\n")


def harm_head(root: Path) -> None:
    (root / ".git/HEAD").write_text("nonsense\n")


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (harm_config, "`git config` failed: bad config line 1 in file .*gitconfig"),
        (harm_index, r"`git ls-files` failed: .*index"),
        (harm_logs, r"/project/\.git/logs cannot be created: File exists"),
        (harm_file, r"invalid gitfile format: .*/project/\.git"),
        (harm_pointer, r"^git does not work in .*: not a git repository: /.*/project/elsewhere$"),
        (harm_head, r"^git does not work in .*: not a git repository: /.*/project/\.git$"),
    ],
)
def test_what_is_broken_is_named(root, harm, told):
    harm(root)
    git = Git(root)
    with pytest.raises(NotReady, match=told) as error:
        git.run(["commit", "-q", "-m", "x"]) if harm is harm_logs else git.list_files()
    starts = error.value.message.startswith(f"git does not work in {root}: ")
    assert error.value.hint == ("run `git status` there to see why" if starts else "")


def test_a_listing_needs_a_repository(tmp_path, home):
    with pytest.raises(NotReady, match="is not in a git repository") as caught:
        Git(tmp_path).list_files()
    assert caught.value.hint == "run `git init` there"
    with pytest.raises(GitError, match=f"^not a git repository: {tmp_path}$") as caught:
        Git(tmp_path).layout()
    assert caught.value.hint == "run `git init` there"


def test_the_folder_of_git_is_no_project(root):
    with pytest.raises(
        NotReady, match=r"\.git is the git folder of a repository, not its work tree"
    ) as caught:
        Git(root / ".git").require_repository()
    assert caught.value.hint == "run `git status` there to see why"


def test_a_folder_that_is_missing_is_named(tmp_path, home):
    with pytest.raises(
        GitError, match="missing cannot be opened to find a repository: No such file or directory"
    ):
        Git(tmp_path / "missing").head()
    with pytest.raises(
        GitError, match=r"git could not be run in .*/missing: No such file or directory"
    ):
        Git(tmp_path / "missing").run(["version"], env=NO_REPOSITORY)


# --- the common folder ----------------------------------------------------------------------------

REMOVED = """
import os, sys
from pathlib import Path
from code_commit_workspace import STOP, Git
git = Git(Path(sys.argv[1]))
git.run(["status"])
print(git._opened().environ["GIT_COMMON_DIR"], flush=True)
if os.fork() == 0:
    STOP.end()
    os._exit(0)
os.wait()
assert os.path.exists(git._opened().environ["GIT_COMMON_DIR"]), "it is not the child's"
STOP.end()
os._exit(0)
"""


def test_an_exit_at_once_leaves_no_folder(root):
    completed = subprocess.run(
        [sys.executable, "-c", REMOVED, str(root)], capture_output=True, check=True
    )
    folder = Path(completed.stdout.decode().strip())
    assert folder.name.startswith("code-commit-git-")
    assert not folder.exists()


def test_a_folder_that_cannot_be_made_is_told(root, monkeypatch):
    def full(**_: object):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "mkdtemp", full)
    with pytest.raises(
        NotReady, match="cannot create a temporary folder for git: No space left on device"
    ) as caught:
        Git(root).head()
    assert caught.value.hint == "set TMPDIR to a folder with free space outside the project"


def test_a_configuration_that_cannot_be_written_is_told(root):
    folder = CommonFolder(root / ".git")
    folder.write_config("[core]\n")
    assert (folder.path / "config").read_text() == "[core]\n"
    (folder.path / "config").unlink()
    (folder.path / "config").mkdir()
    with pytest.raises(NotReady, match="cannot create a temporary folder for git: Is a directory"):
        folder.write_config("[core]\n")
    (folder.path / "config").rmdir()


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="the first choice is a folder of Linux")
@pytest.mark.parametrize(("real", "place"), [("/x/.git", "/dev/shm"), ("/dev/shm/.git", "{usual}")])
def test_a_build_cannot_write_to_the_folder(real, place, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = CommonFolder(Path(real))
    path = folder.path
    assert path.parent == Path(place.format(usual=tmp_path))
    names = {str(entry.relative_to(path)) for entry in path.rglob("*")}
    links = "HEAD info/exclude logs objects packed-refs refs reftable shallow worktrees"
    assert names == {"info", "info/attributes", *links.split()}
    assert {str((path / name).readlink()) for name in links.split()} == {
        f"{real}/{name}" for name in links.split()
    }
    del folder
    gc.collect()
    assert not path.exists()
