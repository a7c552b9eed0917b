"""A workspace that opens, for one writer or many readers, and closes."""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from code_commit_workspace import (
    Change,
    NotReady,
    SandboxSettings,
    Workspace,
)

OFF = SandboxSettings(mode="off")

# Applies a change to `a` and `b` in the project at argv[1], and is killed when `a` is new and `b`
# still old.
KILLED = """
import os, sys
from pathlib import Path
from code_commit_workspace import Workspace
from code_commit_workspace.move.apply import replace
from code_commit_workspace.move.survey import Write

def step(name):
    if name == "rename b":
        os.kill(os.getpid(), 9)

with Workspace.open(Path(sys.argv[1]), writes=True, private_folder="agent-config") as workspace:
    writes = [Write("a", b"new"), Write("b", b"new")]
    replace(workspace.project, workspace.state_folder, writes, step=step)
"""


@pytest.fixture
def root(small_project):
    return small_project


def kill_while_applying(root):
    completed = subprocess.run([sys.executable, "-c", KILLED, str(root)], check=False)
    assert completed.returncode == -9
    assert ((root / "a").read_text(), (root / "b").read_text()) == ("new", "old")


def held_by_another(root):
    """A process that holds the lock until its stdin is closed."""
    code = (
        "import sys; from pathlib import Path; from code_commit_workspace import Workspace\n"
        "with Workspace.open(Path(sys.argv[1]), writes=True, private_folder='agent-config') as workspace:\n"
        "    workspace.name_run('the-other'); print('held', flush=True); sys.stdin.read()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "held\n"
    return process


@pytest.mark.parametrize("writes", [True, False])
def test_whoever_opens_it_finds_the_project_whole(root, writes):
    kill_while_applying(root)
    with Workspace.open(root, writes=writes, private_folder="agent-config") as workspace:
        assert "interrupted" in workspace.recovered
        assert (workspace.tree.read("a"), workspace.tree.read("b")) == (b"old", b"old")
    with Workspace.open(root, writes=writes, private_folder="agent-config") as workspace:
        assert workspace.recovered is None


def test_nobody_reads_half_a_change_of_a_run_that_goes_on(root):
    with held_by_another(root) as holder:
        with Workspace.open(root, writes=False, private_folder="agent-config") as workspace:
            assert workspace.tree.read("a") == b"old"
        journal = root / "agent-config/.workspace/journal/active"
        journal.mkdir(parents=True)
        with pytest.raises(NotReady, match=f"process {holder.pid}, run the-other"):
            Workspace.open(root, writes=False, private_folder="agent-config")
        journal.rmdir()
        holder.stdin.close()


def test_a_reader_holds_no_lock_and_changes_nothing(root):
    with (
        Workspace.open(root, writes=False, private_folder="agent-config") as reader,
        Workspace.open(root, writes=True, private_folder="agent-config"),
    ):
        with pytest.raises(NotReady, match="reading only"):
            reader.begin("run")
        with pytest.raises(NotReady, match="reading only"):
            _ = reader.store
    assert (root / "a").read_text() == "old"


def test_two_writers_are_one_too_many(root):
    with (
        Workspace.open(root, writes=True, private_folder="agent-config"),
        pytest.raises(NotReady, match="another run is using this project"),
    ):
        Workspace.open(root, writes=True, private_folder="agent-config")
    with Workspace.open(root, writes=True, private_folder="agent-config"):
        pass  # closed, it gives the lock back


def test_nobody_stops_a_writer_by_locking_what_anybody_can_read(small_project):
    readable = (small_project, small_project / ".git", small_project / ".gitignore")
    with contextlib.ExitStack() as stack:
        for path in readable:
            handle = os.open(path, os.O_RDONLY)
            stack.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX)
        with Workspace.open(small_project, writes=True, private_folder="agent-config"):
            pass


def test_without_a_repository(tmp_path):
    (tmp_path / ".gitignore").write_text("*.log\n")
    for repository in ("required", "existing"):
        with pytest.raises(NotReady, match="not in a git repository"):
            Workspace.open(
                tmp_path, writes=True, private_folder="agent-config", repository=repository
            )
    assert not (tmp_path / "agent-config").exists()
    with Workspace.open(
        tmp_path, writes=False, private_folder="agent-config", repository="optional"
    ) as workspace:
        assert workspace.tree.read(".gitignore") == b"*.log\n"
    for repository in ("private", "existing"):
        with Workspace.open(
            tmp_path, writes=True, private_folder="agent-config", repository=repository
        ) as workspace:
            workspace.apply([Change("a.txt", b"new")], run=workspace.begin("run"))
            assert workspace.check([Change("a.log", b"")])[0].rule == "ignored"
            assert workspace.store.undo(None).paths == ("a.txt",)
    assert not (tmp_path / "a.txt").exists()


