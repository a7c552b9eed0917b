"""Values become strict JSON; lines that are not are skipped."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath
from types import MappingProxyType

import pytest

from code_commit.plugin_api import stored_json
from code_commit.plugin_api.stored_json import counts, read_json, read_json_lines
from code_commit.run_folder.json_text import (
    join_surrogates,
    json_document,
    to_json,
)


def test_paths_mappings_and_names_that_are_no_text_become_json():
    value = {
        "path": PurePosixPath("a/b"),
        "table": MappingProxyType({"é": (1, 2.5, None, True)}),
        "name": "x\udc80",
    }
    assert to_json(value) == {
        "path": "a/b",
        "table": {"é": [1, 2.5, None, True]},
        "name": "x\\udc80",
    }


@pytest.mark.parametrize(
    ("value", "error", "told"),
    [
        ({"a": {1}}, TypeError, "set is not JSON"),
        ([b""], TypeError, "bytes is not JSON"),
        (float("nan"), ValueError, "not JSON compliant"),
        ([float("inf")], ValueError, "not JSON compliant"),
    ],
)
def test_what_is_no_json_is_an_error(value, error, told):
    with pytest.raises(error, match=told):
        to_json(value)


def test_a_document_spells_out_numbers_that_are_not_finite():
    document = json_document({"é": [float("inf"), float("-inf"), 1.5]})
    assert json.loads(document, parse_constant=pytest.fail) == {"é": ["Infinity", "-Infinity", 1.5]}
    assert document.startswith('{\n  "é"')


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("plain", "plain"),
        ("\ud83d\ude42 é", "\U0001f642 é"),
        ("\ude42\ud83d", "\ude42\ud83d"),
        ("x\ud83d", "x\ud83d"),
    ],
)
def test_the_halves_of_a_character_are_joined(text, joined):
    assert join_surrogates(text) == joined


def test_lines_that_are_not_json_are_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_json, "_LONGEST_LINE", 40)
    lines = [
        *(b'{"a": 1}', b"half", b"[1, NaN]", b"Infinity", b"1e999", b'"\xff"', b"", b"[" * 39),
        *(
            b'"' + b"x" * 37 + b'"',
            b'"' + b"x" * 60 + b'"',
            b'"' + b"x" * 200,
            b" " * 50 + b"7",
            b"2.5",
        ),
    ]
    (tmp_path / "events").write_bytes(b"\n".join(lines) + b"\n[3")
    assert list(read_json_lines(tmp_path / "events")) == [{"a": 1}, "x" * 37, 2.5]
    (tmp_path / "events").write_bytes(b"1\n2")
    assert list(read_json_lines(tmp_path / "events")) == [1, 2]


@pytest.mark.parametrize(
    "number",
    ["9" * 40, "-" + "9" * 400, "9" * 5000, "1e39", "-1e300", "1e999", "NaN", "-Infinity"],
)
def test_a_number_that_no_run_has_is_an_error(number):
    with pytest.raises(ValueError, match="no run has the number"):
        read_json(f'{{"a": [{number}]}}'.encode())


@pytest.mark.parametrize("number", ["0", "-1", "9" * 15, "-9e18", "1.5"])
def test_other_numbers_are_read(number):
    assert read_json(number.encode()) == float(number)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1, True), ({"a": [0, 1.5, None, "-1"]}, True), (-1, False), ([{"a": True}], False)],
)
def test_what_counts_is_neither_negative_nor_a_truth_value(value, expected):
    assert counts(value) is expected


def test_a_link_is_not_read(tmp_path):
    (tmp_path / "events").symlink_to("elsewhere")
    with pytest.raises(OSError, match="events"):
        list(read_json_lines(tmp_path / "events"))
