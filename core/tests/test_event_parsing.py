"""Events are found in the bytes of a stream wherever they are cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_commit.models.http.streaming import EventParser
from code_commit.plugin_api import ProviderError, StreamEvent

PIECES = st.sampled_from(
    [b"data:", b"data: ", b"data", b"event: x", b"event", b":", b": ping", b"id: 7", b"a", b"[]", b" ", b"\xff", b"\xef\xbb\xbf"]
    + [b"\n", b"\r", b"\r\n"] * 4
)  # fmt: skip


def events_of(pieces: list[bytes], *, lines: bool = False, cap: int = 1000) -> list[StreamEvent]:
    parser = EventParser(cap, lines=lines)
    return [event for piece in pieces for event in parser.feed(piece)]


def by_the_standard(stream: bytes) -> list[tuple[str, bytes]]:
    """Read server-sent events as the HTML standard words it, byte by byte."""
    stream = stream.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    events = []
    name, data = b"", b""
    for line in stream.split(b"\n")[:-1]:
        field, colon, value = line.partition(b":")
        if line == b"":
            if data:
                events.append((name.decode("utf-8", "replace"), data[:-1]))
            name, data = b"", b""
        elif field == b"data":
            data += (value[1:] if value.startswith(b" ") else value) + b"\n"
        elif field == b"event" and (colon or not value):
            name = value[1:] if value.startswith(b" ") else value
    return events


@given(st.lists(PIECES, max_size=40).map(b"".join), st.data())
def test_any_cut_gives_the_events_of_the_standard(stream, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    pieces = [
        stream[start:end]
        for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)
        if start < end
    ]
    expected = by_the_standard(stream)
    assert [(event.name, event.data) for event in events_of(pieces)] == expected
    assert [
        (event.name, event.data)
        for event in events_of([stream[at : at + 1] for at in range(len(stream))])
    ] == expected


@given(
    st.lists(
        st.sampled_from([b'{"a":1}', b"{}", b" ", b"\n", b"\r\n", b"data: {}"]), max_size=20
    ).map(b"".join)
)
def test_lines_of_json_are_events(stream):
    expected = [StreamEvent("", line) for line in stream.splitlines() if line.strip()]
    for size in (1, 3, 1000):
        pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
        assert events_of([*pieces, b"\n"], lines=True) == expected


ERROR = b'{\n  "error": {\n    "code": 503\n  }\n}\n'


@pytest.mark.parametrize("size", [1, 5, 1000])
@pytest.mark.parametrize(
    ("error", "data"),
    [
        (b'{"error": {"code": 503}}\n', b'{"error": {"code": 503}}\n'),
        (ERROR, ERROR),
        (b'error: {"code": 503}\n\n', b'{"code": 503}'),
        (b'error: {"code": 503}', b'{"code": 503}'),
        (b'error: {"code": 503}\n', b'{"code": 503}'),
        (b'event: error\ndata: {"code": 503}\n', b'{"code": 503}'),
        (b'{\n  "error": {\n', b'{\n  "error": {\n'),  # it was cut
    ],
)
def test_an_error_in_another_form_is_an_event_named_error(error, data, size):
    parser, stream = EventParser(1000, lines=False), b"data: 1\n\n" + error
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    events = [event for piece in pieces for event in parser.feed(piece)] + [*parser.finish()]
    assert [(event.name, event.data.strip()) for event in events] == [
        ("", b"1"),
        ("error", data.strip()),
    ]


def test_an_error_without_an_end_is_smaller_than_the_limit():
    with pytest.raises(ProviderError, match="larger than 1000 bytes"):
        events_of([b"{\n" + b" x\n" * 499])


def test_an_event_without_its_blank_line_is_none():
    assert events_of([b"data: 1\n\ndata: 2\n"]) == [StreamEvent("", b"1")]


@pytest.mark.parametrize(
    "stream", [b"data: " + b"x" * 1001, b"data: x\n" * 501, b":" + b"x" * 1001, b"x" * 1001 + b"\n"]
)
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_a_large_event_is_an_error_wherever_it_is_cut(stream, size):
    with pytest.raises(ProviderError, match="larger than 1000 bytes") as caught:
        events_of([stream[at : at + size] for at in range(0, len(stream), size)])
    assert caught.value.kind == "invalid_response"


@pytest.mark.parametrize(
    ("stream", "lines", "size_of_event"),
    [
        (b"data: " + b"x" * 994 + b"\n\n", False, 994),
        (b"data: x\n" * 500 + b"\n", False, 999),
        (b"{" + b" " * 998 + b"}\n", True, 1000),
    ],
)
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_an_event_may_be_as_large_as_the_limit(stream, lines, size_of_event, size):
    [event] = events_of([stream[at : at + size] for at in range(0, len(stream), size)], lines=lines)
    assert len(event.data) == size_of_event


def test_an_event_of_lines_is_smaller_than_the_limit():
    with pytest.raises(ProviderError, match="larger than 1000 bytes"):
        events_of([b"data: xx\n" + b"data: x\n" * 499])


def test_a_long_event_in_small_pieces_takes_linear_time():
    parser, piece = EventParser(1 << 25, lines=False), b"x" * 1000
    for _ in range(20_000):  # 20 MB: copying all at each piece would take minutes
        assert not list(parser.feed(piece))
