"""A file of lines is locked while it grows, and a torn line spoils no other."""

from __future__ import annotations

import os

import pytest

from code_commit.plugin_api.run_files import is_locked
from code_commit.run_folder.line_file import LineFile


@pytest.fixture
def folder(tmp_path):
    handle = os.open(tmp_path, os.O_RDONLY)
    yield handle
    os.close(handle)


@pytest.fixture
def file(folder):
    file = LineFile(folder, "events")
    yield file
    file.close()


def test_it_grows_and_is_locked_until_it_is_closed(file, tmp_path):
    file.append(b"one\n")
    file.append(b"two\n")
    assert is_locked(tmp_path / "events")
    handle = file._handle
    file.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(handle)
    file.close()
    assert not is_locked(tmp_path / "events")
    assert (tmp_path / "events").read_bytes() == b"one\ntwo\n"
    assert (tmp_path / "events").stat().st_mode & 0o777 == 0o600


def test_a_child_that_holds_the_descriptor_does_not_hold_the_lock(file, tmp_path):
    duplicate = os.dup(file._handle)  # as a fork does until its exec
    file.close()
    assert not is_locked(tmp_path / "events")
    os.close(duplicate)


def test_a_line_after_a_torn_one_is_whole(file, tmp_path, monkeypatch):
    write = os.write
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", lambda handle, data: write(handle, data[:2]))
        file.append(b"in pieces\n")

        def fail(handle, data):
            write(handle, data[:3])
            patched.setattr(os, "write", no_space)
            return 3

        def no_space(_handle, _data):
            raise OSError(28, "No space left on device")

        patched.setattr(os, "write", fail)
        with pytest.raises(OSError, match="No space left"):
            file.append(b"torn line\n")
    file.append(b"next\n")
    file.append(b"last\n")
    assert (tmp_path / "events").read_bytes() == b"in pieces\ntor\nnext\nlast\n"


@pytest.mark.parametrize(
    "make", [lambda path: path.write_text("taken"), lambda path: path.symlink_to("elsewhere")]
)
def test_a_file_that_exists_is_not_taken(folder, tmp_path, make):
    make(tmp_path / "events")
    with pytest.raises(FileExistsError):
        LineFile(folder, "events")
    assert not (tmp_path / "elsewhere").exists()


def test_what_nobody_locks_is_not_locked(tmp_path):
    (tmp_path / "plain").touch()
    assert is_locked(tmp_path / "plain") is False
    assert is_locked(tmp_path / "missing") is False
