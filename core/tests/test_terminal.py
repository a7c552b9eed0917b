"""Untrusted text reaches a terminal as text, never as commands."""

from __future__ import annotations

import io
import os
import sys

import pytest

from code_commit.terminal.screen import align_columns, can_repaint, may_color, terminal_columns
from code_commit.terminal.streams import SafeStream

DANGEROUS = {"Cc", "Cf", "Cs", "Zl", "Zp"}


# --- streams --------------------------------------------------------------------------------------
class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environ", "repaint", "color"),
    [
        (Terminal(), {"TERM": "xterm"}, True, True),
        (Terminal(), {"TERM": "xterm", "NO_COLOR": "1"}, True, False),
        (Terminal(), {"TERM": "xterm", "NO_COLOR": ""}, True, True),
        (Terminal(), {"TERM": "dumb"}, False, False),
        (Terminal(), {"TERM": ""}, False, False),
        (Terminal(), {}, False, False),
        (io.StringIO(), {"TERM": "xterm"}, False, False),
        (None, {"TERM": "xterm"}, False, False),
    ],
)
def test_a_terminal_is_painted_as_its_environment_allows(stream, environ, repaint, color):
    assert (can_repaint(stream, environ), may_color(stream, environ)) == (repaint, color)


def test_a_closed_terminal_is_not_painted():
    stream = Terminal()
    stream.close()
    assert not can_repaint(stream, {"TERM": "xterm"})


def pipe(encoding="utf-8"):
    reader, writer = os.pipe()
    return reader, os.fdopen(writer, "w", encoding=encoding)


def test_a_line_for_people_is_escaped_and_written_at_once():
    reader, stream = pipe()
    with stream:
        os.set_blocking(reader, False)
        SafeStream(stream).print("a\x1b[31m")
        assert os.read(reader, 30) == b"a\\x1b[31m\n"
    os.close(reader)


def test_a_stream_is_written_until_its_reader_has_gone():
    reader, stream = pipe()
    with stream:
        safe = SafeStream(stream)
        assert (safe.write("one"), safe.encoding, safe.isatty(), safe.fileno()) == (
            3,
            "utf-8",
            False,
            stream.fileno(),
        )
        safe.flush()
        assert os.read(reader, 10) == b"one"
        os.close(reader)
        safe.write("two")
        safe.flush()
        assert (safe.write("three"), safe.failure) == (5, None)
        safe.flush()
        with pytest.raises(OSError, match="closed"):
            safe.fileno()
        stream.flush()  # what was buffered goes nowhere, and so does what follows
        stream.write("four")
    assert (safe.encoding, safe.isatty()) == ("ascii", False)


def test_a_stream_that_fails_otherwise_says_so():
    with open("/dev/full", "w", encoding="utf-8") as stream:  # noqa: PTH123 - a device
        safe = SafeStream(stream)
        safe.write("x")
        safe.flush()
    assert isinstance(safe.failure, OSError)


def test_a_stream_that_is_closed_is_left_alone():
    stream = io.StringIO()
    stream.close()
    safe = SafeStream(stream)
    assert safe.write("x") == 1
    assert isinstance(safe.failure, ValueError)
    safe = SafeStream(None)
    assert (safe.write("x"), safe.failure) == (1, None)
    safe.flush()


def test_what_a_stream_cannot_encode_is_escaped():
    reader, stream = pipe("ascii")
    with stream:
        SafeStream(stream).write("né ☃")
    assert os.read(reader, 30) == b"n\\xe9 \\u2603"
    os.close(reader)


def test_columns_are_aligned_and_the_last_one_is_wrapped():
    rows = [("a", "one"), ("long", "several words that are wrapped")]
    assert align_columns(rows) == "a     one\nlong  several words that are wrapped\n"
    assert align_columns(rows, 24) == "a     one\nlong  several words that\n      are wrapped\n"
    assert align_columns(rows, 20) == align_columns(rows), "no room is left"
    assert align_columns([("a", f"one {'x' * 30}")], 24) == f"a  one\n   {'x' * 30}\n"
    assert (
        align_columns([("a", "one two-three four-five")], 22) == "a  one two-three\n   four-five\n"
    )
    assert align_columns([]) == ""


@pytest.mark.parametrize(
    ("columns", "expected"), [("100", 100), ("", 80), ("0", 80), ("-5", 80), ("9" * 5000, 80)]
)
def test_the_columns_of_a_terminal(columns, expected, monkeypatch):
    monkeypatch.setattr(sys, "__stdout__", None)
    assert terminal_columns({"COLUMNS": columns}) == expected
