"""Lines for people: paths that are too many, stdout that cannot be written or belongs to JSON."""

from __future__ import annotations

import errno
import io
import os
import pty
import subprocess
from pathlib import Path

import pytest

from code_commit.terminal.streams import stdout_aside, write_stdout
from code_commit_workspace import NotReady
from code_commit_workspace.words import count_by_folder, count_of, join_paths

FULL = Path("/dev/full")


def test_the_first_paths_and_the_number_of_the_others():
    assert join_paths([*"abcdefghij"]) == "a, b, c, d, e, f, g, h, i, j"
    assert join_paths([*"abcdefghijkl"]) == "a, b, c, d, e, f, g, h, i, j and 2 more"
    assert join_paths([*"abc"], most=2) == "a, b and 1 more"
    assert join_paths([]) == ""


def test_a_folder_of_many_is_one_line():
    paths = ["a", "d/1", "d/2", "d/3", "e/1", "e/s/2", "f"]
    assert list(count_by_folder(paths, most=2)) == ["a", "d/ (3 files)", "e/1", "e/s/2", "f"]
    assert list(count_by_folder(f"d/{number}" for number in range(10))) == [
        f"d/{number}" for number in range(10)
    ]
    assert list(count_by_folder(f"d/{number}" for number in range(11))) == ["d/ (11 files)"]


def test_a_number_has_its_noun():
    assert [count_of(number, "file") for number in (0, 1, 1000)] == [
        "0 files",
        "1 file",
        "1,000 files",
    ]
    assert [count_of(number, "reply", "replies") for number in (1, 2)] == ["1 reply", "2 replies"]


def test_stdout_is_written_at_once(tmp_path):
    with (tmp_path / "out").open("w") as stream:
        write_stdout(stream, "text")
        assert (tmp_path / "out").read_text() == "text"


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
def test_stdout_without_space_is_told_and_not_written_again():
    with FULL.open("w") as stream:
        with pytest.raises(NotReady) as caught:
            write_stdout(stream, "text")
        assert caught.value.message == f"stdout cannot be written: {os.strerror(errno.ENOSPC)}"
        assert caught.value.hint == "redirect stdout to a disk with space"
        assert Path(f"/dev/fd/{stream.fileno()}").readlink() == Path(os.devnull)


@pytest.mark.parametrize("opened", [os.pipe, pty.openpty])
def test_stdout_whose_reader_or_terminal_has_gone_is_a_broken_pipe(opened):
    reader, writer = opened()
    os.close(reader)
    with os.fdopen(writer, "w") as stream, pytest.raises(BrokenPipeError):
        write_stdout(stream, "text")


def test_stdout_that_is_closed_is_told():
    stream = io.StringIO()
    stream.close()
    with pytest.raises(NotReady, match="stdout cannot be written: I/O operation on closed file"):
        write_stdout(stream, "text")


def test_what_prints_meanwhile_prints_on_stderr(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").mkdir()
    with stdout_aside():
        print("python")
        subprocess.run(["echo", "child"], check=True)
        os.chdir("other")
    print("json", flush=True)
    subprocess.run(["echo", "after"], check=True)
    assert Path.cwd() == tmp_path
    out, err = capfd.readouterr()
    assert (out, sorted(err.split())) == ("json\nafter\n", ["child", "python"])


def test_no_handle_stays_open(capfd):
    before = len([*Path("/dev/fd").iterdir()])
    with stdout_aside():
        pass
    assert len([*Path("/dev/fd").iterdir()]) == before
