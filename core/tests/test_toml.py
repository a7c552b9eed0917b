"""A broken TOML file is told by its line, and not by its text."""

from __future__ import annotations

import pytest

from code_commit.config.toml import parse_toml
from code_commit.plugin_api import NotReady

SAVE, FIX = "save the file as UTF-8", "fix the TOML on that line"


@pytest.mark.parametrize(
    "content", [b'a = 1\n[b]\nc = "\xc3\xa9"\n', b'\xef\xbb\xbfa = 1\nb.c = "\xc3\xa9"']
)
def test_tables_are_read(content):
    assert parse_toml(content, "x.toml") == {"a": 1, "b": {"c": "é"}}
    assert parse_toml(None, "x.toml") == {}


@pytest.mark.parametrize(
    ("content", "told", "hint"),
    [
        (b'a = 1\nkey = "secret\xff"\n', "x.toml, line 2: not UTF-8", SAVE),
        (b"\xff", "x.toml, line 1: not UTF-8", SAVE),
        (b'\na = "\xff"', "x.toml, line 2: not UTF-8", SAVE),
        (b"a = " + b"[" * 100_000, "x.toml: nested too deeply", ""),
        (b"a = 1\nb = secret\n", "x.toml, line 2, column 5: invalid value", FIX),
        (b"a = 1\n\nb", "x.toml, line 3: expected '=' after a key in a key/value pair", FIX),
        (b'secret = 1\n"secret" = 2\n', "x.toml, line 2, column 13: cannot overwrite a value", FIX),
        (b"[secret]\n[secret]\n", "x.toml, line 2, column 8: a name is defined twice", FIX),
    ],
)
def test_a_mistake_has_a_line_and_no_text(content, told, hint):
    with pytest.raises(NotReady) as error:
        parse_toml(content, "x.toml")
    assert (error.value.message, error.value.hint) == (told, hint)
    assert error.value.__cause__ is None
    assert "secret" not in told
