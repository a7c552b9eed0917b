"""What events of processes say about builds, endings and success."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from code_commit.plugin_api import ProcessFinished, is_build, process_ending, process_passed

BUILD = ("bash", "build.sh")


@pytest.mark.parametrize(
    ("argv", "is_one"),
    [
        (BUILD, True),
        (("build.sh",), True),
        (("build.sh", "x"), False),
        ((), False),
        ("build.sh", False),
        (None, False),
    ],
)
def test_the_build_is_known_by_its_command_line(argv, is_one):
    assert is_build(argv) is is_one


@pytest.mark.parametrize(
    ("fields", "ending", "passed"),
    [
        ({"ending": "was ended by signal 9 (SIGKILL)"}, "was ended by signal 9 (SIGKILL)", False),
        ({"exit_code": 0, "ending": "ended with exit code 0"}, "ended with exit code 0", True),
        ({"exit_code": 0, "tampered": ("a", "b")}, "changed its own checks: a, b", False),
        ({"exit_code": 2}, "ended with exit code 2", False),
        ({"timed_out": True}, "ran into its time limit", False),
        ({}, "was ended by a signal", False),
        ({"exit_code": "2", "tampered": 1}, "changed its own checks: 1", False),
    ],
)
def test_the_ending_and_success_of_a_process(fields, ending, passed):
    recorded = {"argv": BUILD, "exit_code": None, "timed_out": False, "tampered": ()}
    finished = ProcessFinished(**recorded | {"seconds": 1.0, "log": "l"} | fields)
    for data in (asdict(finished), fields):
        assert (process_ending(data), process_passed(data)) == (ending, passed)
