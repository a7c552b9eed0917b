"""Texts that are keys, that hold one, or that show parts of one."""

from __future__ import annotations

import json

import pytest

from code_commit_workspace import NotReady, Redactor, hide_parts, likely_keys, parse_key

KEY = 'sk-live"0123456789'


@pytest.mark.parametrize("text", ["12345678", "12345678\n", "12345678\r\n", "a key ~!"])
def test_one_line_is_a_key(text):
    assert parse_key(text, "the file") == text.rstrip("\r\n")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "is empty"),
        (" \t\n", "is empty"),
        ("12345678\n\n", "has more than one line"),
        ("1234\n5678", "has more than one line"),
        ("12345678\r", "has more than one line"),
        ("1234é5678", "has a character that is not printable ASCII at 5"),
        ("\x7f12345678", "has a character that is not printable ASCII at 1"),
        ("12345678\t", "has a character that is not printable ASCII at 9"),
        (" 12345678", "begins or ends with a space"),
        ("12345678 ", "begins or ends with a space"),
        ("1234567", "is too short"),
    ],
)
def test_what_is_no_key_is_told_without_it(text, fault):
    with pytest.raises(NotReady) as told:
        parse_key(text, "the file")
    assert told.value.message == f"the key in the file {fault}"
    assert told.value.hint == "a key is one line of printable ASCII, at least 8 characters"


def test_variables_with_the_names_of_keys_may_hold_one():
    environ = {
        "A_KEY": "aaaaaaaa",
        "B_TOKEN": "bbbbbbbb",
        "C_SECRET": "cccccccc",
        "D_KEY": "short",
        "E_KEYS": "eeeeeeee",
    }
    assert list(likely_keys(environ)) == ["aaaaaaaa", "bbbbbbbb", "cccccccc"]


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


def test_a_document_is_hidden_string_by_string():
    redactor = Redactor([KEY])
    escaped = json.dumps({"a": [KEY, 1, None], KEY: "é"}, ensure_ascii=True).encode()
    assert json.loads(redactor.document(escaped)) == {"a": ["***89", 1, None], "***89": "é"}
    # Which the text does not show.
    odd = json.dumps({"é": KEY}, ensure_ascii=False).replace("-", "\\u002d").encode()
    assert redactor.document(odd).decode() == '{"é": "***89"}'
    assert redactor.document(b"no json: " + KEY.encode()) == b"no json: ***89"
    clean = b'{"a":  "\\u00e9"}'
    assert redactor.document(clean) is clean
    assert Redactor().document(escaped) is escaped


@pytest.mark.parametrize("size", range(1, len(KEY)))
@pytest.mark.parametrize(
    "before", ["", "a long line of words that goes on and on, and holds no key: "]
)
def test_a_key_is_hidden_wherever_its_stream_is_cut(before, size):
    stream = Redactor([KEY]).stream()
    shown = [
        stream.feed(f"{before}{KEY[:size]}".encode()),
        stream.feed(f"{KEY[size:]} after".encode()),
        stream.finish(),
    ]
    assert b"".join(shown).decode() == f"{before}***89 after"
