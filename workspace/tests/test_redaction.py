"""The redactor removes every form of a live key, however the data is split, and does not change clean text."""

from __future__ import annotations

import base64
import html
import json
import shlex
import sysconfig
import urllib.parse
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_commit_workspace.redaction import Redactor

PLAIN = "AIzaSyCANARY-0123456789_abcdefghijk"
AWKWARD = "k\"e\\y/w'ith+o%dd&<one>=~ {$}:99"
KEYS = [PLAIN, AWKWARD, "sk-12345", "=" * 8 + "ab"]
SHORTEST_SEEN = 6  # consecutive characters of a key that no output may show


def _javascript_quote(text: str) -> str:
    return urllib.parse.quote(text, safe="!'()*")


ESCAPES = {
    "raw": lambda key: key,
    "json": lambda key: json.dumps({"key": key}),
    "json in json": lambda key: json.dumps(json.dumps([key])),
    "json, slashes escaped": lambda key: json.dumps(key).replace("/", "\\/"),
    "json for html": lambda key: (
        json.dumps(key).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026").replace("'", "\\u0027")
    ),
    "url": urllib.parse.quote,
    "url, nothing safe": lambda key: urllib.parse.quote(key, safe=""),
    "form": urllib.parse.quote_plus,
    "form of more": lambda key: urllib.parse.urlencode({"a": "b", "key": key}),
    "javascript": _javascript_quote,
    "html": html.escape,
    "repr": lambda key: repr({"key": key}),
    "shell": shlex.quote,
    "hex": lambda key: key.encode().hex(),
    "HEX": lambda key: key.encode().hex().upper(),
}


def _windows(text: str) -> set[str]:
    return {text[i : i + SHORTEST_SEEN] for i in range(len(text) - SHORTEST_SEEN + 1)}


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("escape", ESCAPES.values(), ids=ESCAPES)
def test_a_key_is_hidden_in_every_form_that_programs_print(key, escape):
    redactor = Redactor([key])
    text = f"before {escape(key)} after"

    shown = redactor.text(text)

    assert "***" in shown
    assert shown.startswith("before ")
    assert shown.endswith(" after")
    assert not _windows(key) & _windows(shown)
    assert redactor.data(text.encode()) == shown.encode()
    assert redactor.holds_key(text)
    assert redactor.holds_key(text.encode())
    assert not redactor.holds_key(shown)


@pytest.mark.parametrize("key", KEYS)
def test_url_escapes_in_small_letters_are_hidden_too(key):
    quoted = "".join(f"%{ord(c):02x}" if not c.isalnum() and c not in "-_.~" else c for c in key)

    assert not _windows(quoted) & _windows(Redactor([key]).text(quoted))


