"""The project's text files are read as UTF-8, and an error says what to do."""

from __future__ import annotations

import pytest

from code_commit.plugin_api import NotReady, decode_text, read_text
from code_commit_workspace import ProjectTree

LINK = "it is a link"


@pytest.fixture
def root(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "linked").symlink_to("folder")
    (tmp_path / "folder/file").write_bytes(b"below")
    return tmp_path


def test_text_is_utf_8(root):
    (root / "text").write_bytes("Grüße".encode())
    (root / "latin").write_bytes("eins\nzwei\nGrüße".encode("latin-1"))
    with ProjectTree(root) as tree:
        assert read_text(tree, "text") == "Grüße"
        assert read_text(tree, "missing") is None
        with pytest.raises(NotReady, match=r"^latin is not UTF-8: line 3, byte 12$") as caught:
            read_text(tree, "latin")
        assert caught.value.hint == "convert it to UTF-8"
        with pytest.raises(NotReady, match=r"^x is not UTF-8: line 2, byte 1$"):
            decode_text(b"\n\xff\n", "x")
        for path in ("link", "linked/file", "folder"):
            with pytest.raises(NotReady, match=f"^{path} cannot be read: ") as caught:
                read_text(tree, path)
            assert caught.value.hint == "replace it with a regular file that you can read"
        with pytest.raises(NotReady, match=LINK):
            read_text(tree, "link")
    assert decode_text(b"plain", "x") == "plain"


def test_a_file_is_read_or_missing_or_cannot_be_read(tmp_path):
    (tmp_path / "text").write_text("é\n")
    (tmp_path / "folder").mkdir()
    for link in ("link", "linked"):
        (tmp_path / link).symlink_to("text" if link == "link" else "folder")
    with ProjectTree(tmp_path) as tree:
        assert read_text(tree, "text") == "é\n"
        assert read_text(tree, "missing") is None
        for path, reason in (
            ("link", "it is a link, or in a folder that is one"),
            ("folder", "not a regular file"),
        ):
            with pytest.raises(NotReady, match=f"^{path} cannot be read: {reason}") as caught:
                read_text(tree, path)
            assert caught.value.hint == "replace it with a regular file that you can read"
