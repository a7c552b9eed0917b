"""Each error of a move is reported by its own words, and leaves the tree and the staging
folder as they were.
"""

from __future__ import annotations

import dataclasses
import errno
import os
from hashlib import sha256
from pathlib import Path

import pytest

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.project_tree import ProjectTree
from code_commit_workspace.move import parse_plan
from code_commit_workspace.move.apply import replace
from code_commit_workspace.move.plan import FileStep, Plan
from code_commit_workspace.move.recover import recover
from code_commit_workspace.move.survey import Write

PLAN = Plan("0123456789abcdef", (FileStep("d/f", "linked", None),), gone=(), made=("d/made",))


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "project"
    (root / "agent-config").mkdir(parents=True)
    (root / "d").mkdir()
    (root / "d/f").write_bytes(b"old")
    return root


def home(root: Path) -> Path:
    return root / "agent-config/.code-commit"


def fail(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def refuse(root: Path, match: str, *changes: Write) -> None:
    """Check that `changes` are an error, and that nothing of them stays."""
    with ProjectTree(root) as tree, pytest.raises(NotReady, match=match):
        replace(tree, home(root), changes or (Write("d/f", b"new"),))
    assert [(path.name, path.read_bytes()) for path in (root / "d").iterdir()] == [("f", b"old")]
    assert [
        path.name for path in home(root).rglob("*") if path.name.startswith(("new-", "old-"))
    ] == []


@pytest.mark.parametrize(
    ("paths", "said"),
    [
        (["d/f", "d/f"], "d/f occurs twice in one change set"),
        (["d/new", "d/new/below"], "d/new would be both a file and the folder of d/new/below"),
    ],
)
def test_a_change_set_that_contradicts_itself(root, paths, said):
    refuse(root, f"^{said}$", *(Write(path, b"new") for path in paths))


def test_a_file_whose_writing_fails(root, monkeypatch):
    write = os.write

    def full(handle, data):
        if bytes(data) == b"new":
            raise fail(errno.ENOSPC)
        return write(handle, data)

    monkeypatch.setattr(os, "write", full)
    refuse(root, "the change could not be staged in the journal: No space left on device")


def test_a_hard_link_that_fails_for_another_reason_than_its_system(root, monkeypatch):
    def link(*_, **__):
        raise fail(errno.EIO)

    monkeypatch.setattr(os, "link", link)
    refuse(root, "the change could not be staged in the journal: Input/output error")


@pytest.mark.parametrize("across_a_mount", [False, True])
def test_a_move_that_fails(root, monkeypatch, across_a_mount):
    rename = os.rename

    def moved(source, target, **folders):
        if source.startswith("new-"):
            raise fail(errno.EXDEV if across_a_mount else errno.EIO)
        if source.startswith(".code-commit-") and across_a_mount:
            raise fail(errno.EIO)
        rename(source, target, **folders)

    monkeypatch.setattr(os, "rename", moved)
    refuse(root, "d/f could not be written: Input/output error")


def left_behind(root: Path, plan: Plan, old: bytes = b"older") -> None:
    """Leave the journal of a killed run."""
    folder = home(root) / "journal/active"
    folder.mkdir(parents=True)
    (folder / "plan").write_bytes(plan.encode())
    (folder / "old-0").write_bytes(old)


def test_old_content_that_is_not_what_was_saved(root):
    step = dataclasses.replace(
        PLAN.files[0],
        old="copied",
        old_mode=0o644,
        old_digest=f"file {sha256(b'older').hexdigest()}",
    )
    left_behind(root, dataclasses.replace(PLAN, files=(step,)), old=b"evil")
    with (
        ProjectTree(root) as tree,
        pytest.raises(NotReady, match="the old content of d/f is damaged"),
    ):
        recover(tree, home(root))
    assert (root / "d/f").read_bytes() == b"old"


def test_a_plan_that_is_too_long(root, monkeypatch):
    left_behind(root, PLAN)
    monkeypatch.setattr(parse_plan, "_PLAN_LIMIT", len(PLAN.encode()) - 1)
    with ProjectTree(root) as tree, pytest.raises(NotReady, match="its plan is too long"):
        recover(tree, home(root))
    assert (root / "d/f").read_bytes() == b"old"


def test_a_folder_that_cannot_be_removed_again(root, monkeypatch):
    left_behind(root, PLAN)
    (root / "d/made").mkdir()
    rmdir = os.rmdir

    def refused(name, **folders):
        if name == "made":
            raise fail(errno.EBUSY)
        rmdir(name, **folders)

    monkeypatch.setattr(os, "rmdir", refused)
    with ProjectTree(root) as tree, pytest.raises(NotReady, match="Device or resource busy"):
        recover(tree, home(root))


def test_a_link_put_in_place_of_a_file_is_not_followed(root, tmp_path):
    outside = tmp_path / "outside"
    outside.write_bytes(b"canary")
    links = []

    def swap(what: str) -> None:
        if what == "stage d/f":
            (root / "d/f").unlink()
            (root / "d/f").symlink_to(outside)
        links.append(outside.stat().st_nlink)

    with ProjectTree(root) as tree, pytest.raises(NotReady, match="d/f could not be written"):
        replace(tree, home(root), [Write("d/f", b"new")], step=swap)
    assert (set(links), outside.read_bytes(), (root / "d/f").readlink()) == (
        {1},
        b"canary",
        outside,
    )
