"""The private repository of checkpoints: what it stores, for any kind of project, and whoever
edited it meanwhile.
"""

import errno
import os
import shutil
import zlib

import pytest

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.store import snapshot, visible
from code_commit_workspace.store.repository import PrivateRepository

RUN = "2025-01-02-03-04-05-committing-code"


def test_a_repository_that_was_edited_meanwhile_is_set_right(
    root, checkpoints, tmp_path, of, plant
):
    plant(root, {"a.txt": b"1\r\n"})
    start = checkpoints.take(RUN, "start")
    evidence = tmp_path / "ran"
    private = root / "agent-config/.code-commit/checkpoint.git"
    (private / "config").write_text(
        f'[core]\nfsmonitor = "touch {evidence}"\n[filter "x"]\nclean = touch {evidence}; cat\n'
    )
    (private / "info/attributes").write_text("* filter=x text\n")
    (private / "commondir").write_text("/tmp\n")
    (private / "index.lock").write_bytes(b"")
    (private / "objects/info/alternates").write_text("/nowhere\n")
    with ProjectTree(root) as tree:
        plant(root, {"a.txt": b"2\r\n"})
        again = of(tree)
        again.take(RUN, "end")
        assert again.undo(RUN).paths == ("a.txt",)
    assert (root / "a.txt").read_bytes() == b"1\r\n"
    assert not evidence.exists()
    assert start


@pytest.mark.parametrize("name", ["", "info", "objects", "refs", "objects/info"])
def test_a_link_in_place_of_a_folder_is_refused(root, checkpoints, tmp_path, of, name):
    checkpoints.take(RUN, "start")
    folder = root / "agent-config/.code-commit/checkpoint.git" / name
    outside = folder.rename(tmp_path / "outside")
    folder.symlink_to(outside)
    before = sorted(outside.rglob("*"))
    with ProjectTree(root) as tree, pytest.raises(NotReady):
        of(tree).take(RUN, "end")
    assert sorted(outside.rglob("*")) == before


def test_refs_that_are_not_ours_are_left_out(root, checkpoints, git, plant):
    plant(root, {"a.txt": b"1"})
    start = checkpoints.take(RUN, "start")
    private = root / "agent-config/.code-commit/checkpoint.git"
    tree = git(private, "rev-parse", f"{start}^{{tree}}").decode().strip()
    foreign = git(private, "commit-tree", "-m", "a subject of many words", tree).decode().strip()
    for name, target in {"one/foreign": foreign, "two/tree": tree, f"{RUN}/deep/er": start}.items():
        git(private, "update-ref", f"refs/runs/{name}", target)

    assert checkpoints.runs() == [RUN]
    assert checkpoints.of_run(RUN) == [("start", start)]
    assert checkpoints.undo(RUN).paths == ()
    with pytest.raises(NotReady, match=f"the checkpoint {foreign} cannot be read: it is damaged"):
        checkpoints.restore(foreign)


def test_a_diff_shows_files_that_attributes_call_binary(root, checkpoints, plant):
    plant(root, {".gitattributes": b"*.py -diff\n*.js binary\n", "a.py": b"1\n", "a.js": b"1\n"})
    start = checkpoints.take(RUN, "start")
    plant(root, {"a.py": b"2\n", "a.js": b"2\n"})
    end = checkpoints.take(RUN, "end")

    assert checkpoints.diff(start, end).count(b"\n-1\n+2\n") == 2


def test_an_object_that_the_user_cleaned_up_is_taken_anew(root, checkpoints, git, plant):
    plant(root, {"a.txt": b"committed\n"})
    git(root, "add", "a.txt")
    lost = checkpoints.take("one", "start")
    for path in (root / ".git/objects").glob("??/*"):
        path.unlink()
    git(root, "read-tree", "--empty")
    plant(root, {"a.txt": b"2"})
    with pytest.raises(NotReady, match="incomplete: 1 of its objects") as caught:
        checkpoints.restore(lost)
    assert "restore the files yourself" in caught.value.hint
    plant(root, {"a.txt": b"committed\n"})
    start = checkpoints.take("two", "start")
    plant(root, {"a.txt": b"2"})
    assert checkpoints.restore(start) == ("a.txt",)
    assert (root / "a.txt").read_bytes() == b"committed\n"


def test_an_object_that_vanished_since_the_latest_checkpoint_is_stored(
    root, checkpoints, git, plant
):
    plant(root, {"a.txt": b"staged\n"})
    git(root, "add", "a.txt")
    checkpoints.take(RUN, "start")
    shutil.rmtree(root / ".git/objects")
    (root / ".git/objects").mkdir()
    git(root, "read-tree", "--empty")
    plant(root, {"b.txt": b"1"})
    end = checkpoints.take(RUN, "end")
    plant(root, {"a.txt": b"2", "b.txt": b"2"})
    assert checkpoints.restore(end) == ("a.txt", "b.txt")
    assert (root / "a.txt").read_bytes() == b"staged\n"


