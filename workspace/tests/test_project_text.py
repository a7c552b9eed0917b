"""The project's text files are read as UTF-8, and an error says what to do."""

from __future__ import annotations

import pytest

from code_commit_workspace import NotReady, decode_text, read_text
from code_commit_workspace.files.project_tree import ProjectTree


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b"\xff", "line 1, byte 0"),
        (b"\n\xff", "line 2, byte 1"),
        (b"\xc3\xa9\r\nb\xff\n", "line 2, byte 5"),
    ],
)
def test_what_is_not_utf_8_is_named_by_its_place(content, place):
    with pytest.raises(NotReady) as told:
        decode_text(content, "query.txt")
    assert (told.value.message, told.value.hint) == (
        f"query.txt is not UTF-8: {place}",
        "convert it to UTF-8",
    )


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
            with pytest.raises(NotReady, match=f"^{path} cannot be read: {reason}") as told:
                read_text(tree, path)
            assert told.value.hint == "replace it with a regular file that you can read"
