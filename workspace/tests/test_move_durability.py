"""What a loss of power may not undo is on the disk before the next step begins."""

from __future__ import annotations

import ctypes
import os
from itertools import groupby
from pathlib import Path

import pytest

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.move import disk
from code_commit_workspace.move.apply import replace
from code_commit_workspace.move.disk import flush_file_system
from code_commit_workspace.move.survey import Write

JOURNAL = "agent-config/.code-commit/journal"
STAGING = f"{JOURNAL}/staging"


class Recorder:
    """Notes steps and what is flushed, by its path below the root; `*` stands for a whole file
    system.
    """

    def __init__(self, root: Path) -> None:
        self.root, self.home = root, root / "agent-config/.code-commit"
        self.seen: list[tuple[str, str]] = [("", "")]

    def step(self, name: str) -> None:
        self.seen.append((name, ""))

    def flushed(self, handle: int, mark: str = "") -> None:
        path = Path(f"/proc/self/fd/{handle}").readlink()
        self.seen.append((self.seen[-1][0], mark + os.path.relpath(path, self.root)))

    def after(self) -> dict[str, list[str]]:
        """Return what was flushed between each step and the next."""
        steps = groupby(self.seen, lambda each: each[0])
        return {
            name: paths
            for name, rows in steps
            if (paths := sorted(path for _, path in rows if path))
        }


@pytest.fixture
def recorder(tmp_path, monkeypatch):
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("only Linux names the files behind handles")
    recorder = Recorder(tmp_path)
    (tmp_path / "agent-config").mkdir()
    (tmp_path / "gone").mkdir()
    for name in ("a.txt", "gone/b.txt"):
        (tmp_path / name).write_text("old")
    monkeypatch.setattr(os, "fsync", recorder.flushed)
    monkeypatch.setattr(disk, "flush_file_system", lambda handle: recorder.flushed(handle, "*"))
    return recorder


CHANGES = [Write("a.txt", b"new"), Write("gone/b.txt", None), Write("made/c.txt", b"new")]


def test_each_step_waits_for_the_disk(recorder):
    with ProjectTree(recorder.root) as tree:
        replace(tree, recorder.home, CHANGES, step=recorder.step)
    staged = [f"{STAGING}/{name}" for name in ("new-0", "new-2", "old-0", "old-1", "plan")]
    assert [name for name, _ in groupby(recorder.seen, lambda each: each[0])] == [
        *(
            "",
            "begin",
            "stage a.txt",
            "stage gone/b.txt",
            "stage made/c.txt",
            "write the plan",
            "into force",
        ),
        *(
            "unlink gone/b.txt",
            "rmdir gone",
            "mkdir made",
            "rename a.txt",
            "rename made/c.txt",
            "flush",
            "commit",
            "prune",
        ),
    ]
    assert recorder.after() == {
        "write the plan": [STAGING, *staged],
        "into force": [JOURNAL],
        "flush": [".", "made"],
        "prune": [JOURNAL],
    }


@pytest.mark.parametrize(("count", "at_once"), [(5, False), (6, True)])
def test_many_files_are_flushed_at_once(recorder, count, at_once):
    # Of each file, its new content and the old one, and the plan.
    changes = [Write(f"{number}/x", b"new") for number in range(count * 3)]
    with ProjectTree(recorder.root) as tree:
        replace(tree, recorder.home, changes, step=recorder.step)
    steps = recorder.after()
    assert (steps["write the plan"] == [f"*{STAGING}"]) == at_once
    assert (len(steps["flush"]) == 1) == at_once


def test_so_does_each_step_of_a_rollback(recorder):
    def fail(name: str) -> None:
        if name == "commit":
            recorder.seen.clear()
            raise OSError("no")
        recorder.step(name)

    with ProjectTree(recorder.root) as tree, pytest.raises(NotReady, match="completed: no"):
        replace(tree, recorder.home, CHANGES, step=fail)
    assert (recorder.root / "gone/b.txt").read_text() == "old"
    assert recorder.after() == {"flush": [".", "gone"], "close the journal": [JOURNAL]}


def test_an_error_of_the_whole_disk_is_raised(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "sync", lambda: synced.append(True))
    with pytest.raises(OSError, match="Bad file descriptor"):
        flush_file_system(-1)
    with (tmp_path / "file").open("w") as file:
        flush_file_system(file.fileno())
        assert not synced
        monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: object())  # as on another system
        flush_file_system(file.fileno())
    assert synced
