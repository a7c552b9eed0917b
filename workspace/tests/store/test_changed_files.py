"""A look that starts from the latest one finds what a look at all files finds."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.git import Git
from code_commit_workspace.store import Checkpoints

Step = Callable[[Path, Callable[..., bytes]], object]
STEPS: dict[str, Step] = {
    "new files": lambda root, _git: [
        (root / name).write_text("1") for name in ("new", "sub/new", "b.o", "ü\n.txt")
    ],
    "the same size": lambda root, _git: (root / "sub/new").write_text("2"),
    "another size": lambda root, _git: (root / "a").write_text("longer"),
    "executable": lambda root, _git: (root / "a").chmod(0o755),
    "private": lambda root, _git: (root / "sub/new").chmod(0o600),
    "public": lambda root, _git: (root / "sub/new").chmod(0o644),
    "tracked": lambda root, git: git(root, "add", "new"),
    "deleted": lambda root, _git: [(root / name).unlink() for name in ("new", "sub/new")],
    "back again": lambda root, _git: [(root / name).write_text("3") for name in ("new", "sub/new")],
    "times set back": lambda root, _git: [
        (root / "a").write_text("LONGER"),
        os.utime(root / "a", (1, 1)),
    ],
    "ignored": lambda root, _git: (root / ".gitignore").write_text("/agent-config\nnew\n"),
    "no longer tracked": lambda root, git: git(root, "rm", "--cached", "--force", "--quiet", "new"),
    "excluded": lambda root, _git: (root / ".git/info/exclude").write_text("b.o\n"),
    "nothing ignored": lambda root, _git: (root / ".gitignore").write_text("/agent-config\n"),
    "a folder for a file": lambda root, _git: [(root / "a").unlink(), (root / "a").mkdir()],
    "a file in it": lambda root, _git: (root / "a/b").write_text("4"),
    "a link for a folder": lambda root, _git: [
        shutil.move(root / "sub", root / "bus"),
        (root / "sub").symlink_to("bus"),
    ],
    "a pipe": lambda root, _git: [(root / "a/b").unlink(), os.mkfifo(root / "a/b")],
    "a repository": lambda root, git: git(root, "init", "--quiet", "nested"),
    "files of it": lambda root, _git: (root / "nested/file").write_text("5"),
    "a commit": lambda root, git: [
        git(root, "add", "--all", ":!nested"),
        git(root, "commit", "--quiet", "-m", "all"),
    ],
    "nothing": lambda _root, _git: None,
}


@pytest.mark.slow
@pytest.mark.parametrize("runs", ["one run", "many runs"])
def test_each_change_is_found(root, git, of, runs):
    for name in ("a", "sub/c"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("0")
    git(root, "add", "a", "sub/c")
    with ProjectTree(root) as tree:
        checkpoints = of(tree)
        commits = [checkpoints.take("run", "start")]
        for number, (name, step) in enumerate(STEPS.items()):
            step(root, git)
            if runs == "many runs":
                checkpoints = of(tree)
            commits.append(checkpoints.take("run", "step"))
            fresh = root / f"agent-config/fresh-{number}"
            at_all = Checkpoints(tree, Git(root), fresh)
            all_files = at_all.take("run", "step")
            found = checkpoints.listing(commits[-1])
            assert found == at_all.listing(all_files), name
        bits_of = checkpoints.writes("run")
        changes = [checkpoints.changes(old, new) for old, new in pairwise(commits)]
    by_step = dict(zip(STEPS, changes, strict=True))
    assert by_step["times set back"] == ("a",)
    assert by_step["private"] == by_step["nothing"] == ()
    assert "sub/new" not in bits_of.rights, "its bits are as they were"


def test_git_gets_the_changed_files_alone(root, of, git, plant, monkeypatch):
    plant(root, {f"file{number}": b"1" for number in range(20)})
    git(root, "add", "--all")
    updated: list[bytes] = []
    run = Git.run

    def recording(self, args, **options):
        if "update-index" in args:
            updated.append(options["stdin"])
        return run(self, args, **options)

    with ProjectTree(root) as tree:
        of(tree).take("one", "start")
        monkeypatch.setattr(Git, "run", recording)
        checkpoints = of(tree)
        checkpoints.take("two", "start")
        assert updated == []
        plant(root, {"file7": b"22", "file8": None, "new": b"1"})
        end = checkpoints.take("two", "end")
        assert updated == [b"file8\0", b"file7\0new\0"]
        plant(root, {"file9": b"22", "file10": b"22"})
        applied = checkpoints.take("two", "applied", only=["file9"])
        assert checkpoints.changes(end, applied) == ("file9",)
        assert checkpoints.changes(applied, checkpoints.take("two", "end")) == ("file10",)


def test_bits_that_change_within_a_second_come_back(root, of, plant):
    plant(root, {"a": b"1", "b": b"1"})
    with ProjectTree(root) as tree:
        of(tree).take("one", "start")
        (root / "a").chmod(0o600)
        of(tree).take("one", "end")
        assert of(tree).undo("one").paths == ("a",)
    assert (root / "a").stat().st_mode & 0o777 == (root / "b").stat().st_mode & 0o777


def test_a_look_that_failed_does_not_count(root, of, plant):
    plant(root, {"a": b"1"})
    with ProjectTree(root) as tree:
        checkpoints = of(tree)
        start = checkpoints.take("one", "start")
        objects = root / "agent-config/.code-commit/checkpoint.git/objects"
        objects.rename(root / "elsewhere")
        plant(root, {"a": b"my work"})
        with pytest.raises(NotReady):
            checkpoints.take("one", "full")
        (root / "elsewhere").rename(objects)
        assert checkpoints.changes(start, checkpoints.take("one", "end")) == ("a",)


@pytest.mark.parametrize("lost", ["collected", "a new repository"])
def test_objects_that_git_deleted_are_saved_again(root, of, git, plant, lost):
    plant(root, {"staged": b"my work"})
    git(root, "add", "staged")
    with ProjectTree(root) as tree:
        of(tree).take("one", "start")
        if lost == "collected":
            git(root, "reset", "--quiet")
            git(root, "prune", "--expire=now")
        else:
            shutil.rmtree(root / ".git")
            git(root, "init", "--quiet")
        checkpoints = of(tree)
        start = checkpoints.take("two", "start")
        plant(root, {"staged": b"written over"})
        assert checkpoints.restore(start) == ("staged",)
    assert (root / "staged").read_bytes() == b"my work"


def test_changes_within_a_second_that_set_times_back_are_found(root, of, plant):
    with ProjectTree(root) as tree:
        checkpoints = of(tree)
        for content in (b"1", b"2", b"3", b"4", b"5"):
            plant(root, {"a": content})
            os.utime(root / "a", (1, 1))
            commit = checkpoints.take("one", "step")
            assert checkpoints.contents(commit, ["a"]) == {"a": content}


def test_a_new_file_of_a_response_that_git_ignores_later_is_left_out(root, of, git, plant):
    plant(root, {"tracked.txt": b"1"})
    git(root, "add", "tracked.txt")
    with ProjectTree(root) as tree:
        checkpoints = of(tree)
        checkpoints.take("one", "start")
        plant(root, {"new.txt": b"2", "tracked.txt": b"2"})
        checkpoints.take("one", "applied", only=["new.txt", "tracked.txt"])
        plant(root, {".gitignore": b"/agent-config\n*.txt\n"})
        end = checkpoints.take("one", "end")
    assert checkpoints.listing(end).keys() == {".gitignore", "tracked.txt"}


def test_a_broken_index_is_made_again(root, of, plant, git):
    with ProjectTree(root) as tree:
        checkpoints = of(tree)
        start = checkpoints.take("one", "start")
        (root / "agent-config/.code-commit/checkpoint.git/index").write_bytes(b"")
        plant(root, {"a": b"1"})
        git(root, "add", "a")
        assert checkpoints.changes(start, checkpoints.take("one", "end")) == ("a",)