def test_runs_are_forgotten(checkpoints, root):
    for run in ("r1", "r2", "r3"):
        checkpoints.take(run, "start")
        checkpoints.take(run, "start")
    assert checkpoints.runs() == ["r1", "r2", "r3"]
    assert [label for label, _ in checkpoints.of_run("r1")] == ["start", "start-2"]
    checkpoints.forget(["r1"])
    assert checkpoints.runs() == ["r2", "r3"]
    checkpoints.forget(["r1"])
    assert checkpoints.runs() == ["r2", "r3"]
    checkpoints.take("r1", "start")
    assert [label for label, _ in checkpoints.of_run("r1")] == ["start"]
    checkpoints.forget(["r3", "unknown", "r2"])
    assert checkpoints.runs() == ["r1"]


def stored(root):
    """Return the content of all loose objects."""
    objects = root / "agent-config/.code-commit/checkpoint.git/objects"
    return b"".join(zlib.decompress(path.read_bytes()) for path in objects.glob("??/*"))


def test_contents_that_no_checkpoint_needs_are_freed(root, checkpoints, plant):
    for run in ("zero", "one"):
        plant(root, {f"{number}.txt": f"{run} {number}".encode() for number in range(20)})
        plant(root, {"secret.txt": b"password of " + run.encode()})
        checkpoints.take(run, "start")
    (root / "secret.txt").unlink()
    checkpoints.take("two", "start")
    checkpoints.forget(["zero", "one"])
    before = checkpoints.size()
    freed = checkpoints.free()
    assert freed > 1000
    assert checkpoints.size() == before - freed
    assert b"password" not in stored(root)
    plant(root, {"0.txt": b"three"})
    assert checkpoints.restore(checkpoints.of_run("two")[0][1]) == ("0.txt",)
    assert (root / "0.txt").read_bytes() == b"one 0"
    assert checkpoints.free() >= 0
    checkpoints.take("two", "end")
    assert checkpoints.runs_of([checkpoints.of_run("two")[1][1]]) == {"two"}


def test_a_deleted_file_that_git_still_lists_is_freed(root, checkpoints, plant):
    plant(root, {"secret.txt": b"password", "a.txt": b"1"})
    checkpoints.take("one", "start")
    (root / "secret.txt").unlink()
    checkpoints.forget(["one"])
    assert checkpoints.free() > 0
    assert b"password" not in stored(root)
    start = checkpoints.take("two", "start")
    plant(root, {"a.txt": b"2"})
    assert checkpoints.restore(start) == ("a.txt",)


def test_packed_contents_are_freed_too(root, checkpoints, plant, git):
    private = root / "agent-config/.code-commit/checkpoint.git"
    plant(root, {"a.txt": os.urandom(5000)})
    checkpoints.take("one", "start")
    plant(root, {"a.txt": b"2"})
    end = checkpoints.take("two", "start")
    git(private, "repack", "-a", "-d", "-q")
    checkpoints.forget(["one"])
    assert checkpoints.free() > 5000
    plant(root, {"a.txt": b"3"})
    assert checkpoints.restore(end) == ("a.txt",)


