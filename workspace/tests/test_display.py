"""Settings are shown without their secrets."""

from __future__ import annotations

import pytest

from code_commit_workspace import display_value, redacted_value


@pytest.mark.parametrize(
    ("value", "shown"),
    [("12345678", "***78"), (" 12345678\n", "***78"), ("1234567", "***"), ("", "***"), (12345678, "***")],
)
def test_the_end_of_a_value_as_long_as_a_key_is_shown(value, shown):
    assert redacted_value(value) == shown


@pytest.mark.parametrize("word", ["key", "keys", "apikey", "token", "secret", "password", "authorization", "headers"])
def test_a_secret_is_known_by_a_word_of_its_name(word):
    assert display_value(("providers", f"My_{word.upper()}"), "abcdefgh") == "***gh"
    assert display_value(("providers", f"x{word}"), "abcdefgh") == "abcdefgh"
    assert display_value((f"{word}_file",), "abcdefgh") == "abcdefgh"
    assert display_value((word, "path"), "abcdefgh") == "abcdefgh"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (True, True),
        ("***gh", "***gh"),
        ("***", "***"),
        ("***ijk", "***"),
        ("***ijklm", "***lm"),
        ({"a": 1}, "***"),
        (None, "***"),
    ],
)
def test_what_is_hidden_already_is_not_hidden_again(value, shown):
    assert display_value(("key",), value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("https://me:word@host/x?key=1 and http://b", "https://***@host/x?*** and http://b"),
        ("https://host/x#part", "https://host/x#***"),
        ("mail@host?x", "mail@host?x"),
        ({"host": "h", "token": "abcdefgh"}, {"host": "h", "token": "***gh"}),
        (["https://u@h", 3, {"secret": "s"}], ["https://***@h", 3, {"secret": "***"}]),
        (3, 3),
        (None, None),
    ],
)
def test_addresses_and_collections_are_shown_without_secrets(value, shown):
    assert display_value(("base_url",), value) == shown
