"""`undo` replaces whatever a build put in a file's place, and loses nothing of it."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from code_commit_workspace.errors import NotReady
from code_commit_workspace.store import Writers

RUN = "2025-01-02-03-04-05-committing-code"
PROCESS = Writers(process=True)


def pipe(path: Path) -> None:
    os.mkfifo(path)


def listening(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # an address is short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path.name)
    os.chdir(here)


def device(path: Path) -> None:
    try:
        os.mknod(path, stat.S_IFCHR | 0o644, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only root makes devices")


def dangling(path: Path) -> None:
    path.symlink_to("nowhere")


def loop(path: Path) -> None:
    path.symlink_to(path.name)


def empty(path: Path) -> None:
    path.mkdir()


def full(path: Path) -> None:
    (path / "x").mkdir(parents=True)
    (path / "x/seen.txt").write_text("seen")


def with_ignored(path: Path) -> None:
    full(path)
    (path / "x/hidden.o").write_text("hidden")


def with_pipe(path: Path) -> None:
    full(path)
    os.mkfifo(path / "x/pipe")


def repository(path: Path) -> None:
    (path / ".git/refs").mkdir(parents=True)
    (path / ".git/objects").mkdir()
    (path / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (path / "own.txt").write_text("own")


def closed(path: Path) -> None:
    with_ignored(path)
    (path / "x").chmod(0)
    path.chmod(0)


REMOVED = [dangling, loop, empty, full]  # the checkpoint has them
MOVED = [pipe, listening, device, with_ignored, with_pipe, repository, closed]


@pytest.mark.parametrize("plant", [*REMOVED, *MOVED])
def test_undo_puts_the_file_back(root, checkpoints, plant: Callable[[Path], None]):
    (root / "a.txt").write_text("old")
    checkpoints.take(RUN, "start")
    (root / "a.txt").unlink()
    plant(root / "a.txt")
    before = (root / "a.txt").lstat()
    checkpoints.take(RUN, "end", writers=PROCESS)
    put_back = checkpoints.undo(RUN)
    assert (root / "a.txt").read_text() == "old"
    assert "a.txt" in put_back.unclaimed
    if plant in MOVED:
        ((path, place),) = put_back.moved
        assert path == "a.txt"
        assert os.path.samestat((root / place).lstat(), before)
        checkpoints.forget([RUN])
        assert not (root / place).exists()
    else:
        assert put_back.moved == ()
        checkpoints.redo()
        assert os.path.lexists(root / "a.txt") == (plant is not empty)  # git knows no empty folder


@pytest.mark.parametrize("closed_folder", ["", "d"])
def test_a_folder_that_a_build_closed_is_written_again(
    root, checkpoints, closed_folder, plant, no_privileges
):
    plant(root, {"a.txt": b"old", "d/b.txt": b"old"})
    checkpoints.take(RUN, "start")
    plant(root, {"a.txt": b"new", "d/b.txt": b"new"})
    checkpoints.take(RUN, "end", writers=PROCESS)
    (root / closed_folder).chmod(0o555)
    checkpoints.undo(RUN)
    assert [(root / path).read_bytes() for path in ("a.txt", "d/b.txt")] == [b"old", b"old"]


@pytest.mark.parametrize("plant", [pipe, listening, dangling])
def test_a_folder_comes_back_from_under_what_replaced_it(root, checkpoints, plant):
    (root / "d/e").mkdir(parents=True)
    (root / "d/e/a.txt").write_text("old")
    checkpoints.take(RUN, "start")
    (root / "d/e/a.txt").unlink()
    (root / "d/e").rmdir()
    (root / "d").rmdir()
    plant(root / "d")
    checkpoints.take(RUN, "end", writers=PROCESS)
    checkpoints.put_back(RUN, "restore")
    assert (root / "d/e/a.txt").read_text() == "old"


def test_content_in_a_moved_folder_is_kept(root, checkpoints):
    (root / "a.txt").write_text("old")
    checkpoints.take(RUN, "start")
    (root / "a.txt").unlink()
    with_ignored(root / "a.txt")
    checkpoints.take(RUN, "end", writers=PROCESS)
    ((_path, place),) = checkpoints.undo(RUN).moved
    assert (root / place / "x/hidden.o").read_text() == "hidden"
    assert (root / place / "x/seen.txt").read_text() == "seen"


def test_what_was_moved_is_back_if_nothing_can_be_restored(root, checkpoints, monkeypatch):
    (root / "a.txt").write_text("old")
    checkpoints.take(RUN, "start")
    (root / "a.txt").unlink()
    os.mkfifo(root / "a.txt")
    checkpoints.take(RUN, "end", writers=PROCESS)

    def full_disk(*_args: object, **_options: object) -> None:
        raise NotReady("the disk is full")

    monkeypatch.setattr("code_commit_workspace.store.restore.replace", full_disk)
    with pytest.raises(NotReady, match="the disk is full"):
        checkpoints.undo(RUN)
    assert stat.S_ISFIFO((root / "a.txt").lstat().st_mode)


def test_an_ignored_file_at_the_path_is_somebodys_and_stays(root, checkpoints, plant):
    plant(root, {"x.txt": b"old"})
    checkpoints.take(RUN, "start")
    plant(root, {"x.txt": None})
    checkpoints.take(RUN, "end", writers=PROCESS)
    (root / ".gitignore").write_text("/agent-config\nx.txt\n")
    plant(root, {"x.txt": b"own"})
    checkpoints.undo(RUN)
    assert (root / "x.txt").read_bytes() == b"own"


@pytest.mark.parametrize("there", ["d", "d/e/a.txt/own.txt"])
def test_what_a_person_put_there_stays(root, checkpoints, plant, there):
    plant(root, {"d/e/a.txt": b"old", "b.txt": b"old"})
    checkpoints.take(RUN, "start")
    plant(root, {"d/e/a.txt": None, "b.txt": b"new"})
    (root / "d/e").rmdir()
    (root / "d").rmdir()
    checkpoints.take(
        RUN,
        "end",
        writers=Writers({"d/e/a.txt": None, "b.txt": checkpoints.blob_of(b"new")}, process=False),
    )
    plant(root, {there: b"own", f"{there}.o": b"ignored"})
    with pytest.raises(NotReady, match="cannot be changed"):
        checkpoints.undo(RUN)
    checkpoints.take(RUN, "edited", writers=Writers(process=False))
    put_back = checkpoints.put_back(RUN, "restore")
    assert (put_back.paths, put_back.edited, put_back.moved) == (("b.txt",), ("d/e/a.txt",), ())
    assert (root / there).read_bytes() == b"own"
