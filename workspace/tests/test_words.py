"""Untrusted text reaches a terminal as text, never as commands."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_commit_workspace.words import printable, shorten

DANGEROUS = {"Cc", "Cf", "Cs", "Zl", "Zp"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x1b]52;c;ZXZpbA==\x07", "\\x1b]52;c;ZXZpbA==\\x07"),
        ("\x9b2J", "\\x9b2J"),
        ("safe\rfake", "safe\\rfake"),
        ("a\u202eb\u2066c", "a\\u202eb\\u2066c"),
        ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("bad name \udc80", "bad name \\udc80"),
        ("del\x7f bs\x08", "del\\x7f bs\\x08"),
    ],
)
def test_commands_and_invisible_characters_are_spelled_out(text, shown):
    assert printable(text) == shown


@pytest.mark.parametrize(
    "text", ["", "Grüße, 世界 ☃ ⚠\ufe0f é", "a\tb\nc\n", "C:\\x1b", "नमस्ते שלום"]
)
def test_plain_text_stays_as_it_is(text):
    assert printable(text) == text


def test_on_one_line_newlines_and_tabs_are_spelled_out_too():
    assert printable("a\tb\nc\r\n", newlines=False) == "a\\tb\\nc\\r\\n"


def test_no_character_of_a_dangerous_category_passes():
    passed = [
        f"U+{code:04X}"
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)) in DANGEROUS
        and chr(code) not in "\t\n"
        and printable(chr(code)) == chr(code)
    ]

    assert not passed


@given(st.text(st.characters()), st.booleans())
def test_what_is_printable_stays_so_and_can_be_written(text, newlines):
    once = printable(text, newlines=newlines)

    assert printable(once, newlines=newlines) == once
    once.encode()


@pytest.mark.parametrize(
    ("text", "longest", "shown"),
    [("", 5, ""), ("abcde", 5, "abcde"), ("abcdef", 5, "abcd…"), ("äöüß", 3, "äö…")],
)
def test_a_long_text_is_cut_with_a_mark(text, longest, shown):
    assert shorten(text, longest) == shown