@given(st.sampled_from(KEYS), st.binary(max_size=40), st.binary(max_size=40), st.booleans())
def test_a_key_inside_of_anything_in_base64_is_hidden(key, before, after, urlsafe):
    encode = base64.urlsafe_b64encode if urlsafe else base64.b64encode
    encoded = encode(before + key.encode() + after).decode()

    shown = Redactor([key]).text(encoded)

    # The rest on both sides of the stars decodes to the text around the key, and at most a bit of the key.
    left, stars, right = shown.partition("***")
    assert stars
    assert (
        base64.b64decode(left.ljust(-(-len(left) // 4) * 4, "A"), altchars=b"-_" if urlsafe else b"+/")[: len(before)]
        == before
    )
    assert len(left) <= -(-len(before) * 8 // 6)
    assert len(right) - 2 <= len(json.dumps(key[-2:])) + len(encoded) - (len(before) + len(key)) * 8 // 6


def test_what_shows_are_stars_and_the_last_two_characters():
    assert Redactor([PLAIN]).text(f"<{PLAIN}>") == "<***jk>"
    assert Redactor([PLAIN]).data(PLAIN.encode().hex().encode()) == b"***jk"


@pytest.mark.parametrize("key", [*KEYS, 'quoted-key-"\\'])
def test_json_with_a_key_stays_json(key):
    line = json.dumps({"error": f"bad key {key}, try again", "n": 1})

    assert json.loads(Redactor([key]).text(line)) == {"error": f"bad key ***{key[-2:]}, try again", "n": 1}


def test_json_values_are_redacted_in_names_and_strings():
    value = {"a": [1, None, True, 2.5, PLAIN], PLAIN: {"b": (f"x{PLAIN}",)}}

    assert Redactor([PLAIN]).json(value) == {"a": [1, None, True, 2.5, "***jk"], "***jk": {"b": ["x***jk"]}}


def test_a_key_that_begins_like_another_is_hidden_whole():
    redactor = Redactor(["sk-abcdefgh", "sk-abcdefgh-longer"])

    assert redactor.text("sk-abcdefgh sk-abcdefgh-longer") == "***gh ***er"
    stream = redactor.stream()
    assert b"".join([stream.feed(b"sk-abcdefgh"), stream.feed(b"-longer"), stream.finish()]) == b"***er"


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
    assert Redactor([PLAIN]).data(b"\xff\xfe" + PLAIN.encode() + b"\x80\x00") == b"\xff\xfe***jk\x80\x00"


def test_lone_surrogates_stay():
    assert Redactor([PLAIN]).text(f"\udc80{PLAIN}\ud800") == "\udc80***jk\ud800"


@pytest.mark.parametrize("key", ["", "short12", "schlüssel-123", "two\nlines-of-it", "a" * 7])
def test_what_is_no_key_is_refused_rather_than_hidden_everywhere(key):
    with pytest.raises(ValueError):
        Redactor().add(key)


def _pieces():
    forms = [escape(key).encode() for key in (PLAIN, AWKWARD) for escape in ESCAPES.values()]
    forms += [base64.b64encode(b"x" * n + PLAIN.encode()) for n in range(3)]
    whole = st.sampled_from(forms)
    cut = st.tuples(whole, st.integers(0, 60)).map(lambda pair: pair[0][: pair[1]])
    return st.lists(st.one_of(whole, cut, st.binary(max_size=5)), max_size=6).map(b"".join)


@given(_pieces(), st.data())
def test_a_stream_gives_what_the_whole_would_however_it_is_cut(whole, data):
    redactor = Redactor([PLAIN, AWKWARD, PLAIN[:10]])
    stream = redactor.stream()
    shown = b""
    rest = whole
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        shown += stream.feed(rest[:size])
        rest = rest[size:]

    assert shown + stream.finish() == redactor.data(whole)


@given(_pieces())
def test_a_stream_of_single_bytes_gives_what_the_whole_would(whole):
    redactor = Redactor([PLAIN, AWKWARD])
    stream = redactor.stream()

    assert b"".join(stream.feed(bytes([byte])) for byte in whole) + stream.finish() == redactor.data(whole)


def test_a_stream_holds_back_only_what_may_be_a_key():
    stream = Redactor([PLAIN]).stream()

    assert stream.feed(b"line\n") == b"line\n"
    assert stream.feed(b"key " + PLAIN[:12].encode()) == b"key "
    assert stream.feed(b"!") == PLAIN[:12].encode() + b"!"


def test_text_without_keys_is_unchanged() -> None:
    """It searches the standard library without its tests: megabytes without a key."""
    redactor = Redactor(
        [*KEYS, "sk-proj-Canary_0123456789-abcdefghijkLMNOP", "AIza%41%5C+/==--\\\\n\\u0041''\"\"``$(x)#Zt"]
    )
    library = Path(sysconfig.get_path("stdlib"))
    files = [path for path in library.rglob("*.py") if not {"test", "tests", "site-packages"} & {*path.parts}]
    for path in files:
        content = path.read_bytes()
        assert redactor.data(content) is content, path
    assert len(files) > 500