def test_a_program_may_have_its_own_names(root, tmp_path):
    (root / ".gitignore").write_text("/.tool\n")
    (root / "make.sh").write_text("test ! -e .tool/key && echo made >> make.sh\n")
    own = {"private_folder": ".tool", "state_folder": ".tool/state", "build_script": "make.sh"}
    with Workspace.open(root, writes=True, sandbox=OFF, **own) as workspace:
        assert workspace.state("x") == root / ".tool/state/state/x"
        assert workspace.check([Change("agent-config", b"")]) == ()
        assert workspace.run_build(log=tmp_path / "log", timeout=60).tampered == ("make.sh",)
        (root / ".gitignore").write_text("")
        files = workspace.store.listing(workspace.store.look().tree)
        assert not [path for path in files if path.startswith(".tool")]


@pytest.mark.parametrize(
    ("private", "state"),
    [
        *(
            (".tool", state)
            for state in (
                "elsewhere",
                ".tool",
                ".tool/",
                ".tool/a/b",
                ".tool/..",
                ".tool/.",
                "other/a",
            )
        ),
        *(("a/b", "a/b/c"), (".", "./a"), ("..", "../a")),
        *(("", "/a"), ("", None), (".git", None), (".GIT", ".GIT/a")),
    ],
)
def test_the_state_folder_lies_directly_in_the_private_one(root, private, state):
    with pytest.raises(ValueError, match="is not a folder directly in"):
        Workspace.open(root, writes=True, private_folder=private, state_folder=state)
    assert sorted(os.listdir(root)) == [".git", ".gitignore", "a", "b", "build.sh"]  # noqa: PTH208 - names


@pytest.mark.parametrize(
    ("limit", "enough"), [(63, False), (64, True), (resource.RLIM_INFINITY, True)]
)
def test_a_run_needs_enough_open_files(root, monkeypatch, limit, enough):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, limit))
    if enough:
        Workspace.open(root, writes=True, private_folder="agent-config").close()
    else:
        with pytest.raises(
            NotReady, match="a process may open only 63 files here, too few to run"
        ) as caught:
            Workspace.open(root, writes=True, private_folder="agent-config")
        assert caught.value.hint == "raise it: ulimit -n 256"


def test_a_folder_that_is_missing_cannot_be_opened(tmp_path):
    with pytest.raises(NotReady, match="missing cannot be opened: No such file or directory"):
        Workspace.open(tmp_path / "missing", writes=True, private_folder="agent-config")
    (tmp_path / "file").touch()
    with pytest.raises(NotReady, match="file cannot be opened: Not a directory"):
        Workspace.open(tmp_path / "file", writes=True, private_folder="agent-config")


def test_state_that_cannot_be_kept_is_named(root):
    with Workspace.open(root, writes=True, private_folder="agent-config") as workspace:
        assert workspace.state("x").stat().st_mode & 0o777 == 0o700
        assert workspace.state("x").is_dir()
        (workspace.state_folder / "state/file").touch()
        with pytest.raises(NotReady, match=r"cannot make .*/state/file: Not a directory"):
            workspace.state("file")


def test_state_is_not_written_through_a_link(root, tmp_path):
    with Workspace.open(root, writes=True, private_folder="agent-config") as workspace:
        workspace.state_folder.mkdir(exist_ok=True)
        (workspace.state_folder / "state").symlink_to(tmp_path)
        with pytest.raises(NotReady, match=r"cannot make .*/state/x: Not a directory"):
            workspace.state("x")
    assert not (tmp_path / "x").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux names the files behind handles")
@pytest.mark.parametrize("writes", [True, False])
def test_a_closed_workspace_leaves_no_handle_open(root, writes):
    with Workspace.open(root, writes=writes, private_folder="agent-config") as workspace:
        workspace.tree.read("a")
        workspace.check([Change("a", b"new")])
        before = handles_below(root)
        assert before
        if writes:
            with pytest.raises(NotReady):
                Workspace.open(root, writes=True, private_folder="agent-config")
        assert handles_below(root) == before

    assert handles_below(root) == []


def handles_below(root):
    targets = []
    for handle in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the handle on this folder itself
            targets.append(str(handle.readlink()))
    return [target for target in targets if target.startswith(str(root))]
