"""Output is kept completely up to a limit, then its two ends, with limited memory and disk
space.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_commit_workspace.keys.redaction import Redactor
from code_commit_workspace.process.capture import CappedFile, HeadAndTail, ProcessLog

NOTE = re.compile(rb"\n\[\.\.\. (\d+) bytes left out \.\.\.\]\n")
KEY = "sk-canary-0123456789"
pieces = st.lists(st.binary(max_size=30).map(lambda piece: piece.replace(b"[", b"(")), max_size=30)


@given(pieces, st.integers(0, 60))
def test_memory_keeps_both_ends_and_counts_the_rest(fed, limit):
    output = HeadAndTail(limit)
    for piece in fed:
        output.feed(piece)
    whole = b"".join(fed)

    head, *note = NOTE.split(output.value())

    if len(whole) <= limit:
        assert output.value() == whole
    else:
        count, tail = note
        assert whole.startswith(head)
        assert whole.endswith(tail)
        assert len(head) + len(tail) == limit
        assert int(count) == len(whole) - limit


def test_memory_is_bounded_by_the_limit():
    output = HeadAndTail(1000)
    for _ in range(1000):
        output.feed(b"x" * 10_000)
        assert len(output._head) + len(output._tail) <= 3000


@given(pieces, st.integers(0, 60))
def test_a_file_gets_the_head_at_once_and_the_tail_at_the_end(fed, limit):
    file = io.BytesIO()
    capped = CappedFile(file, limit)
    for piece in fed:
        capped.feed(piece)
    whole = b"".join(fed)
    assert file.getvalue() == whole[: limit - limit // 2]

    capped.finish()

    head, *note = NOTE.split(file.getvalue())
    if len(whole) <= limit:
        assert file.getvalue().removesuffix(b"\n") == whole.removesuffix(b"\n")
    else:
        count, tail = note
        assert whole.startswith(head)
        assert int(count) == len(whole) - limit
        assert tail.removesuffix(b"\n") == whole[len(head) + int(count) :].removesuffix(b"\n")


def test_a_log_is_written_as_output_comes_and_holds_no_key(tmp_path):
    log = tmp_path / "1-build.txt"
    with ProcessLog(
        log, Redactor([KEY]), f"command: echo {KEY}", in_memory=100, on_disk=1000
    ) as record:
        record.output.feed(b"first " + KEY[:9].encode())
        assert log.read_bytes() == b"command: echo ***89\n\n--- output ---\nfirst "
        record.output.feed(KEY[9:].encode() + b" bad\xff")
        assert record.finish() == b"first ***89 bad\xff"
        assert record.finish() == b"first ***89 bad\xff"
        record.end("ended with exit code 1")

    assert log.read_bytes() == (
        b"command: echo ***89\n\n--- output ---\nfirst ***89 bad\xff\n\n--- end ---\nended with exit code 1\n"
    )
    assert list(tmp_path.iterdir()) == [log]


def test_the_log_keeps_what_a_terminal_would_overwrite(tmp_path):
    with ProcessLog(
        tmp_path / "log", Redactor(), "command: x", in_memory=100, on_disk=1000
    ) as record:
        record.output.feed(b"10%\r20%\r")
        record.output.feed(b"30%\r\ndone\r\n")
        assert record.finish() == b"30%\r\ndone\r\n"
    assert b"10%\r20%\r30%\r\ndone\r\n" in (tmp_path / "log").read_bytes()


def test_a_key_that_overwriting_puts_together_is_hidden(tmp_path):
    with ProcessLog(
        tmp_path / "log", Redactor([KEY]), "command: x", in_memory=100, on_disk=1000
    ) as record:
        record.output.feed(f"{'x' * 9}{KEY[9:]}\r{KEY[:9]}\n".encode())
        assert record.finish() == b"***89\n"


def test_output_is_kept_even_if_its_log_is_removed_meanwhile(tmp_path):
    with ProcessLog(tmp_path / "log", Redactor(), "command: x", in_memory=10, on_disk=10) as record:
        (tmp_path / "log").unlink()
        record.output.feed(b"bad")
        assert record.finish() == b"bad"


def test_a_link_in_the_place_of_a_log_is_not_followed(tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (tmp_path / "log").symlink_to(precious)

    with ProcessLog(tmp_path / "log", Redactor(), "command: x", in_memory=10, on_disk=10) as record:
        record.end("ended with exit code 0")

    assert precious.read_text() == "mine"
    assert (tmp_path / "log").read_text().startswith("command: x\n")
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o600


def test_a_log_that_cannot_be_opened_leaves_no_handle_open(tmp_path):
    (tmp_path / "log").mkdir()
    before = len([*Path("/dev/fd").iterdir()])
    with pytest.raises(IsADirectoryError) as caught:
        ProcessLog(tmp_path / "log", Redactor(), "command: x", in_memory=10, on_disk=10)
    assert len([*Path("/dev/fd").iterdir()]) <= before
    assert caught.value.filename == str(tmp_path / "log")
