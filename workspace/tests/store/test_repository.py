"""The private repository of the store: whoever edited it meanwhile, and what it keeps."""

from __future__ import annotations

import errno
import os
import shutil
import zlib
from pathlib import Path

import pytest

from code_commit_workspace import Change, NotReady

STORE = "agent-config/.workspace/store.git"


def wrote(workspace, name, files):
    run = workspace.begin(name)
    run.apply([Change(path, content) for path, content in files.items()])
    return run


def stored(root: Path) -> bytes:
    """Return the content of all objects."""
    objects = root / STORE / "objects"
    return b"".join(zlib.decompress(path.read_bytes()) for path in objects.glob("??/*"))


def test_a_repository_that_was_edited_meanwhile_is_set_right(root, opened, tmp_path, plant):
    plant(root, {"a.txt": b"1\r\n"})
    with opened(root) as workspace:
        wrote(workspace, "run", {"a.txt": b"2\r\n"})
    evidence = tmp_path / "ran"
    private = root / STORE
    (private / "config").write_text(
        f'[core]\nfsmonitor = "touch {evidence}"\n[filter "x"]\nclean = touch {evidence}; cat\n'
    )
    (private / "info/attributes").write_text("* filter=x text\n")
    (private / "commondir").write_text("/tmp\n")
    (private / "index.lock").write_bytes(b"")
    (private / "objects/info/alternates").write_text("/nowhere\n")
    (private / "hooks").mkdir()
    (private / "hooks/post-index-change").write_text(f"#!/bin/sh\ntouch {evidence}\n")
    (private / "hooks/post-index-change").chmod(0o755)
    with opened(root) as workspace:
        plant(root, {"b.txt": b"\r\n"})
        workspace.store.look()
        assert workspace.store.undo(None).paths == ("a.txt",)
    assert (root / "a.txt").read_bytes() == b"1\r\n"
    assert not evidence.exists()


@pytest.mark.parametrize("name", ["", "info", "objects", "refs", "objects/info"])
def test_a_link_in_place_of_a_folder_is_refused(root, opened, tmp_path, name):
    with opened(root) as workspace:
        wrote(workspace, "run", {"a": b"1"})
    folder = root / STORE / name
    outside = folder.rename(tmp_path / "outside")
    folder.symlink_to(outside)
    before = sorted(outside.rglob("*"))
    with opened(root) as workspace:
        with pytest.raises(NotReady):
            workspace.store.look()
        with pytest.raises(NotReady):
            wrote(workspace, "two", {"a": b"2"})
    assert sorted(outside.rglob("*")) == before
    assert (root / "a").read_bytes() == b"1"


@pytest.mark.parametrize("harm", ["deleted", "emptied", "other bytes"])
def test_a_store_that_is_gone_or_damaged_is_an_error_and_changes_nothing(root, opened, plant, harm):
    plant(root, {"a": b"1", "b": b"1"})
    with opened(root) as workspace:
        wrote(workspace, "run", {"a": b"2", "b": None})
    if harm == "deleted":
        shutil.rmtree(root / STORE)
    for path in (root / STORE / "objects").glob("??/*"):
        path.chmod(0o644)
        path.write_bytes(b"" if harm == "emptied" else zlib.compress(b"blob 4\0evil"))
    with opened(root) as workspace:
        with pytest.raises(NotReady) as caught:
            workspace.store.undo(None)
        assert "objects are gone or damaged" in caught.value.message or harm == "emptied"
        assert ((root / "a").read_bytes(), (root / "b").exists()) == (b"2", False)
    if harm != "deleted":
        shutil.rmtree(root / STORE)
    with opened(root) as workspace:
        wrote(workspace, "two", {"a": b"3"})
        assert workspace.store.undo(None).paths == ("a",)
    assert (root / "a").read_bytes() == b"2"


def test_a_diff_of_files_that_are_gone_names_the_reason(root, opened, plant):
    plant(root, {"a": b"1"})
    with opened(root) as workspace:
        changes = wrote(workspace, "run", {"a": b"2"}).net()
        shutil.rmtree(root / STORE)
    with opened(root) as workspace:
        workspace.store.look()
        with pytest.raises(NotReady, match="the store is incomplete: 1 of its objects"):
            workspace.store.diffs(changes, most=1000)


@pytest.mark.parametrize("gone", [".", "HEAD", "objects"])
def test_a_store_that_a_build_deletes_is_named(root, workspace, plant, gone):
    plant(root, {"a": b"1"})
    run = wrote(workspace, "run", {"a": b"2"})
    path = root / STORE / gone
    path.unlink() if path.is_file() else shutil.rmtree(path)
    with pytest.raises(NotReady, match=r"store\.git was deleted while it was in use$"):
        run.note("process")
    assert (root / "a").read_bytes() == b"2"


def test_git_finds_nothing_wrong_with_what_is_stored(root, workspace, git, plant):
    plant(root, {"a": b"1", "d/e/b": b"1"})
    run = wrote(workspace, "run", {"a": b"2", "d/e/b": None, "n": b"", "m": b""})
    workspace.store.diffs(run.net(), most=9999)
    git(root / STORE, "fsck", "--strict", "--full", "--no-dangling")
    objects = (root / STORE / "objects").glob("??/*")
    assert {path.stat().st_mode & 0o777 for path in objects} == {0o444}
    assert not list((root / STORE).rglob("*.lock")) + list((root / STORE).rglob("tmp_*"))


