"""Who may write in a folder decides what is at a path, if a place on the way to it is in that
folder.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from code_commit_workspace import replaceable_places

NAMES = ["project", "project/a", "project/b", "out", "out/a", "out/b"]
TARGETS = [*NAMES, "project/a/../../out", "out/a/b", "project/b/a", "missing", "out/missing"]


@example({"out/a": "out/a", "out/b": "project"}, "out/a/../b/file")
@given(
    st.dictionaries(st.sampled_from(NAMES[1:3] + NAMES[4:]), st.sampled_from(TARGETS), max_size=4),
    st.sampled_from(["out/a/file", "out/b/a/file", "out/file", "out/a/../b/file"]),
)
def test_a_path_without_such_a_place_stays_what_it_is_whatever_becomes_of_the_folder(links, name):
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder).resolve()
        for folder_name in ("project", "out"):
            (top / folder_name).mkdir()
        for link, target in links.items():
            (top / link).symlink_to(top / target)
        for folder_name in NAMES:
            if not os.path.lexists(top / folder_name):
                (top / folder_name).mkdir()
        path = top / name
        places = list(replaceable_places(path, top / "project"))
        # A loop takes up the links that Linux follows: the links after it are not followed.
        folders = [Path(os.path.realpath(place.parent)) for place in places]
        before = os.path.realpath(path)

        shutil.rmtree(top / "project")
        (top / "project").mkdir()

        assert places or os.path.realpath(path) == before
        assert places or not before.startswith(f"{top}/project/")
        assert all(folder.is_relative_to(top / "project") for folder in folders)


def test_the_folder_itself_and_what_is_beside_it_are_no_such_places(tmp_path):
    (tmp_path / "project/sub").mkdir(parents=True)

    assert list(replaceable_places(tmp_path / "project", tmp_path / "project")) == []
    assert list(replaceable_places(tmp_path / "project/../other/file", tmp_path / "project")) == []
    assert list(replaceable_places(tmp_path / "project/file", tmp_path / "missing")) == []
    places = list(replaceable_places(tmp_path / "project/sub/../../file", tmp_path / "project"))
    assert places == [tmp_path / "project/sub"]


def test_another_name_of_the_folder_counts(tmp_path):
    (tmp_path / "project").mkdir()
    (tmp_path / "name").symlink_to("project")

    assert list(replaceable_places(tmp_path / "project/file", tmp_path / "name"))
    assert list(replaceable_places(tmp_path / "name/file", tmp_path / "project"))


@pytest.mark.parametrize("path", ["loop/file", "x" * 300, "file/below", "a\0b"])
def test_a_path_that_cannot_be_opened_is_an_answer(tmp_path, monkeypatch, path):
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").touch()
    monkeypatch.chdir(tmp_path)

    assert list(replaceable_places(Path(path), tmp_path))
    assert not list(replaceable_places(Path(path), tmp_path / "loop"))
