"""The folder of a run's output: its name, and why it cannot be made."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

import pytest

from code_commit.run_folder.output_folder import OutputFolder, counted, output_folders
from code_commit_workspace import NotReady


def test_a_taken_name_gets_a_number(tmp_path):
    folders = [OutputFolder.make(tmp_path / "logs", "run", at=0) for _ in range(3)]
    start = time.strftime("%Y-%m-%d-%H-%M-%S", time.localtime(0))
    assert [folder.path.name for folder in folders] == [
        f"{start}-run",
        f"{start}-run-2",
        f"{start}-run-3",
    ]
    for folder in folders:
        folder.close()


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(NotReady, match=r"cannot write .*/logs: File name too long") as raised:
        OutputFolder.make(tmp_path / ("n" * 300) / "logs", "run", at=0)
    assert raised.value.hint == "make it writable, or free some space there"


def test_folders_are_listed_by_age(tmp_path):
    folders = [
        OutputFolder.make(tmp_path / "logs", name, at=at)
        for at, name in ((60, "a"), *[(0, "b")] * 10, (0, "c"))
    ]
    latest, *oldest, older = [folder.path for folder in folders]
    (tmp_path / "logs/notes").mkdir()
    assert output_folders(tmp_path / "logs") == [oldest[0], older, *oldest[1:], latest]
    (tmp_path / "link").symlink_to(tmp_path / "logs")
    assert output_folders(tmp_path / "link") == output_folders(tmp_path / "missing") == []
    for folder in folders:
        folder.close()


@pytest.fixture
def folder(tmp_path):
    folder = OutputFolder.make(tmp_path / "logs", "run", at=0)
    yield folder
    folder.close()


def test_git_and_other_users_see_nothing_of_it(tmp_path, folder):
    assert (tmp_path / "logs/.gitignore").read_text() == "*\n"
    assert (tmp_path / "logs/.gitignore").stat().st_mode & 0o111 == 0
    assert folder.path.stat().st_mode & 0o777 == 0o700
    folder.write("a", b"1")
    folder.append("b", b"1", create=True)
    assert {file.stat().st_mode & 0o777 for file in folder.path.iterdir()} == {0o600}
    (tmp_path / "logs/.gitignore").write_text("mine")
    OutputFolder.make(tmp_path / "logs", "other", at=0).close()
    assert (tmp_path / "logs/.gitignore").read_text() == "mine"


@pytest.mark.parametrize("umask", [0, 0o022, 0o077])
def test_a_new_folder_is_private_and_an_old_one_keeps_its_mode(tmp_path, umask):
    (tmp_path / "old").mkdir()
    (tmp_path / "old").chmod(0o2775)
    before = os.umask(umask)
    try:
        for above in ("new", "old"):
            OutputFolder.make(tmp_path / above, "run", at=0).close()
    finally:
        os.umask(before)
    assert [stat.S_IMODE((tmp_path / above).stat().st_mode) for above in ("new", "old")] == [
        0o700,
        0o2775,
    ]


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda path: path.symlink_to("x"), "is a link"),
        (lambda path: path.touch(), "is not a folder"),
    ],
)
def test_another_thing_in_its_place_is_named(tmp_path, make, told):
    make(tmp_path / "logs")
    with pytest.raises(NotReady, match=rf"/logs {told}") as error:
        OutputFolder.make(tmp_path / "logs", "run", at=0)
    assert error.value.hint == "move it away: code-commit writes the run log there"


def test_files_are_written_grow_and_are_replaced(folder):
    folder.write("a", b"long content")
    folder.write("a", b"1")
    folder.append("a", b"2")
    folder.append("new", b"3", create=True)
    folder.append("new", b"4", create=True)
    folder.replace("b", b"5")
    folder.replace("b", b"6")
    assert {file.name: file.read_bytes() for file in folder.path.iterdir()} == {
        "a": b"12",
        "new": b"34",
        "b": b"6",
    }
    with pytest.raises(FileNotFoundError):
        folder.append("missing", b"5")


def test_a_file_that_cannot_be_replaced_leaves_nothing(folder):
    (folder.path / "a").mkdir()
    with pytest.raises(OSError, match="directory"):
        folder.replace("a", b"x")
    assert [file.name for file in folder.path.iterdir()] == ["a"]


def test_no_file_is_reached_through_a_link(folder, tmp_path):
    (tmp_path / "outside").write_text("mine")
    (folder.path / "a").symlink_to(tmp_path / "outside")
    for write in (folder.write, folder.append):
        with pytest.raises(OSError, match="symbolic links"):
            write("a", b"x")
    assert (tmp_path / "outside").read_text() == "mine"
    folder.replace("a", b"x")
    assert (tmp_path / "outside").read_text() == "mine"


def test_names_that_belong_together_get_one_number(folder):
    assert folder.reserve("query.txt", "reply.txt") == 1
    assert folder.reserve("reply.txt") == 2
    assert folder.reserve("query.txt", "reply.txt") == 3
    assert folder.reserve("query.txt") == 2
    names = [
        counted("query.txt", 1),
        counted("a.b.txt", 2),
        counted("query", 3),
        counted("query.txt", "try-1"),
    ]
    assert names == ["query.txt", "a.b-2.txt", "query-3", "query-try-1.txt"]


def test_a_closed_folder_may_be_closed_again(folder):
    folder.free_room()  # only Linux has it
    before = len([*Path("/dev/fd").iterdir()])
    folder.close()
    folder.close()
    assert len([*Path("/dev/fd").iterdir()]) == before - 1


@pytest.mark.parametrize("name", ["", ".hidden", "a/b", "a\nb", "é" * 101])
def test_a_name_that_is_not_plain_is_refused(folder, name):
    assert folder.reserve("é" * 100) == 1
    with pytest.raises(ValueError, match="invalid name for a file or folder of output: "):
        folder.reserve(name)
