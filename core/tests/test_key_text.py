"""Texts that are keys, and why others are not."""

from __future__ import annotations

import pytest

from code_commit.config.key_text import bare_key, parse_key, require_bare
from code_commit.plugin_api import NotReady


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
    with pytest.raises(NotReady) as caught:
        parse_key(text, "the file")
    assert caught.value.message == f"the key in the file {fault}"
    assert caught.value.hint == "a key is one line of printable ASCII, at least 8 characters"


QUOTED = "has quotes around it"
NAMED = "has the name of a variable before it"


@pytest.mark.parametrize(
    ("text", "key", "fault"),
    [
        ('"wertvoll"', "wertvoll", QUOTED),
        ("'wertvoll'", "wertvoll", QUOTED),
        ("OPENAI_API_KEY=wertvoll", "wertvoll", NAMED),
        ("export KEY=wertvoll", "wertvoll", NAMED),
        ("export OPENAI_API_KEY='wertvoll'", "wertvoll", NAMED),
        ("OPENAI_API_KEY = wertvoll", "wertvoll", NAMED),
        ("OPENAI_API_KEY=", "", NAMED),
        ('A_B="wert=voll"', "wert=voll", NAMED),
        ("wertvoll", "wertvoll", ""),
        ("\"wertvoll'", "\"wertvoll'", ""),
        ('wert"voll', 'wert"voll', ""),
        ("WERT_VOLL==", "WERT_VOLL==", ""),
        ("wert_voll=x", "wert_voll=x", ""),
    ],
)
def test_a_key_is_written_alone(text, key, fault):
    assert bare_key(text) == key
    if not fault:
        require_bare(text, "the file")
        return
    with pytest.raises(NotReady) as caught:
        require_bare(text, "the file")
    assert caught.value.message == f"the key in the file {fault}"
    assert "wert" not in caught.value.hint
