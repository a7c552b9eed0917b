"""Files that are too large to be kept: they are named, and nothing changes, deletes or truncates
them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from code_commit_workspace import Change, Git, StoreLimits, Workspace

MIB = 1024 * 1024
TERABYTE = 1024**4


@pytest.fixture
def small(root: Path, opened: Callable[..., Workspace]) -> Iterator[Workspace]:
    """A workspace that keeps files up to 2 MiB, and 66 MiB in all."""
    with opened(root, store_limits=lambda: StoreLimits(2 * MIB, 66 * MIB)) as workspace:
        yield workspace


def grow(path: Path, size: int) -> None:
    path.touch()
    os.truncate(path, size)


def sizes(root: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in root.glob("*.bin")}


def test_a_sparse_terabyte_is_named_and_takes_neither_time_nor_space(root, small):
    grow(root / "huge.bin", TERABYTE)
    warnings: list[str] = []
    for _ in range(2):
        look = small.store.look(warnings.append)
    assert warnings == [
        "too large to save, so `undo` cannot bring it back: huge.bin (1,099,512 MB)"
    ]
    assert look.changed == frozenset()
    assert "huge.bin" in small.store.left_out
    assert small.store.size() < MIB
    (root / "huge.bin").write_bytes(b"small")
    assert small.store.look().changed == {"huge.bin"}
    assert small.store.left_out == set()


@pytest.mark.parametrize(
    ("before", "after"),
    [(None, TERABYTE), (5, TERABYTE), (TERABYTE, 5), (TERABYTE, None), (TERABYTE, 2 * TERABYTE)],
)
def test_no_move_touches_it(root, small, before, after):
    (root / "a.txt").write_text("old")
    if before is not None:
        grow(root / "huge.bin", before)
    run = small.begin("run")
    run.apply([Change("a.txt", b"new")])
    with run.command():
        (root / "huge.bin").unlink(missing_ok=True)
        if after is not None:
            grow(root / "huge.bin", after)
    there = sizes(root)
    assert run.net().keys() >= {"a.txt"}
    if run.net().keys() == {"a.txt"}:
        assert small.store.undo(None).paths == ("a.txt",)
        assert (sizes(root), (root / "a.txt").read_text()) == (there, "old")
        small.store.redo()
        assert (sizes(root), (root / "a.txt").read_text()) == (there, "new")


def test_of_too_many_files_the_largest_are_left_out_and_git_keeps_its_own(root, small, git):
    for number in range(20):
        grow(root / f"tracked-{number}.bin", 2 * MIB)
    git(root, "add", ".")
    git(root, "commit", "--quiet", "-m", "first")
    for number in range(40):
        grow(root / f"new-{number}.bin", 2 * MIB if number < 10 else MIB)
    warnings: list[str] = []
    small.store.look(warnings.append)
    assert warnings == []  # 50 MiB that git does not have
    for number in range(67):
        grow(root / f"more-{number}.bin", MIB)
    saved = small.store.listing(small.store.look(warnings.append).tree).keys()
    left_out = [path for path in sizes(root) if path not in saved]
    assert left_out == [left_out[0]]
    assert warnings == [f"too large to save, so `undo` cannot bring it back: {left_out[0]} (1 MB)"]


def test_what_was_too_much_when_a_command_began_is_not_the_commands(root, small):
    """A look keeps files that the look before had left out."""
    for number in range(100):
        grow(root / f"new-{number:02}.bin", MIB)
    (root / "a.txt").write_text("old")
    run = small.begin("run")
    with run.command() as written:
        (root / "a.txt").write_text("new")
    assert written == ["a.txt"]
    assert small.store.undo(None).paths == ("a.txt",)
    assert len(sizes(root)) == 100


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


def test_a_file_that_grows_while_it_is_looked_at_is_kept(root, small, monkeypatch):
    """Between our look and that of git, a file may change."""
    run: Callable[..., bytes] = Git.run

    def growing(self, args, **options):
        if "update-index" in args:
            with (root / "log.bin").open("ab") as file:
                file.write(b"more\n")
        return run(self, args, **options)

    (root / "log.bin").write_bytes(b"one\n")
    monkeypatch.setattr(Git, "run", growing)
    assert "log.bin" in small.store.listing(small.store.look().tree)


def test_a_file_that_a_command_makes_too_large_is_not_the_commands(root, small, plant):
    plant(root, {"a": b"1"})
    run = small.begin("run")
    for size in (3 * MIB, 1):
        with run.command() as written:
            grow(root / "a", size)
        assert written == []
    assert run.net() == {}
