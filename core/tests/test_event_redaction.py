"""No key can be put together from events that were kept, however it was split over them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from code_commit.log import event_redaction
from code_commit.log.event_redaction import EventRedactor
from code_commit_workspace import Redactor

KEY = "sk-canary-0123456789-key7Q"


def redacted(events: Sequence[bytes], *keys: str, at_once: int = 1) -> list[bytes]:
    """Return the lines of `events`, taken as they come."""
    redactor = EventRedactor(Redactor(keys or [KEY]))
    lines: list[bytes] = []
    for count, event in enumerate(events, 1):
        redactor.add(event)
        if count % at_once == 0:
            lines += redactor.take(redactor.count)
    return lines + redactor.take()


def texts(*pieces: str) -> list[bytes]:
    return [json.dumps({"id": "a1", "delta": {"text": piece}}).encode() for piece in pieces]


def strings(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield each string of a JSON value with the name of its member."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, list):
        for member in value:
            yield from strings(member, name)
    elif isinstance(value, dict):
        for key, member in value.items():
            yield from strings(member, key)


def joined(lines: Sequence[bytes]) -> list[str]:
    """Return what somebody can put together: all there is, all strings, the strings of one name."""
    by_name: dict[str | None, list[str]] = defaultdict(list)
    for line in lines:
        for name, text in strings(json.loads(line)):
            by_name[name].append(text)
            by_name[None].append(text)
    return [b"".join(lines).decode(), *("".join(texts) for texts in by_name.values())]


def test_without_a_key_events_stay_as_they_are():
    events = [*texts("Hello", " ", "world 7", "3 6b"), b'{ "a" : [1.50, "x"] }', b"{}", b"[]", b"0"]
    assert redacted(events) == events


@pytest.mark.parametrize("at_once", [1, 3, 100])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 20, 100])
def test_a_key_that_is_split_is_hidden_and_the_other_text_stays(size, at_once):
    whole = f"before {KEY} after this"
    lines = redacted(
        texts(*(whole[at : at + size] for at in range(0, len(whole), size))), at_once=at_once
    )
    assert not any(KEY[4:-2] in text for text in joined(lines))
    other_text = "".join(
        text for line in lines for name, text in strings(json.loads(line)) if name == "text"
    )
    assert size > 20 or other_text.replace(KEY[:3], "").strip().endswith("this"), other_text
    assert b'"***7Q"' in lines


SHAPES: list[Callable[[str, int], Any]] = [
    lambda piece, _: {"id": "a1", "delta": {"text": piece}},
    lambda piece, index: {"delta": {"text": piece}, "padding": "x" * (index % 3)},
    lambda piece, _: {"parts": [{"text": piece[:1]}, {"text": piece[1:]}]},
    lambda piece, _: {"text": piece[:1], "inner": {"text": piece[1:]}},
    lambda piece, _: [piece],
]
pieces_of_keys = st.integers(1, 12).flatmap(
    lambda size: st.lists(st.integers(0, 80), max_size=size)
)


@given(
    key=st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=8, max_size=60),
    before=st.text(max_size=30),
    after=st.text(max_size=30),
    cuts=pieces_of_keys,
    at_once=st.integers(1, 5),
    escape=st.booleans(),
    shape=st.sampled_from(SHAPES),
)
@example(key="aaaaaaaa", before="", after="", cuts=[4], at_once=1, escape=False, shape=SHAPES[0])
@example(
    key="12345678",
    before="1",
    after="8",
    cuts=[1, 2, 3, 4],
    at_once=1,
    escape=False,
    shape=SHAPES[0],
)
@example(
    key=r"\\\\\\\\", before="", after="", cuts=[3, 5, 6], at_once=2, escape=True, shape=SHAPES[0]
)
@example(
    key="01100110",
    before="",
    after="",
    cuts=[1, 2, 3, 4, 5, 6, 7],
    at_once=3,
    escape=False,
    shape=SHAPES[1],
)
@example(
    key="a0b1b1c2",
    before="b1b0",
    after="",
    cuts=[2, 4, 6, 8, 10],
    at_once=1,
    escape=False,
    shape=SHAPES[2],
)
def test_no_key_can_be_put_together(key, before, after, cuts, at_once, escape, shape):
    whole = before + (json.dumps(key)[1:-1] if escape else key) + after
    places = sorted({0, len(whole), *(cut for cut in cuts if cut < len(whole))})
    pieces = [whole[start:end] for start, end in pairwise(places)]
    events = [json.dumps(shape(piece, index)).encode() for index, piece in enumerate(pieces)]
    lines = redacted(events, key, at_once=at_once)
    assert len(lines) == len(events)
    assert not [text for text in joined(lines) if key in text]


ALIKE = [b'{"a": 1, "text": "%s"}' % text for text in (b"x", b"y", b"z")]


@pytest.mark.parametrize(
    "events",
    [
        texts(*map(str, range(1000))),
        [b'{"a": 1, "text": "%d \\n", "z": [2]}' % number for number in range(1000)],
        [b'{"same": "x"}'] * 1000,
        [b'"%d"' % number for number in range(1000)],
        [b'{"text": "%d", "more": "%d"}' % (number, number) for number in range(1000)],
        [b'{"a": 1}', *texts(*map(str, range(1000)))],
        [*[b"0"] * 40, *texts(*map(str, range(1000)))],
        [*texts("one"), b'{"stop": 1}'] * 500,
    ],
)
def test_events_that_look_alike_stay_as_they_are(events):
    assert redacted(events, at_once=100) == events


@pytest.mark.parametrize(
    "pieces", [(rb"key-with-\u0022quo", b"tes-42"), (rb"key-with-\"", b"quotes-42")]
)
def test_pieces_with_escapes_are_joined_in_events_that_look_alike(pieces):
    lines = redacted(
        [*ALIKE, *(b'{"a": 1, "text": "%s"}' % piece for piece in pieces)], 'key-with-"quotes-42'
    )
    assert lines == [*ALIKE, b'"***42"', b'"***42"']


@pytest.mark.parametrize(
    "odd",
    [
        b'x", "b": "\xff',
        b"\xff",
        b"\\",
        b"\n",
        b'x", "more": "y',
        b"",
        b"\\x",
        b"\\u12",
        rb"\ud800",
    ],
)
def test_an_event_that_only_looks_alike_is_parsed(odd):
    event = b'{"a": 1, "text": "%s"}' % odd
    (line,) = redacted([*ALIKE, event])[3:]
    try:
        expected = json.loads(event)
    except ValueError:
        expected = event.decode("utf-8", "backslashreplace")
    assert json.loads(line) == expected


def test_strings_in_lists_and_names_are_searched_too():
    events = [
        b'{"parts": [{"text": "%s"}, {"text": "%s"}]}' % (KEY[:9].encode(), KEY[9:].encode()),
        b'["%s", ["%s"]]' % (KEY[:9].encode(), KEY[9:].encode()),
        b'{"%s": 1}' % KEY.encode(),
        b'"%s"' % KEY.encode(),
    ]
    assert redacted(events) == [b'"***7Q"'] * 4


def test_texts_of_one_group_are_joined_where_other_events_are_between():
    redactor = EventRedactor(Redactor([KEY]))
    for index, piece in ((0, KEY[:9]), (1, "other"), (0, KEY[9:])):
        redactor.add(json.dumps({"index": index, "text": piece}).encode())
        redactor.add_text(("text", index), piece)
    assert redactor.take() == [b'"***7Q"', b'{"index": 1, "text": "other"}', b'"***7Q"']


def test_a_base64_key_in_pieces_is_hidden():
    import base64

    whole = base64.b64encode(f"key={KEY}".encode()).decode()
    lines = redacted(texts(whole[:8], whole[8:20], whole[20:]))
    assert lines[1:] == [b'"***7Q"'] * 2


@pytest.mark.parametrize("first", [0, 7])
@pytest.mark.parametrize("size", [1, 2, 5, 9, 16, 30, 70])
def test_a_dump_of_a_key_in_pieces_is_hidden(size, first):
    data = b"=" * first + KEY.encode() + b" and more"
    rows = "".join(f"{at:08x}: {data[at : at + 8].hex(' ', 2)}\n" for at in range(0, len(data), 8))
    lines = redacted(texts(*(rows[at : at + size] for at in range(0, len(rows), size)), "end"))
    shown = "".join(
        text for line in lines for name, text in strings(json.loads(line)) if name == "text"
    )
    assert not any(
        KEY.encode()[at : at + 4].hex(" ", 2) in shown for at in range(first % 2, len(KEY) - 4, 2)
    )
    assert lines[-1:] == texts("end")


def test_what_waits_for_a_key_holds_up_no_event_before_it():
    redactor = EventRedactor(Redactor([KEY]))
    redactor.add(texts(KEY[:3])[0])
    assert redactor.take(1) == texts(KEY[:3])  # too little of a key to wait for
    redactor.add(b'{"other": "x"}')
    redactor.add(texts(KEY[3:9])[0])
    assert redactor.take(3) == [b'{"other": "x"}']
    redactor.add(texts("!")[0])
    assert redactor.take() == texts(KEY[3:9], "!")


@pytest.mark.parametrize(
    "data", [b"[DONE]", b"\xff\xfe", b"NaN", b"{", b'{"a": \x00}', b"[" * 100_000]
)
def test_what_is_no_json_becomes_a_string(data):
    (line,) = redacted([data])
    assert json.loads(line) == data.decode("utf-8", "backslashreplace")


def test_each_event_is_one_line():
    assert redacted([b'{"a":\n1,\r\n"b": "\\n"}']) == [b'{"a":1,"b":"\\n"}']


def test_what_may_begin_a_key_is_held_back_until_it_is_decided():
    redactor = EventRedactor(Redactor([KEY]))
    for count, (piece, released) in enumerate((("a", 1), (KEY[:6], 0), ("!", 2), (KEY[:6], 0)), 1):
        redactor.add(texts(piece)[0])
        assert len(redactor.take(count)) == released
    assert redactor.take() == texts(KEY[:6])


def test_memory_is_bounded_by_what_a_service_sends(monkeypatch):
    monkeypatch.setattr(event_redaction, "_MOST_WAITING", 1000)
    redactor = EventRedactor(Redactor([KEY]))
    redactor.add(b'{"once": "%s"}' % KEY[:8].encode())
    first = redactor.take(redactor.count)
    for number in range(1200):
        redactor.add(b'{"name-%d": "%s"}' % (number, b"x" * 10))
        if number % 50 == 0:
            first += redactor.take(redactor.count)
    first += redactor.take()
    assert first[0] == b'"***"'  # it may begin a key, and the rest did not come
    assert len(first) == 1201
    assert len(redactor._channels) <= 1001
