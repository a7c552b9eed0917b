"""A file is replaced as a whole, whatever somebody planted in its place."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from code_commit_workspace import replace_file


def a_link(place: Path) -> None:
    place.symlink_to(place.parent / "elsewhere")


def a_pipe(place: Path) -> None:
    os.mkfifo(place)


def a_readable_file(place: Path) -> None:
    place.write_text("old")
    place.chmod(0o644)


@pytest.mark.parametrize("sync", [False, True])
@pytest.mark.parametrize("plant", [a_link, a_pipe, a_readable_file, lambda place: None])
@pytest.mark.parametrize("name", ["state.json", ".state.json.new"])
def test_the_file_is_replaced(
    tmp_path: Path, name: str, plant: Callable[[Path], None], sync: bool
) -> None:
    plant(tmp_path / name)

    replace_file(tmp_path / "state.json", b"new", sync=sync)

    (file,) = tmp_path.iterdir()
    assert (file.name, file.read_bytes(), file.lstat().st_mode & 0o777) == (
        "state.json",
        b"new",
        0o600,
    )


def test_a_folder_in_its_place_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "state.json").mkdir()

    with pytest.raises(OSError, match=r"state\.json"):
        replace_file(tmp_path / "state.json", b"new")
