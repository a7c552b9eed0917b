"""What people see of a process that failed: its last lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from code_commit_workspace import ProcessResult


def result(output="", **more):
    return ProcessResult(**{"exit_code": 1, "output": output.encode(), "log": Path("log")} | more)


def test_blank_lines_are_left_out_and_long_ones_cut():
    shown = result("a\n\n  \n" + "x" * 400 + "\n" + "y" * 401 + "\n").last_lines()
    assert shown == "a\n" + "x" * 400 + "\n" + "y" * 399 + "…"
    assert len(result("line\n" * 20).last_lines().split()) == 10


def test_it_passed_if_it_ended_with_0_and_altered_nothing():
    assert result("warning", exit_code=0).passed
    assert not result(exit_code=0, tampered=("build.sh",)).passed
    assert not result(exit_code=1).passed
    assert not result(exit_code=None).passed


@pytest.mark.parametrize(
    ("fields", "ending"),
    [
        ({"exit_code": 0}, "ended with exit code 0"),
        ({"exit_code": 137}, "ended with exit code 137"),
        ({"signal": 9}, "was ended by signal 9 (SIGKILL)"),
        ({"exit_code": -9}, "was ended by signal 9 (SIGKILL)"),
        ({"signal": 63}, "was ended by signal 63"),
        ({}, "was ended by a signal"),
        ({"time_limit": 60.0}, "ran into its time limit of 60 s"),
        ({"time_limit": 0.5, "signal": 9}, "ran into its time limit of 0.5 s"),
    ],
)
def test_how_it_ended_is_one_sentence(fields, ending):
    ended = result(**{"exit_code": None} | fields)
    assert (ended.ending, ended.timed_out) == (ending, "time_limit" in fields)
