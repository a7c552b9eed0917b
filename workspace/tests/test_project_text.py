"""The project's text files are read as UTF-8, and an error says what to do."""

from __future__ import annotations

import pytest

from code_commit_workspace import NotReady, decode_text


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b"\xff", "line 1, byte 0"),
        (b"\n\xff", "line 2, byte 1"),
        (b"\xc3\xa9\r\nb\xff\n", "line 2, byte 5"),
    ],
)
def test_what_is_not_utf_8_is_named_by_its_place(content, place):
    with pytest.raises(NotReady) as caught:
        decode_text(content, "query.txt")
    assert (caught.value.message, caught.value.hint) == (
        f"query.txt is not UTF-8: {place}",
        "convert it to UTF-8",
    )
