"""What people see of a process that failed: its last lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from code_commit_workspace import ProcessResult


def result(stdout="", stderr="", **more):
    fields = {"exit_code": 1, "log": Path("log"), "timed_out": False, "tampered": ()}
    return ProcessResult(stdout=stdout.encode(), stderr=stderr.encode(), **fields | more)


def lines(prefix, *numbers):
    return "".join(f"{prefix}{number}\n" for number in numbers)


@pytest.mark.parametrize(
    ("out", "err", "shown"),
    [
        (range(3), range(3), (range(1, 3), range(1, 3))),
        (range(1), range(9), (range(1), range(6, 9))),
        (range(9), range(1), (range(6, 9), range(1))),
        (range(0), range(9), (range(0), range(5, 9))),
        (range(9), range(0), (range(5, 9), range(0))),
    ],
)
def test_both_streams_share_the_lines(out, err, shown):
    found = result(lines("o", *out), lines("e", *err)).last_lines(4)
    assert found + "\n" == lines("o", *shown[0]) + lines("e", *shown[1])


def test_blank_lines_are_left_out_and_long_ones_cut():
    shown = result("a\n\n  \n" + "x" * 400 + "\n" + "y" * 401 + "\n").last_lines()
    assert shown == "a\n" + "x" * 400 + "\n" + "y" * 400 + "..."
    assert len(result(lines("o", *range(20))).last_lines().split()) == 10


def test_it_passed_if_it_ended_with_0_and_altered_nothing():
    assert result(exit_code=0, stderr="warning").passed
    assert not result(exit_code=0, tampered=("build.sh",)).passed
    assert not result(exit_code=1).passed
    assert not result(exit_code=None).passed
