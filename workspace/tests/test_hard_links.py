"""Files that have another name outside of the project are replaced by copies."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from code_commit_workspace import NotReady
from code_commit_workspace.process.hard_links import linked_elsewhere, replace_by_copies


@pytest.fixture
def root(tmp_path):
    """A project with two names of `cache/a`, one of `cache/b`, and two of a file of its own."""
    root = tmp_path / "project"
    for name in ("cache/a", "cache/b", "project/own", "project/skipped/c"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("theirs")
        os.utime(tmp_path / name, ns=(10**18, 10**18))
    (root / "sub").mkdir()
    for name, target in {
        "a": "cache/a",
        "sub/a": "cache/a",
        "sub/b": "cache/b",
        "own2": "project/own",
    }.items():
        os.link(tmp_path / target, root / name)
    os.mkfifo(root / "pipe")
    for name in ("skipped/c", "pipe"):
        os.link(root / name, tmp_path / "cache" / Path(name).name)
    (tmp_path / "cache/a").chmod(0o751)
    (root / "link").symlink_to("a")
    return root


def linked(root: Path) -> list[list[str]]:
    links = linked_elsewhere(str(root), skip=[str(root / "skipped")])
    return sorted(sorted(os.path.relpath(path, root) for path in paths) for paths in links)


def test_copies_keep_what_the_files_were(root, tmp_path):
    assert linked(root) == [["a", "sub/a"], ["sub/b"]]
    own = (root / "own").stat().st_ino
    replace_by_copies(linked_elsewhere(str(root), skip=[str(root / "skipped")]))
    assert linked(root) == []
    copy, cached = (root / "a").stat(), (tmp_path / "cache/a").stat()
    assert copy.st_ino == (root / "sub/a").stat().st_ino != cached.st_ino
    assert (root / "own").stat().st_ino == own
    for name in ("a", "sub/a", "sub/b", "../cache/a"):
        assert (root / name).read_text() == "theirs"
    assert (copy.st_mtime_ns, stat.S_IMODE(copy.st_mode)) == (10**18, 0o751)
    assert sorted(os.listdir(root)) == ["a", "link", "own", "own2", "pipe", "skipped", "sub"]  # noqa: PTH208 - names
    assert sorted(os.listdir(root / "sub")) == ["a", "b"]  # noqa: PTH208 - names


def test_a_project_may_be_a_link_but_no_folder_in_it(root, tmp_path):
    (tmp_path / "linked").symlink_to(root)
    (root / "sub/cache").symlink_to(tmp_path / "cache")
    assert linked(tmp_path / "linked") == [["a", "sub/a"], ["sub/b"]]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_copies_keep_their_owner_as_far_as_permitted(root, tmp_path, request):
    os.chown(root / "sub/b", 12345, 23456)
    replace_by_copies([[str(root / "sub/b")]])
    status = (root / "sub/b").stat()
    assert (status.st_uid, status.st_gid, status.st_nlink) == (12345, 23456, 1)
    (tmp_path / "cache/d").touch(mode=0o604)
    os.link(tmp_path / "cache/d", root / "d")
    os.chown(root / "d", 12345, 23456)
    request.getfixturevalue("no_privileges")
    replace_by_copies([[str(root / "d")]])
    status = (root / "d").stat()
    assert (status.st_uid, status.st_nlink, stat.S_IMODE(status.st_mode)) == (0, 1, 0o604)


def test_what_was_replaced_or_removed_meanwhile_is_left_alone(root):
    (root / "sub/a").unlink()
    (root / "sub/a").write_text("new")
    inode = (root / "sub/a").stat().st_ino
    replace_by_copies(
        [[str(root / "gone")], [str(root / "sub/a")], [str(root / "a"), str(root / "gone")]]
    )
    assert (root / "sub/a").stat().st_ino == inode
    replace_by_copies([[str(root / "gone")], [str(root / "sub/a")], [str(root / "sub/b")]])
    assert linked(root) == [["a"]]


def test_what_cannot_be_replaced_is_named(root, request):
    (root / "sub").chmod(0o500)
    request.getfixturevalue("no_privileges")
    with pytest.raises(NotReady) as caught:
        replace_by_copies([[str(root / "sub/b")]])
    assert caught.value.message == (
        f"{root}/sub/b is hard-linked to a file outside the project, and cannot be copied: Permission denied"
    )
    assert caught.value.hint == "remove it, or pass --sandbox off"
    (root / "sub").chmod(0o700)