def test_what_a_killed_run_left_of_an_object_is_no_obstacle_and_freed(root, workspace, plant):
    wrote(workspace, "one", {"a": b"1"})
    for number in range(256):
        folder = root / STORE / f"objects/{number:02x}"
        folder.mkdir(exist_ok=True)
        name = workspace.store._repository.objects.id_of(b"2")
        (folder / f"tmp_obj_{name[2:]}").write_bytes(b"half")
    wrote(workspace, "two", {"a": b"2"})
    assert workspace.store.undo(None).paths == ("a",)
    workspace.store.free()
    assert not list((root / STORE).rglob("tmp_obj_*"))


def test_what_no_log_needs_is_freed(root, workspace, plant):
    plant(root, {f"{number}.txt": b"old %d" % number for number in range(20)})
    plant(root, {"secret": b"password"})
    wrote(workspace, "one", {f"{number}.txt": b"one %d" % number for number in range(20)})
    (root / "secret").unlink()
    two = wrote(workspace, "two", {"0.txt": b"two", "gone.txt": b"x", "made": b"x"})
    with two.command():
        plant(root, {"gone.txt": None, "made": b"made"})
    before = workspace.store.size()
    workspace.store.forget(["one"])
    freed = workspace.store.free()
    assert freed > 1000
    assert workspace.store.size() == before - freed
    content = stored(root)
    assert b"password" not in content
    assert b"old 7" not in content
    assert workspace.store.undo(None).paths == ("0.txt", "made")
    assert (root / "0.txt").read_bytes() == b"one 0"
    assert workspace.store.redo().paths == ("0.txt", "made")
    start = two.log.entries[0].tree
    assert workspace.store.listing(start).keys() >= {"0.txt", "19.txt"}
    assert workspace.store.free() == 0
    assert workspace.store.look().changed >= {"0.txt"}


def test_what_is_deleted_but_was_seen_by_no_log_is_freed(root, workspace, plant):
    plant(root, {"secret": b"password"})
    workspace.store.look()
    (root / "secret").unlink()
    assert workspace.store.free() > 0
    assert b"password" not in stored(root)
    wrote(workspace, "run", {"a": b"1"})
    assert workspace.store.undo(None).paths == ("a",)


@pytest.mark.parametrize("lost", ["all", "the folder's", "a file's"])
def test_what_the_users_git_deleted_of_an_old_tree_is_no_obstacle(
    root, workspace, git, plant, lost
):
    plant(root, {"d/e/a": b"1", "b": b"1", "own": b"mine"})
    git(root, "add", "--all", ":!own")
    git(root, "commit", "--quiet", "-m", "first")
    run = wrote(workspace, "run", {"d/e/a": b"2"})
    match lost:
        case "all":
            shutil.rmtree(root / ".git/objects")
            (root / ".git/objects").mkdir()
        case "the folder's":
            tree = git(root, "rev-parse", "HEAD:d").decode().strip()
            (root / ".git/objects" / tree[:2] / tree[2:]).unlink()
        case _:
            blob = git(root, "rev-parse", "HEAD:b").decode().strip()
            (root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    workspace.store.free()
    content = stored(root)
    assert b"mine" in content, "the tree of the start needs it"
    assert workspace.store.undo(None).paths == ("d/e/a",)
    assert (root / "d/e/a").read_bytes() == b"1"
    assert run.log.entries[-1].by == "undo"


def test_an_old_version_that_is_gone_is_told(root, workspace, plant):
    plant(root, {"a": b"1"})
    wrote(workspace, "run", {"a": b"2"})
    name = workspace.store._repository.objects.id_of(b"1")
    (root / STORE / "objects" / name[:2] / name[2:]).unlink()
    with pytest.raises(NotReady, match="incomplete: 1 of its objects"):
        workspace.store.undo(None)
    assert (root / "a").read_bytes() == b"2"


def test_green_trees_are_remembered_but_not_incomplete_ones(root, opened, plant):
    with opened(root) as workspace:
        tree = workspace.store.look().tree
        assert not workspace.store.builds.has_any
        workspace.store.builds.add("0" * 40, passed=False)
        assert workspace.store.builds.has_any
        assert not workspace.store.builds.is_green(tree)
        workspace.store.builds.add(tree, passed=True)
    with opened(root) as workspace:
        assert workspace.store.builds.is_green(workspace.store.look().tree)
        (root / "huge").touch()
        os.truncate(root / "huge", 1024**4)
        assert workspace.store.look().tree == tree
        assert not workspace.store.builds.is_green(tree)
        workspace.store.builds.add(tree, passed=True)
    (root / "huge").unlink()
    with opened(root) as workspace:
        assert not workspace.store.builds.is_green(workspace.store.look().tree)


def test_a_full_disk_leaves_nothing_half_written(root, workspace, monkeypatch, plant):
    def full(_handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    plant(root, {"a": b"1"})
    run = workspace.begin("run")
    run.begin()
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(NotReady, match=r"cannot be used: .*No space left"):
            run.apply([Change("a", b"2")])
    assert (root / "a").read_bytes() == b"1"
    run.apply([Change("a", b"2")])
    assert workspace.store.undo(None).paths == ("a",)
