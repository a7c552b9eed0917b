"""Folders are removed whole, however deep and whoever may enter them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from code_commit_workspace import remove_tree


def make_deep(top, levels):
    handle = os.open(top, os.O_RDONLY)
    for _ in range(levels):
        for name in ("d", "beside"):
            os.mkdir(name, dir_fd=handle)
        os.close(os.open("file", os.O_CREAT, dir_fd=handle))
        below = os.open("d", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = below
    os.close(handle)


@pytest.fixture
def top(tmp_path):
    top = tmp_path / "top"
    top.mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/kept").touch()
    (top / "link").symlink_to(tmp_path / "outside")
    return top


@pytest.fixture(params=["as Python does", "deeper than Python can"])
def depth(request, monkeypatch):
    def fail(*_args, **_options):
        raise RecursionError

    if "deeper" in request.param:
        monkeypatch.setattr(shutil, "rmtree", fail)


@pytest.mark.usefixtures("depth")
@pytest.mark.parametrize("levels", [0, 1, 5])
def test_all_of_it_is_removed_and_nothing_else(top, tmp_path, levels):
    make_deep(top, levels)
    before = len([*Path("/dev/fd").iterdir()])
    remove_tree(top)
    assert [entry.name for entry in tmp_path.iterdir()] == ["outside"]
    assert (tmp_path / "outside/kept").exists()
    assert len([*Path("/dev/fd").iterdir()]) == before


@pytest.mark.usefixtures("depth")
def test_a_folder_is_found_from_an_open_one(top, tmp_path):
    make_deep(top, 2)
    handle = os.open(tmp_path, os.O_RDONLY)
    remove_tree("top", dir_fd=handle)
    os.close(handle)
    assert not top.exists()


@pytest.mark.usefixtures("no_privileges")
@pytest.mark.parametrize("mode", [0, 0o400, 0o500])
@pytest.mark.parametrize("closed", [".", "closed", "closed/below", "closed/below/inner"])
def test_a_folder_that_its_owner_closed_is_removed(top, closed, mode):
    (top / "closed/below/inner").mkdir(parents=True)
    for folder in (".", "closed", "closed/below", "closed/below/inner"):
        (top / folder / "file").touch()
    (top / closed).chmod(mode)
    remove_tree(top)
    assert not top.exists()


@pytest.mark.usefixtures("no_privileges")
def test_a_link_that_takes_the_place_of_a_closed_folder_is_not_followed(top, tmp_path, monkeypatch):
    (top / "closed").mkdir(mode=0)
    (tmp_path / "outside").chmod(0o755)
    opened = os.open

    def swap(path, *args, **options):
        try:
            return opened(path, *args, **options)
        except PermissionError:
            (top / "closed").rename(top / "moved")
            (top / "closed").symlink_to(tmp_path / "outside")
            raise

    def fail(*_args, **_options):
        raise RecursionError

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", swap)
        patch.setattr(shutil, "rmtree", fail)
        with pytest.raises(OSError, match="Not a directory"):
            remove_tree(top)
    assert (tmp_path / "outside").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "outside/kept").exists()


@pytest.mark.usefixtures("no_privileges")
def test_a_folder_in_one_that_is_closed_stays(top):
    top.parent.chmod(0o500)
    try:
        with pytest.raises(PermissionError):
            remove_tree(top)
    finally:
        top.parent.chmod(0o700)


def test_what_is_no_folder_is_not_removed(top):
    with pytest.raises(OSError, match="Not a directory"):
        remove_tree(top / "link")
    assert (top / "link/kept").exists()