def test_a_full_disk_leaves_nothing_half_written(root, checkpoints, monkeypatch, plant):
    def full(_handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    checkpoints.take(RUN, "start")
    plant(root, {"a.txt": b"1"})
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(NotReady, match=r"cannot be used: .*No space left"):
            checkpoints.take(RUN, "end")
    private = root / "agent-config/.code-commit/checkpoint.git"
    assert not [*private.rglob("tmp_obj_*"), *private.rglob("*.lock")]
    checkpoints.take(RUN, "end")
    assert [label for label, _ in checkpoints.of_run(RUN)] == ["start", "end"]
    (private / "refs/runs/other").touch()
    with pytest.raises(NotReady, match=r"cannot be used: .*(File exists|Not a directory)"):
        checkpoints.take("other", "start")


def test_invalid_names_are_refused(checkpoints):
    for run, label in (
        ("../x", "start"),
        ("run", "a/b"),
        ("run", ""),
        ("run", "x.lock"),
        ("-x", "start"),
    ):
        with pytest.raises(ValueError, match="not a valid name for a checkpoint"):
            checkpoints.take(run, label)
    for commit in ("--output=x", "HEAD", ""):
        with pytest.raises(NotReady, match="is not a checkpoint"):
            checkpoints.restore(commit)


@pytest.mark.parametrize("kind", ["worktree", "sha256", "moved"])
def test_other_kinds_of_repositories(root, tmp_path, kind, git, of, plant):
    if kind == "sha256":
        shutil.rmtree(root / ".git")
        git(root, "init", "--quiet", "--object-format=sha256")
    plant(root, {"a": b"1"})
    git(root, "add", "-A")
    git(root, "commit", "--quiet", "-m", "first")
    if kind == "worktree":
        root = tmp_path / "a tree"
        git(tmp_path / "project", "worktree", "add", "--quiet", "-b", "other", str(root))
        (root / "agent-config").mkdir()
    with ProjectTree(root) as tree:
        of(tree).take(RUN, "start")
    if kind == "moved":
        root = root.rename(tmp_path / "elsewhere")
    plant(root, {"a": b"2"})
    with ProjectTree(root) as tree:
        of(tree).take(RUN, "end")
        assert of(tree).undo(RUN).paths == ("a",)
    assert (root / "a").read_bytes() == b"1"
    stored = [path for path in (root / "agent-config").rglob("objects/??/*") if path.is_file()]
    assert len(stored) == 5, (
        "three commits, the changed file and its tree: the rest is read from the user's objects"
    )


@pytest.fixture
def slow_clock(monkeypatch):
    """Make a tick of the file system's clock a day for the checkpoint; git sees the real times."""
    tick = 24 * 3600 * 10**9

    def statuses(tree, paths):
        return {path: Dated(status, tick) for path, status in visible.statuses(tree, paths).items()}

    monkeypatch.setattr(snapshot, "statuses", statuses)
    clock = PrivateRepository.clock
    monkeypatch.setattr(
        PrivateRepository, "clock", lambda repository: clock(repository) // tick * tick
    )


class Dated:
    """The status of a file, its times rounded down to a tick."""

    def __init__(self, status, tick):
        self._status = status
        self.st_mtime_ns = status.st_mtime_ns // tick * tick
        self.st_ctime_ns = status.st_ctime_ns // tick * tick

    def __getattr__(self, name):
        return getattr(self._status, name)


@pytest.mark.parametrize("by", ["deletion", "rule"])
def test_a_later_run_saves_no_file_that_vanished_since(root, checkpoints, of, git, plant, by):
    plant(root, {"a.txt": b"1", "d/b.txt": b"2"})
    checkpoints.take("one", "start")
    if by == "deletion":
        plant(root, {"d/b.txt": None, "c.txt": b"3"})
    else:
        plant(root, {".gitignore": b"/agent-config\nb.txt\n"})
    with ProjectTree(root) as tree:
        commit = of(tree).take("two", "start")
    assert set(checkpoints.listing(commit)) == {
        ".gitignore",
        "a.txt",
        *(["c.txt"] if by == "deletion" else []),
    }


@pytest.mark.usefixtures("slow_clock")
def test_a_change_within_one_tick_of_the_clock_is_not_missed(root, checkpoints, git, plant):
    plant(root, {"a.txt": b"10"})
    checkpoints.take(RUN, "a")
    plant(root, {"a.txt": b"11"})  # the same file, with the same length and time
    commit = checkpoints.take(RUN, "b")
    assert (
        git(root / "agent-config/.code-commit/checkpoint.git", "show", f"{commit}:a.txt") == b"11"
    )


def test_a_changed_mode_is_seen_after_a_look_that_found_nothing_new(root, checkpoints, plant):
    plant(root, {"a.sh": b"x"})
    first, second = checkpoints.take(RUN, "a"), checkpoints.take(RUN, "b")
    (root / "a.sh").chmod(0o755)
    third = checkpoints.take(RUN, "c")
    assert checkpoints.changes(first, second) == ()
    assert checkpoints.changes(second, third) == ("a.sh",)


def test_git_finds_nothing_wrong_with_what_is_stored(root, checkpoints, git, plant):
    plant(root, {"a.txt": b"x"})
    commit = checkpoints.take(RUN, "start")
    store = root / "agent-config/.code-commit/checkpoint.git"
    git(store, "fsck", "--strict", "--full")
    assert git(store, "rev-parse", f"refs/runs/{RUN}/start").decode().strip() == commit
    assert (store / "objects" / commit[:2] / commit[2:]).stat().st_mode & 0o777 == 0o444
    assert not list(store.rglob("*.lock")) + list(store.rglob("tmp_*"))


def test_what_a_killed_run_left_of_an_object_is_no_obstacle(root, checkpoints):
    checkpoints.take(RUN, "start")
    for number in range(256):
        folder = root / f"agent-config/.code-commit/checkpoint.git/objects/{number:02x}"
        folder.mkdir(exist_ok=True)
        (folder / "tmp_obj_commit").write_bytes(b"half")
    commit = checkpoints.take(RUN, "end")
    assert checkpoints.of_run(RUN)[1] == ("end", commit)
