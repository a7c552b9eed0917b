"""Texts that hold a key."""

from __future__ import annotations

import json

import pytest

from code_commit_workspace import Redactor

KEY = 'sk-live"0123456789'


def test_variables_with_the_names_of_keys_may_hold_one():
    environ = {
        "A_KEY": "aaaaaaaa",
        "B_TOKEN": "bbbbbbbb",
        "C_SECRET": "cccccccc",
        "D_KEY": "short",
        "E_KEYS": "eeeeeeee",
        "F_KEY": "ffff\nffff",
    }
    redactor = Redactor()
    redactor.add_likely(environ)
    texts = ["aaaaaaaa", "bbbbbbbb", "cccccccc", "short", "eeeeeeee", "ffff\nffff"]
    assert [text for text in texts if redactor.holds_key(text)] == texts[:3]


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
