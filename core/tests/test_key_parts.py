"""Parts of a key, as services show them."""

from __future__ import annotations

import pytest

from code_commit.models.http.key_parts import hide_parts

KEY = 'sk-live"0123456789'


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("nothing of it", "nothing of it"),
        ("it was 0123456789.", "it was ***."),
        ("it was 12345678", "it was ***"),
        ("it was 1234567", "it was 1234567"),
        ('sk-live"0 and 23456789', "*** and ***"),
        ('{"m": "sk-live\\"012"}', '{"m": "***"}'),
        (f"{KEY}{KEY}", "***"),
    ],
)
def test_parts_of_a_key_are_hidden(text, shown):
    assert hide_parts(text, KEY) == shown


def test_parts_of_short_and_missing_keys():
    assert hide_parts("a pass word", "pass") == "a *** word"
    assert hide_parts("an ass", "pass") == "an ass"
    assert hide_parts("a pass word", "") == "a pass word"
    assert hide_parts("a pass word", None) == "a pass word"
    assert hide_parts("aaaaaaaaaaa", "aaaaaaaa") == "***"  # each of its places counts
