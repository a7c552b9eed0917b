"""Files that are too large for a checkpoint: they are named, and nothing puts them back, deletes or
truncates them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.git import Git
from code_commit_workspace.records import Change, CheckpointLimits
from code_commit_workspace.store import Checkpoints, Writers
from code_commit_workspace.workspace import Workspace

RUN = "2025-01-02-03-04-05-committing-code"
MIB = 1024 * 1024
TERABYTE = 1024**4
PROCESS = Writers(process=True)


@pytest.fixture
def small(root: Path) -> Iterator[Checkpoints]:
    """Checkpoints of files up to 2 MiB, and of 66 MiB in all."""
    limits = CheckpointLimits(2 * MIB, 66 * MIB)
    with ProjectTree(root) as tree:
        yield Checkpoints(tree, Git(root), root / "agent-config/.code-commit", lambda: limits)


def grow(path: Path, size: int) -> None:
    path.touch()
    os.truncate(path, size)


def sizes(root: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in root.glob("*.bin")}


def test_a_sparse_terabyte_is_named_and_takes_neither_time_nor_space(root, small):
    grow(root / "huge.bin", TERABYTE)
    warnings: list[str] = []
    small.take(RUN, "start", warn=warnings.append)
    small.take(RUN, "end", warn=warnings.append)
    assert warnings == [
        "too large to save, so `undo` cannot bring it back: huge.bin (1,099,512 MB)"
    ]
    assert small.is_left_out("huge.bin")
    stored = sum(
        path.stat().st_size for path in (root / "agent-config").rglob("*") if path.is_file()
    )
    assert stored < MIB


@pytest.mark.parametrize(
    ("before", "after"),
    [(None, TERABYTE), (5, TERABYTE), (TERABYTE, 5), (TERABYTE, None), (TERABYTE, 2 * TERABYTE)],
)
def test_undo_says_what_it_leaves_and_neither_deletes_nor_truncates_it(root, small, before, after):
    (root / "a.txt").write_text("old")
    if before is not None:
        grow(root / "huge.bin", before)
    start = small.take(RUN, "start")
    (root / "a.txt").write_text("new")
    (root / "huge.bin").unlink(missing_ok=True)
    if after is not None:
        grow(root / "huge.bin", after)
    there = sizes(root)
    end = small.take(RUN, "end", writers=PROCESS)
    assert small.changes(start, end) == ("a.txt",)
    assert b"huge" not in small.diff(start, end) + small.patch(start, end) + small.written_diff(
        start, end
    )
    assert small.left_out(start, end) == ("huge.bin",)
    put_back = small.undo(RUN)
    assert (put_back.paths, put_back.left_out) == (("a.txt",), ("huge.bin",))
    assert (sizes(root), (root / "a.txt").read_text()) == (there, "old")
    small.redo()
    assert (sizes(root), (root / "a.txt").read_text()) == (there, "new")
    small.restore(start)
    assert (sizes(root), (root / "a.txt").read_text()) == (there, "old")


@pytest.mark.parametrize("reason", ["undo", "restore"])
def test_a_file_of_a_response_that_a_build_made_too_large_is_put_aside(root, small, reason):
    (root / "a.txt").write_text("old")
    small.take(RUN, "start", writers=Writers(process=False))
    (root / "a.txt").write_text("new")
    written = Writers({"a.txt": small.blob_of(b"new")}, process=False)
    small.take(RUN, "applied", writers=written)
    grow(root / "a.txt", TERABYTE)
    small.take(RUN, "built", writers=PROCESS)

    put_back = small.undo(RUN) if reason == "undo" else small.put_back(RUN, reason)

    assert ((root / "a.txt").read_text(), put_back.paths, put_back.left_out) == (
        "old",
        ("a.txt",),
        (),
    )
    ((path, place),) = put_back.moved
    assert (path, (root / place).stat().st_size) == ("a.txt", TERABYTE)


def test_a_file_that_a_person_made_too_large_after_the_run_stays(root, small):
    for name in ("a.txt", "b.txt"):
        (root / name).write_text("old")
    small.take(RUN, "start", writers=Writers(process=False))
    (root / "a.txt").write_text("new")
    small.take(RUN, "applied", writers=Writers({"a.txt": small.blob_of(b"new")}, process=False))
    grow(root / "b.txt", TERABYTE)
    assert small.undo(RUN).left_out == ()
    small.redo()
    grow(root / "a.txt", TERABYTE)

    with pytest.raises(NotReady, match="files were changed since the run"):
        small.undo(RUN)
    assert (root / "a.txt").stat().st_size == TERABYTE
    assert [path for path, _ in small.undo(RUN, force=True).moved] == ["a.txt"]
    assert (root / "a.txt").read_text() == "old"


def test_a_large_file_that_nobody_changed_is_not_mentioned(root, small):
    grow(root / "huge.bin", TERABYTE)
    small.take(RUN, "start")
    (root / "a.txt").write_text("new")
    small.take(RUN, "end", writers=PROCESS)
    assert small.undo(RUN).left_out == ()


def test_of_too_many_files_the_largest_are_left_out_and_git_keeps_its_own(root, small, git):
    for number in range(20):
        grow(root / f"tracked-{number}.bin", 2 * MIB)
    git(root, "add", ".")
    git(root, "commit", "--quiet", "-m", "first")
    for number in range(40):
        grow(root / f"new-{number}.bin", 2 * MIB if number < 10 else MIB)
    warnings: list[str] = []
    small.take(RUN, "start", warn=warnings.append)
    assert warnings == []  # 50 MiB that git does not have
    for number in range(40, 60):
        grow(root / f"new-{number}.bin", MIB)
    saved = small.listing(small.take(RUN, "end", warn=warnings.append)).keys()
    left_out = [path for path in sizes(root) if path not in saved]
    assert sorted(left_out) == ["new-0.bin", "new-1.bin"]
    assert warnings == [
        "too large to save, so `undo` cannot bring it back: new-0.bin (2 MB), new-1.bin (2 MB)"
    ]


def test_the_trees_of_incomplete_checkpoints_are_never_known_as_green(root, small):
    grow(root / "huge.bin", TERABYTE)
    tree = small.tree_of(small.take(RUN, "start"))
    small.note_green(tree)
    assert not small.is_green(tree)


def test_a_response_cannot_change_what_undo_could_not_bring_back(root: Path) -> None:
    grow(root / "huge.bin", TERABYTE)
    (root / "a.txt").write_text("old")
    with Workspace.open(root, writes=True, private_folder="agent-config") as workspace:
        changes = [Change("huge.bin", b"new"), Change("a.txt", b"new")]
        (refusal,) = workspace.check(changes)
        assert (refusal.path, refusal.rule, refusal.then) == ("huge.bin", "unsaved", "repair")
        (refusal,) = workspace.check([Change("huge.bin", None)])
        assert refusal.reason.startswith("It is too large to save")
        assert workspace.files() == (".gitignore", "a.txt", "huge.bin")


def test_a_file_that_grows_while_it_is_looked_at_is_saved_or_left_out(root, small, monkeypatch):
    """Between our look and that of git, a file may change: the checkpoint is taken all the same."""
    run: Callable[..., bytes] = Git.run

    def growing(self, args, **options):
        if "update-index" in args:
            with (root / "log.bin").open("ab") as file:
                file.write(b"more\n")
        return run(self, args, **options)

    (root / "log.bin").write_bytes(b"one\n")
    monkeypatch.setattr(Git, "run", growing)
    commit = small.take(RUN, "start")
    assert "log.bin" in small.listing(commit)
