"""Small files of the project: read without trust in them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from code_commit_workspace.errors import NotReady
from code_commit_workspace.files.project_tree import ProjectTree, open_regular
from code_commit_workspace.files.small_file import read_in_project


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "project"
    (root / "folder").mkdir(parents=True)
    (root / "file").write_bytes(b"12345")
    (root / "link").symlink_to("file")
    (root / "linked").symlink_to("folder")
    (root / "folder/file").write_bytes(b"below")
    os.mkfifo(root / "pipe")
    return root


@pytest.mark.parametrize("name", ["folder", "pipe"])
def test_what_is_no_regular_file_is_closed_again(root, name):
    before = len(list(Path("/dev/fd").iterdir()))
    for _ in range(10):
        with pytest.raises(OSError, match="not a regular file"):
            open_regular(root / name)
    assert len(list(Path("/dev/fd").iterdir())) == before


def test_a_file_of_the_project_is_read(root):
    assert read_in_project(root, "file", limit=5) == b"12345"
    assert read_in_project(root, "folder/file", limit=5) == b"below"
    assert read_in_project(root, "missing", limit=5) is None
    assert read_in_project(root, "missing/file", limit=5) is None


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("link", "it is a link, or in a folder that is one"),
        ("linked/file", "it is a link, or in a folder that is one"),
        ("file/below", "it is a link, or in a folder that is one"),
        ("folder", "not a regular file"),
        ("pipe", "not a regular file"),
    ],
)
def test_anything_else_in_the_project_is_refused(root, path, reason):
    with pytest.raises(NotReady, match=f"^{path} cannot be read: {reason}") as caught:
        read_in_project(root, path, limit=5)
    link = "link" in reason
    assert caught.value.hint == (
        f"use a regular file; links below {root} are not followed" if link else ""
    )


def test_a_large_file_is_refused(root):
    with pytest.raises(NotReady, match=r"^file cannot be read: larger than 4 bytes"):
        read_in_project(root, "file", limit=4)


def test_many_files_are_read_at_once(root):
    handles = len(list(Path("/dev/fd").iterdir()))
    (root / "empty").touch()
    (root / "long").write_bytes(b"x" * 200_000)
    paths = [
        "empty",
        "file",
        "folder",
        "folder/file",
        "link",
        "linked/file",
        "long",
        "missing",
        "pipe",
        "z/missing",
    ]
    with ProjectTree(root) as tree:
        contents = dict(tree.contents(paths, 5))
        assert contents == {
            **dict.fromkeys(paths),
            "empty": b"",
            "file": b"12345",
            "folder/file": b"below",
        }
        assert list(contents) == paths
        assert dict(tree.contents(["long"], 200_000)) == {"long": b"x" * 200_000}
        assert dict(tree.contents(["file"], 4)) == {"file": None}
        assert (tree.read("long", 5), tree.read("file", 5), tree.read("missing", 5)) == (
            b"xxxxx",
            b"12345",
            None,
        )
        assert tree.read("long") == b"x" * 200_000
        assert (tree.read("long", 5, start=199_998), tree.read("file", start=2)) == (b"xx", b"345")
        assert [tree.size(path) for path in ("long", "file", "folder", "missing", "file/x")] == [
            200_000,
            5,
            0,
            0,
            0,
        ]
        with pytest.raises(OSError, match="not a regular file"):
            tree.read("folder")
    assert len(list(Path("/dev/fd").iterdir())) <= handles


def test_a_pipe_that_holds_something_and_a_device_are_no_contents(root):
    pipe = os.open(root / "pipe", os.O_RDWR | os.O_NONBLOCK)
    os.write(pipe, b"from a process")
    with ProjectTree(root) as tree, ProjectTree(root.__class__("/dev")) as devices:
        assert dict(tree.contents(["pipe"], 100)) == {"pipe": None}
        assert dict(devices.contents(["null", "tty", "zero"], 100)) == dict.fromkeys(
            ["null", "tty", "zero"]
        )
    os.close(pipe)


@pytest.mark.skipif(
    not os.path.exists("/proc/self/status"),  # noqa: PTH110
    reason="needs a file that seems to be empty",
)
def test_a_file_that_grows_while_it_is_read_is_read_to_its_end(root):
    with ProjectTree(root.__class__("/proc/self")) as tree:
        content = dict(tree.contents(["status"], 100_000))["status"]
        assert content.startswith(b"Name:")
        assert content.endswith(b"\n")
        assert dict(tree.contents(["status"], 100)) == {"status": None}


@pytest.mark.parametrize("path", ["", "/etc", "a//b", "a/../b", "./", "./."])
def test_a_tree_takes_plain_relative_paths(root, path):
    with ProjectTree(root) as tree, pytest.raises(ValueError, match="not a plain relative path"):
        tree.read(path)
