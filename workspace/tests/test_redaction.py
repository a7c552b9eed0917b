"""The redactor removes every form of a live key, however the data is split, and does not change
clean text.
"""

from __future__ import annotations

import base64
import binascii
import html
import json
import re
import shlex
import shutil
import string
import subprocess
import sysconfig
import textwrap
import urllib.parse
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from code_commit_workspace.keys import dumps, key_search, uuencode_lines, view
from code_commit_workspace.keys.redaction import Redactor

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
        json.dumps(key)
        .replace("<", "\\u003c")
        .replace(">", "\\u003e")
        .replace("&", "\\u0026")
        .replace("'", "\\u0027")
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

    # The rest on both sides of the stars decodes to the text around the key, and at most a bit of
    # the key.
    left, stars, right = shown.partition("***")
    assert stars
    assert (
        base64.b64decode(
            left.ljust(-(-len(left) // 4) * 4, "A"), altchars=b"-_" if urlsafe else b"+/"
        )[: len(before)]
        == before
    )
    assert len(left) <= -(-len(before) * 8 // 6)
    assert (
        len(right) - 2
        <= len(json.dumps(key[-2:])) + len(encoded) - (len(before) + len(key)) * 8 // 6
    )


def _lines(text: str, width: int, newline: str = "\n") -> str:
    return newline.join(textwrap.wrap(text, width))


def _rows(
    data: bytes, show: Callable[[bytes], str], *, size: int = 16, offset: str = "{:08x}: "
) -> str:
    starts = range(0, len(data), size)
    return "".join(
        f"{offset.format(start)}{show(data[start : start + size])}\n" for start in starts
    )


def _ascii(row: bytes) -> str:
    return "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)


def _xxd(row: bytes) -> str:
    return f"{row.hex(' ', -2):<39}  {_ascii(row)}"


def _hexdump(row: bytes) -> str:
    return f"{'  '.join((row[:8].hex(' '), row[8:].hex(' '))):<48}  |{_ascii(row)}|"


def _words(digits: str) -> Callable[[bytes], str]:
    def show(row: bytes) -> str:
        row += bytes(len(row) % 2)
        return " ".join(format(row[i] + 256 * row[i + 1], digits) for i in range(0, len(row), 2))

    return show


def _od_c(row: bytes) -> str:
    return "".join(f"{chr(byte) if 32 <= byte < 127 else format(byte, '03o'):>4}" for byte in row)


def _uuencode(data: bytes, *, backtick: bool = False) -> str:
    lines = [
        binascii.b2a_uu(data[start : start + 45], backtick=backtick)
        for start in range(0, len(data), 45)
    ]
    return f"begin 644 key\n{b''.join(lines).decode()}`\nend\n"


def _matched(data: bytes) -> str:
    """Return what `grep --color` shows of a match of a part."""
    text, middle = data.decode(), len(data) // 2
    return f"{text[: middle - 5]}\x1b[01;31m\x1b[K{text[middle - 5 : middle + 5]}\x1b[m\x1b[K{text[middle + 5 :]}"


# What programs make of bytes. A key is somewhere in them.
ENCODINGS: dict[str, Callable[[bytes], str]] = {
    "base64, 76": lambda data: base64.encodebytes(data).decode(),
    "base64, 19": lambda data: _lines(base64.b64encode(data).decode(), 19),
    "base64, 7, carriage returns": lambda data: _lines(base64.b64encode(data).decode(), 7, "\r\n"),
    "base64, indented": lambda data: _lines(
        base64.urlsafe_b64encode(data).decode(), 40, "\n      "
    ),
    "base64, one in a line": lambda data: _lines(base64.b64encode(data).decode(), 1),
    "base64 in JSON": lambda data: json.dumps({"content": base64.encodebytes(data).decode()}),
    "base64 in JSON in JSON": lambda data: json.dumps(
        json.dumps([_lines(base64.b64encode(data).decode(), 20)])
    ),
    "repr of base64": lambda data: repr(base64.encodebytes(data)),
    "base64 of UTF-16": lambda data: base64.b64encode(data.decode().encode("utf-16")).decode(),
    "base64 of UTF-16, big end first": lambda data: base64.encodebytes(
        data.decode().encode("utf-16-be")
    ).decode(),
    "UTF-16": lambda data: data.decode().encode("utf-16").decode("latin-1"),
    "UTF-16, big end first": lambda data: data.decode().encode("utf-16-be").decode("latin-1"),
    "JSON in UTF-16": lambda data: json.dumps(data.decode()).encode("utf-16-le").decode("latin-1"),
    "base32": lambda data: base64.b32encode(data).decode(),
    "base32, small letters, not padded": lambda data: (
        base64.b32encode(data).decode().lower().rstrip("=")
    ),
    "base32, 76": lambda data: _lines(base64.b32encode(data).decode(), 76),
    "base32, 7, carriage returns": lambda data: _lines(
        base64.b32encode(data).decode().lower(), 7, "\r\n"
    ),
    "base32 in JSON": lambda data: json.dumps(
        [_lines(base64.b32encode(data).decode().lower(), 20)]
    ),
    "base85": lambda data: base64.b85encode(data).decode(),
    "Ascii85": lambda data: base64.a85encode(data, adobe=True).decode(),
    "Ascii85, 20": lambda data: base64.a85encode(data, wrapcol=20).decode(),
    "Ascii85 in JSON": lambda data: json.dumps({"content": base64.a85encode(data).decode()}),
    "uuencode": _uuencode,
    "uuencode, backticks": partial(_uuencode, backtick=True),
    "uuencode, carriage returns": lambda data: _uuencode(data).replace("\n", "\r\n"),
    "a match in color": _matched,
    "each character in color": lambda data: "".join(
        f"\x1b[3{byte % 8}m{byte:c}\x1b(B\x1b[m" for byte in data
    ),
    "bold in a manual page": lambda data: "".join(f"{byte:c}\b{byte:c}" for byte in data),
    "underlined in a manual page": lambda data: "".join(f"_\b{byte:c}" for byte in data),
    "hex in color": lambda data: "".join(f"\x1b[1m{byte:02x}\x1b[22m" for byte in data),
    "xxd -p": lambda data: _lines(data.hex(), 60),
    "hex, 7": lambda data: _lines(data.hex().upper(), 7),
    "hex, colons": lambda data: data.hex(":"),
    "hex, blanks": lambda data: data.hex(" ").upper(),
    "hex of UTF-16": lambda data: data.decode().encode("utf-16").hex(),
    "all escaped for JSON": lambda data: "".join(f"\\u{byte:04X}" for byte in data),
    "all escaped for URLs": lambda data: "".join(f"%{byte:02x}" for byte in data),
    "all escaped for HTML": lambda data: "".join(f"&#x{byte:02x};" for byte in data),
    "all escaped for C": lambda data: "".join(f"\\x{byte:02x}" for byte in data),
    "all escaped in octal": lambda data: "".join(f"\\{byte:03o}" for byte in data),
    "an array in C": lambda data: _rows(
        data, lambda row: ", ".join(f"0x{byte:02x}" for byte in row), offset="  "
    ),
    "xxd": lambda data: _rows(data, _xxd),
    "xxd in a diff": lambda data: textwrap.indent(_rows(data, _xxd), "+"),
    "xxd -u -c 8": lambda data: _rows(data, _xxd, size=8).upper(),
    "xxd of UTF-16": lambda data: _rows(data.decode().encode("utf-16"), _xxd),
    "hexdump -C": lambda data: _rows(data, _hexdump, offset="{:08x}  "),
    "hexdump": lambda data: _rows(data, _words("04x"), offset="{:07x} "),
    "od": lambda data: _rows(data, _words("06o"), offset="{:07o} "),
    "od -x": lambda data: _rows(data, _words("04x"), offset="{:07o} "),
    "od -An -x": lambda data: _rows(data, _words("04x"), offset=" "),
    "od -tx1z": lambda data: _rows(
        data, lambda row: f"{row.hex(' '):<47}  >{_ascii(row)}<", offset="{:07o} "
    ),
    "od -b": lambda data: _rows(
        data, lambda row: " ".join(f"{byte:03o}" for byte in row), offset="{:07o} "
    ),
    "od -c": lambda data: _rows(data, _od_c, offset="{:07o}"),
}
PROGRAMS = [
    *(
        "base64",
        "base64 -w 20",
        "xxd",
        "xxd -p",
        "xxd -u",
        "xxd -i",
        "xxd -g1 -c24",
        "xxd -c7",
        "xxd -g0",
    ),
    *(
        "hexdump -C",
        "hexdump",
        "od",
        "od -c",
        "od -b",
        "od -x",
        "od -An -tx1",
        "od -tx1z -v",
        "od -Ad -tx1",
        "od -An",
    ),
]


_BASE64 = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"
_UUENCODE = "`" + "".join(map(chr, range(0x21, 0x60)))
LEAST_IN_BASE85 = 11  # characters of a key: two groups of four, whatever comes before


def _traces(key: str, shown: str, length: int) -> set[str]:
    """Return what `shown` holds of each `length` characters of `key` in a row, in any encoding."""
    shown = re.sub(r"\x1b\[[0-9;]*[A-Za-z]|\x1b\(B|.\x08", "", shown)
    lines = re.sub(r"\r?\n.?", "", shown).replace(" ", "`")
    digits = re.sub("[^0-9a-f]", "", shown.lower())
    wrapped = re.sub(r"\\+[nrt]|[\s\0]", "", shown)
    traces = set()
    for start in range(len(key) - length + 1):
        part = key[start : start + length]
        core = base64.b64encode(b"\0" * 3 + part.encode()).decode()[4 : 4 + length * 8 // 6]
        core32 = base64.b32encode(b"\0" * 5 + part.encode()).decode()[8 : 8 + length * 8 // 5]
        uucore = core.translate(str.maketrans(_BASE64, _UUENCODE))
        whole = part[: length // 4 * 4].encode()
        places = [
            (part, shown),
            (part, shown.replace("\0", "")),
            (part.encode().hex(), digits),
            (core, wrapped),
        ]
        places += [(core32, wrapped.upper()), (uucore, lines)]
        if len(key) >= LEAST_IN_BASE85:
            places += [
                (base64.b85encode(whole).decode(), wrapped),
                (base64.a85encode(whole).decode(), wrapped),
            ]
        traces |= {needle for needle, text in places if needle in text}
    return traces


@pytest.mark.parametrize("key", [PLAIN, AWKWARD, PLAIN * 3])
@pytest.mark.parametrize("encode", ENCODINGS.values(), ids=ENCODINGS)
def test_a_key_in_an_encoding_in_lines_or_groups_is_hidden(key, encode):
    redactor = Redactor([key])
    # Each place in a row, or in three characters of base64.
    for before in range(16) if key == PLAIN else (0, 7, 14):
        _check_encoded(redactor, key, encode, before)


def _check_encoded(
    redactor: Redactor, key: str, encode: Callable[[bytes], str], before: int
) -> None:
    text = f"$ show\n{encode(b'=' * before + key.encode() + b' and more')}\nend"

    shown = redactor.text(text)

    assert "***" in shown
    assert shown.startswith("$ show\n")
    assert shown.endswith("\nend")
    assert not _traces(key, shown, 4)
    assert redactor.data(text.encode()) == shown.encode()
    assert redactor.holds_key(text.encode())
    assert not redactor.holds_key(shown)
    assert redactor.marks(text.encode())


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_key_in_the_output_of_a_real_program_is_hidden(program):
    name, *arguments = program.split()
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    completed = subprocess.run(
        [name, *arguments], input=f"a={PLAIN}\n".encode(), capture_output=True, check=True
    )
    text = completed.stdout.decode()

    shown = Redactor([PLAIN]).text(text)

    assert "***jk" in shown
    assert not _traces(PLAIN, shown, 6)


@pytest.mark.parametrize("offset", ["{:04x} ", "{:016}: ", "0x{:04X}: ", "0x{:016x}: ", "{:07o}\t"])
@pytest.mark.parametrize("before", ["", " ", "\t", "+", "> ", "+-", "||"])
def test_a_key_in_a_dump_is_hidden_whatever_its_offsets_look_like(before, offset):
    dump = _rows(PLAIN.encode(), lambda row: row.hex(" "), size=8, offset=before + offset)

    shown = Redactor([PLAIN]).text(f"$ show\n{dump}end")

    assert shown.startswith(f"$ show\n{before}{offset.format(0)}***jk")
    assert shown.endswith("\nend")
    assert not _traces(PLAIN, shown, 4)


def test_of_a_dump_only_the_rows_with_the_key_are_covered():
    text = "".join(
        ENCODINGS["xxd"](b"a" * 16 + PLAIN.encode() + b"b" * 40).splitlines(keepends=True)
    )

    assert Redactor([PLAIN]).text(text) == (
        "00000000: 6161 6161 6161 6161 6161 6161 6161 6161  aaaaaaaaaaaaaaaa\n"
        "00000010: ***jk\n"
        "00000040: 6262 6262 6262 6262 6262 6262 6262 6262  bbbbbbbbbbbbbbbb\n"
        "00000050: 6262 6262 6262 6262 6262 62              bbbbbbbbbbb\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        *(
            PLAIN[:-8],
            " ".join(PLAIN),
            PLAIN[::-1],
            "\n".join((PLAIN[:20], "and", PLAIN[20:])),
            PLAIN.swapcase(),
        ),
        *(
            "\u200b".join(PLAIN),
            PLAIN.replace("-", "\\u001b[m-"),
            base64.b32hexencode(PLAIN.encode()).decode(),
        ),
        json.dumps(_uuencode(b"=" * 30 + PLAIN.encode())),
    ],
    ids=[
        *("a part", "blanks between", "reversed", "halves", "other case"),
        *("no width between", "colors that are escaped", "base32hex", "lines of uuencode in JSON"),
    ],
)
def test_what_the_page_on_security_calls_a_limit_is_one(text):
    assert Redactor([PLAIN]).text(text) is text


@pytest.mark.parametrize("before", [1, len(PLAIN) // 2, len(PLAIN), 2 * len(PLAIN)])
@pytest.mark.parametrize("size", [2**power for power in range(16, 21)])
def test_a_key_is_seen_where_one_piece_of_a_long_text_ends(before, size):
    text = "\n" * (size - before)
    assert PLAIN not in Redactor([PLAIN]).text(f"{text}{PLAIN}\n")


@pytest.mark.parametrize(
    ("key", "form"),
    [
        (PLAIN[:32], _rows(PLAIN[:32].encode(), _xxd).strip()),
        (PLAIN, _lines(PLAIN.encode().hex(), 19)),
    ],
)
def test_a_key_is_found_within_the_reach_of_the_search(monkeypatch, key, form):
    for reach, hidden in ((len(form) - 1, False), (len(form), True)):
        for module in (dumps, key_search, uuencode_lines, view):
            monkeypatch.setattr(module, "REACH", reach)
        assert ("***" in Redactor([key]).text(f"x\n{form}\n\n")) == hidden


def _cuts(data: st.DataObject, whole: bytes) -> list[bytes]:
    places = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    return [
        whole[start:end] for start, end in zip([0, *places], [*places, len(whole)], strict=True)
    ]


def _streamed(redactor: Redactor, pieces: list[bytes]) -> bytes:
    stream = redactor.stream()
    return b"".join([*map(stream.feed, pieces), stream.finish()])


def _pieces():
    forms = [escape(key).encode() for key in (PLAIN, AWKWARD) for escape in ESCAPES.values()]
    forms += [base64.b64encode(b"x" * n + PLAIN.encode()) for n in range(3)]
    forms += [
        encode(b"x" * n + PLAIN.encode()).encode()
        for n in range(2)
        for encode in ENCODINGS.values()
    ]
    whole = st.sampled_from(forms)
    cut = st.tuples(whole, st.integers(0, 260)).map(lambda pair: pair[0][: pair[1]])
    end = st.tuples(whole, st.integers(1, 99)).map(lambda pair: pair[0][-pair[1] :])
    between = st.sampled_from(
        [b"\n", b"\\", b"\\n", b" ", b"n", b"\0", b"00000010: ", b"7", b"AIza", b"|"]
    )
    return st.lists(st.one_of(whole, cut, end, between, st.binary(max_size=5)), max_size=8).map(
        b"".join
    )


@given(_pieces(), st.data())
def test_a_stream_gives_what_the_whole_would_however_it_is_cut(whole, data):
    redactor = Redactor([PLAIN, AWKWARD, PLAIN[:10]])

    assert _streamed(redactor, _cuts(data, whole)) == redactor.data(whole)


@given(_pieces())
def test_a_stream_of_single_bytes_gives_what_the_whole_would(whole):
    redactor = Redactor([PLAIN, AWKWARD])

    assert _streamed(redactor, [bytes([byte]) for byte in whole]) == redactor.data(whole)


def _keys():
    letters = st.text(string.ascii_letters + string.digits + "-_", min_size=8, max_size=70)
    any_text = st.text(string.printable[:95], min_size=8, max_size=40).filter(
        lambda key: key == key.strip()
    )
    return st.one_of(letters, any_text).filter(lambda key: len(set(key)) > 5)


@given(
    _keys(),
    st.sampled_from(list(ENCODINGS)),
    st.text(string.printable[:95], max_size=40),
    st.data(),
)
def test_no_cut_and_no_encoding_shows_eight_characters_of_a_key(key, name, before, data):
    whole = f"{before}\n{ENCODINGS[name](f'{before}{key}{before}'.encode())}".encode()

    shown = _streamed(Redactor([key]), _cuts(data, whole)).decode()

    # A text of zeros looks like a key that begins so.
    alike = _traces(key, ENCODINGS[name](before.encode() * 2), 8)
    assert not _traces(key, shown, 8) - alike


@given(st.lists(_keys(), min_size=2, max_size=4), st.data())
@example(["sk-abcdefgh", "efghijklmnop"], None)
def test_keys_that_overlap_are_all_hidden(keys, data):
    """Also a key whose beginning is the end of another."""
    joined = "".join(key[:-4] for key in keys) + keys[-1]
    texts = [
        joined,
        *(
            first[:-3] + second
            for first in keys
            for second in keys
            if second.startswith(first[-3:])
        ),
    ]
    texts.append("sk-abcdefghijklmnop")
    redactor = Redactor(keys)
    for text in texts:
        shown = redactor.text(text)
        assert not any(key in shown for key in keys)


@pytest.mark.parametrize(
    "text", ["abcdefga" * 3, "abcdefga" + "bcdefga" * 2, "abcdefga" * 2 + "bcdefga"]
)
def test_each_place_of_a_key_is_hidden_even_if_they_overlap(text):
    assert "bcdefg" not in Redactor(["abcdefga"]).text(text)


def test_a_stream_holds_back_only_what_may_be_a_key():
    stream = Redactor([PLAIN]).stream()

    assert stream.feed(b"line\n") == b"line\n"
    assert stream.feed(b"key " + PLAIN[:12].encode()) == b"key "
    assert stream.feed(b"\xff") == PLAIN[:12].encode() + b"\xff"


def test_text_without_keys_is_unchanged() -> None:
    """It searches a part of the standard library: megabytes without a key."""
    redactor = Redactor(
        [
            *KEYS,
            "sk-proj-Canary_0123456789-abcdefghijkLMNOP",
            "AIza%41%5C+/==--\\\\n\\u0041''\"\"``$(x)#Zt",
        ]
    )
    library = Path(sysconfig.get_path("stdlib"))
    files = [
        path
        for folder in (".", "encodings", "email", "unittest")
        for path in library.glob(f"{folder}/*.py")
    ]
    for path in files:
        content = path.read_bytes()
        assert redactor.data(content) is content, path
    assert len(files) > 300


def test_keys_that_come_one_by_one_are_found_without_a_new_search_for_all(monkeypatch):
    searched: list[int] = []
    search = key_search.KeySearch

    def counting(keys):
        searched.append(len(keys))
        return search(keys)

    monkeypatch.setattr(key_search, "KeySearch", counting)
    redactor = Redactor()
    keys = [f"sk-{number:04}-late-key" for number in range(32)]
    for key in keys:
        redactor.add(key)
        assert redactor.text(f"{keys[0]} and {key}") == "***ey and ***ey"
    assert sum(searched) == 32 + 5 * 16, "each key is in six searches at most"
    stream = redactor.stream()
    text = " ".join(keys).encode()
    output = b"".join(stream.feed(text[start : start + 7]) for start in range(0, len(text), 7))
    assert output + stream.finish() == b" ".join([b"***ey"] * 32)
    again = Redactor(keys)
    count = len(searched)
    assert (again.text(keys[7]), Redactor(keys).text(keys[8])) == ("***ey", "***ey")
    assert len(searched) <= count + 1
