"""Output is reduced to what a terminal would show, in pieces of any size and with little memory."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from code_commit_workspace.process.terminal_text import TerminalRows, as_on_terminal

FRAMES = b"".join(
    b"\r[%-20s] %d%%" % (b"#" * (number // 1000), number // 200) for number in range(20_001)
)


def test_a_progress_bar_becomes_its_last_frame():
    assert (
        as_on_terminal(b"start\n" + FRAMES + b"\nend") == b"start\n[####################] 100%\nend"
    )
    colored = FRAMES.replace(b"[", b"\x1b[32m[").replace(b"]", b"]\x1b[0m")
    assert as_on_terminal(colored) == b"\x1b[32m[####################]\x1b[0m 100%"


@pytest.mark.parametrize(
    ("output", "shown"),
    [
        (b"a\r\nb\r\n", b"a\r\nb\r\n"),
        (b"a\r\r\nb", b"a\r\nb"),
        (b"abcdef\rxy\n", b"xycdef\n"),
        ("█░░ 1\r██░ 2\r███".encode(), "███ 2".encode()),
        (b"done\r", b"done"),
        (b"|\b/\b-\b \bdone", b"done"),
        (b"\b\bword", b"word"),
        (b"n\bna\bam\bme\be", b"name"),
        (b"long line\r\x1b[Kshort\n", b"short\n"),
        (b"long line\x1b[2K\x1b[1Gshort\n", b"short\n"),
        (b"\x1b[31mlong red\x1b[0m\r\x1b[32mok\x1b[0m\n", b"\x1b[32mok\x1b[0m\n"),
        (b"100%\r\x1b[?25h\nend\n", b"100%\nend\n"),
        (b"50%\r\x1b[K\nend\n", b"\nend\n"),
        (b"\xff\xfe1\r\xff\xfe2\n", b"\xff\xfe2\n"),
        (b"", b""),
    ],
)
def test_text_that_overwrites_other_text(output, shown):
    assert as_on_terminal(output) == shown


@given(
    st.lists(st.sampled_from([b"a", b"bc", b"\r", b"\n", b"\r\n", b"\b", b"\x1b[K", "ä".encode()])),
    st.integers(1, 9),
)
@example([b"a", b"\r", b"\n"], 1)
def test_pieces_make_no_difference(parts, size):
    whole = b"".join(parts)
    rows = TerminalRows()
    pieces = [rows.feed(whole[start : start + size]) for start in range(0, len(whole), size)]
    assert b"".join([*pieces, rows.finish()]) == as_on_terminal(whole)


@given(st.binary())
def test_without_movements_every_byte_stays(output):
    still = re.sub(rb"[\r\b\x1b]", b"", output)
    assert as_on_terminal(still) == still


def test_a_row_without_end_is_not_collected():
    rows = TerminalRows()
    for _ in range(100):
        assert len(rows.feed(b"x" * 100_000)) < 101_000
        assert len(rows.feed(FRAMES)) < 70_000
        assert len(rows._open_row) < 70_000
