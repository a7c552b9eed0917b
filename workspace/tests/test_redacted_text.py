"""What shows where a key was, and what the redactor leaves as it is."""

from __future__ import annotations

import json

import pytest

from code_commit_workspace.keys.redaction import Redactor

PLAIN = "AIzaSyCANARY-0123456789_abcdefghijk"
AWKWARD = "k\"e\\y/w'ith+o%dd&<one>=~ {$}:99"
KEYS = [PLAIN, AWKWARD, "sk-12345", "=" * 8 + "ab"]


def test_what_shows_are_stars_and_the_last_two_characters():
    assert Redactor([PLAIN]).text(f"<{PLAIN}>") == "<***jk>"
    assert Redactor([PLAIN]).data(PLAIN.encode().hex().encode()) == b"***jk"


@pytest.mark.parametrize("key", [*KEYS, 'quoted-key-"\\'])
def test_json_with_a_key_stays_json(key):
    line = json.dumps({"error": f"bad key {key}, try again", "n": 1})

    assert json.loads(Redactor([key]).text(line)) == {
        "error": f"bad key ***{key[-2:]}, try again",
        "n": 1,
    }


def test_json_values_are_redacted_in_names_and_strings():
    value = {"a": [1, None, True, 2.5, PLAIN], PLAIN: {"b": (f"x{PLAIN}",)}}

    assert Redactor([PLAIN]).json(value) == {
        "a": [1, None, True, 2.5, "***jk"],
        "***jk": {"b": ["x***jk"]},
    }


def test_a_key_that_begins_like_another_is_hidden_whole():
    redactor = Redactor(["sk-abcdefgh", "sk-abcdefgh-longer"])

    assert redactor.text("sk-abcdefgh sk-abcdefgh-longer") == "***gh ***er"
    stream = redactor.stream()
    assert (
        b"".join([stream.feed(b"sk-abcdefgh"), stream.feed(b"-longer"), stream.finish()])
        == b"***er"
    )


def test_clean_text_is_not_copied():
    redactor = Redactor([PLAIN])
    text, data = f"{PLAIN[:-1]} and no more", bytes(range(256))

    assert redactor.text(text) is text
    assert redactor.data(data) is data
    assert not redactor.holds_key(text)


def test_without_keys_everything_passes():
    redactor = Redactor()
    value = {"a": [PLAIN]}

    assert redactor.json(value) is value
    assert redactor.text(PLAIN) is PLAIN
    assert not redactor.holds_key(PLAIN)
    stream = redactor.stream()
    assert stream.feed(b"abc") == b"abc"
    assert stream.finish() == b""


def test_bytes_that_are_no_text_stay():
    assert (
        Redactor([PLAIN]).data(b"\xff\xfe" + PLAIN.encode() + b"\x80\x00")
        == b"\xff\xfe***jk\x80\x00"
    )


def test_lone_surrogates_stay():
    assert Redactor([PLAIN]).text(f"\udc80{PLAIN}\ud800") == "\udc80***jk\ud800"


@pytest.mark.parametrize("key", ["", "short12", "schlüssel-123", "two\nlines-of-it", "a" * 7])
def test_what_is_no_key_is_refused_rather_than_hidden_everywhere(key):
    with pytest.raises(ValueError):
        Redactor().add(key)
