"""Small files of the user: read without trust in them."""

from __future__ import annotations

import os

import pytest

from code_commit.config.user_files import read_user_file
from code_commit.plugin_api import NotReady


@pytest.fixture
def root(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


def test_a_large_file_is_refused(root):
    with pytest.raises(NotReady, match=r"^file cannot be read: larger than 4 bytes"):
        read_user_file(root / "file", "file", limit=4)


def test_a_file_of_the_user_may_be_a_link(root):
    assert read_user_file(root / "link", "the key", limit=5) == b"12345"
    assert read_user_file(root / "missing", "the key", limit=5) is None


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("folder", "(is a directory|not a regular file)"),
        ("pipe", "not a regular file"),
        ("file/below", "not a directory"),
        ("nul\0", "no file can have this name"),
    ],
)
def test_what_is_no_file_of_the_user_is_refused(root, path, reason):
    with pytest.raises(NotReady, match=f"^the key cannot be read: {reason}"):
        read_user_file(root / path, "the key", limit=5)
