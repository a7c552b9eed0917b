"""An array that grows in a file is closed wherever its process was killed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from code_commit.run_folder.json_array import ARRAY_END, array_piece, close_array, close_arrays

ELEMENTS = [b'{"a":1}', b"[2]", b'"]"', b"3", b'{"b":[]}']
WHOLE = (
    array_piece(ELEMENTS[:2], is_first=True) + array_piece(ELEMENTS[2:], is_first=False) + ARRAY_END
)


@pytest.mark.parametrize("size", range(1, len(WHOLE) + 1))
def test_a_file_that_ends_anywhere_holds_its_complete_elements(tmp_path, size):
    file = tmp_path / "array.json"
    file.write_bytes(WHOLE[:size])
    close_array(file)
    expected = [json.loads(element) for element in ELEMENTS]
    elements = json.loads(file.read_bytes())
    assert elements == expected[: len(elements)]
    assert len(elements) >= WHOLE[:size].count(b",\n")
    again = file.read_bytes()
    close_array(file)
    assert file.read_bytes() == again


@pytest.mark.parametrize("end", [b"", b"\n", b"\n]", b"\n]\n", b",", b",\n", b",\n2", b",\n{"])
def test_what_is_complete_stays(tmp_path, end):
    file = tmp_path / "array.json"
    file.write_bytes(b"[\n1" + end)
    close_array(file)
    assert file.read_bytes() == (b"[\n1,\n2" if end == b",\n2" else b"[\n1") + ARRAY_END


def test_a_device_is_no_array():
    with pytest.raises(OSError, match="not a regular file: '/dev/null'"):
        close_array(Path("/dev/null"))


@pytest.mark.parametrize("content", [b"", b'{"a": 1', b"[\n\n]\n", b"[]\n", WHOLE, b"words"])
def test_other_files_stay(tmp_path, content):
    file = tmp_path / "array.json"
    file.write_bytes(content)
    close_array(file)
    assert file.read_bytes() == content


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "outside").write_bytes(b"[\n1")
    (tmp_path / "array.json").symlink_to("outside")
    with pytest.raises(OSError, match=r"array\.json"):
        close_array(tmp_path / "array.json")
    assert (tmp_path / "outside").read_bytes() == b"[\n1"


def test_the_arrays_of_a_folder_are_closed_as_far_as_possible(tmp_path):
    for name in ("1-reply.json", "2-reply.json", "other.json"):
        (tmp_path / name).write_bytes(b"[\n1")
    (tmp_path / "0-reply.json").mkdir()
    close_arrays(tmp_path, "*-reply.json")
    assert (tmp_path / "1-reply.json").read_bytes() == b"[\n1" + ARRAY_END
    assert (tmp_path / "2-reply.json").read_bytes() == b"[\n1" + ARRAY_END
    assert (tmp_path / "other.json").read_bytes() == b"[\n1"
