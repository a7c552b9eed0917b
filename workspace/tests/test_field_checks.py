"""A record that a plugin made is checked field by field, and the first fault is told."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from code_commit_workspace.field_checks import are_texts, fault_of_fields, is_template, is_text, matching, or_none

CHECKS = [
    ("name", matching(re.compile(r"[a-z]+")), "a name"),
    ("help detail", is_text, "a text"),
    ("tags", are_texts, "texts"),
    ("note", or_none(is_text), "a text or None"),
]
GOOD = {"name": "abc", "help": "", "detail": "x", "tags": ("a",), "note": None}


@pytest.mark.parametrize("more", [{}, {"note": "n"}, {"tags": []}, {"tags": {"a", "b"}}, {"tags": frozenset("a")}])
def test_a_record_without_a_fault(more):
    assert fault_of_fields(SimpleNamespace(**GOOD | more), CHECKS) == ""


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        ({"name": "a1"}, "`name` must be a name, not 'a1'"),
        ({"name": b"abc"}, "`name` must be a name, not b'abc'"),
        ({"detail": 3}, "`detail` must be a text, not 3"),
        ({"help": None, "detail": 3}, "`help` must be a text, not None"),
        ({"tags": "abc"}, "`tags` must be texts, not 'abc'"),
        ({"tags": ["a", 1]}, "`tags` must be texts, not ['a', 1]"),
        ({"note": 1}, "`note` must be a text or None, not 1"),
        ({"note": ["x" * 200]}, f"`note` must be a text or None, not ['{'x' * 98}"),
    ],
)
def test_the_first_fault_is_told(more, fault):
    assert fault_of_fields(SimpleNamespace(**GOOD | more), CHECKS) == fault


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        ("https://{host}/x", True),
        ("{host", False),
        ("{other}", False),
        ("{host.x}", False),
        ("{0}", False),
        ("", False),
        (3, False),
    ],
)
def test_a_template_takes_the_names_that_are_filled_in(value, fits):
    assert is_template(value, host="h") is fits
