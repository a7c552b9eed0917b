"""Tables in a file that anything may have written."""

from __future__ import annotations

from pathlib import Path

import pytest

from code_commit_workspace import NotReady, read_tables, usable_table, write_tables


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "new" / "tables.json"
    assert read_tables(file) == {}
    write_tables(file, {"one": {"a": 1, "b/c": 0}})
    write_tables(file, {"one": {"a": 2}, "two": {}})
    assert read_tables(file) == {"one": {"a": 2}, "two": {}}
    assert [each.name for each in file.parent.iterdir()] == ["tables.json"]


@pytest.mark.parametrize("content", ["", "[", "7", "[]", "\udcff", "[" * 100_000, " " * (5 << 20)], ids=range(7))
def test_a_broken_file_has_no_tables(tmp_path: Path, content: str) -> None:
    (tmp_path / "tables.json").write_text(content, "utf-8", errors="surrogateescape")
    assert read_tables(tmp_path / "tables.json") == {}


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotReady, match=r"tables\.json cannot be written: "):
        write_tables(tmp_path / "file" / "tables.json", {})


def test_entries_that_cannot_be_used_are_left_out() -> None:
    names = {"fine-1.0": 5, "two words": 5, "": 5, "x" * 201: 5, "\x1b[1m": 5, "é": 5, 7: 5}
    assert usable_table(names) == {"fine-1.0": 5}
    numbers = {"a": True, "b": -1, "c": 10**9, "d": "5", "e": None, "f": 1.5, "g": 10**9 - 1}
    assert usable_table(numbers) == {**dict.fromkeys("abcdef", 0), "g": 10**9 - 1}
    assert len(usable_table({str(number): 1 for number in range(20_000)})) == 10_000
    assert usable_table(["a"]) == {}
