"""A path lies in a folder by its text alone."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_commit_workspace.files.path_text import within

paths = st.lists(st.sampled_from(["a", "ab", "b", ".", "", "é"]), max_size=4).map("/".join)


@given(paths, paths.map(lambda path: os.path.normpath(f"/{path}")))
def test_it_is_what_both_have_in_common(path, folder):
    folder = f"/{folder.lstrip('/')}"

    assert within(f"/{path}", folder) == (os.path.commonpath((f"/{path}", folder)) == folder)


@pytest.mark.parametrize(
    ("path", "folder", "inside"),
    [
        ("/a/b", "/a", True),
        ("/a", "/a", True),
        ("/ab", "/a", False),
        ("/a", "/", True),
        ("/a//b/./c", "/a/b/c", True),
        ("/a", "", False),
        ("", "/a", False),
    ],
)
def test_a_name_that_begins_alike_is_not_in_it(path, folder, inside):
    assert within(path, folder) is inside
