"""Ctrl-C between any two steps of a run: it ends by itself, tells its end once, and names what
stays changed.
"""

from __future__ import annotations

import json

import pytest

from code_commit_testing import Project, Reply, ScriptedServer, install_plugin

# Sends the signal when a function begins, or when one in C returns to it.
PLUGIN = """
import os, signal, sys
from code_commit.plugin_api import hookimpl

place, seen = os.environ["INTERRUPT_AT"].split(), 0

def is_here(frame, event, returned):
    global seen
    seen += 1
    if place[0].isdigit():
        return seen == int(place[0])
    if place[0] != (event if event == "call" else returned.__name__):
        return False
    for name in place[1:]:
        if frame is None or frame.f_code.co_name != name:
            return False
        frame = frame.f_back
    return True

def profile(frame, event, argument):
    if event in {"call", "c_return"} and is_here(frame, event, argument):
        sys.setprofile(None)
        print("interrupted here", file=sys.__stderr__)
        os.kill(os.getpid(), signal.SIGINT)

class Silent:
    receive = lambda self, record: None
    close = lambda self: None

@hookimpl
def code_commit_log_sinks(plan):
    sys.setprofile(profile)
    return [Silent()]
"""


def interrupted(folder, place: str) -> tuple[int, str]:
    """Run and interrupt at `place`; return the exit code and stderr, after checks that hold
    wherever it is.
    """
    folder.mkdir()
    project = Project.create(folder, build="exit 0\n")
    with ScriptedServer([Reply("^^^a.txt\nnew\n^^^end\n")]) as server:
        environ = {"OPENAI_API_KEY": "sk-canary", **server.environment(), "INTERRUPT_AT": place}
        plugins = [install_plugin(folder / "plugins", "place", PLUGIN)]
        process = project.start(
            "--model", "gpt-5", "--json", "--quiet", environ=environ, plugins=plugins
        )
        stdout, stderr = process.communicate(timeout=60)
    events = [json.loads(line) for line in stdout.splitlines()]
    assert "Traceback" not in stderr.decode(), stderr.decode()
    assert "interrupted, at" not in stderr.decode(), "it did not end by itself"
    end = events[-1]
    assert (end["kind"], end["data"]["exit_code"]) == ("run.finished", process.returncode), (
        stderr.decode()
    )
    logged = [
        json.loads(line) for line in (project.run_folder / "events.jsonl").read_bytes().splitlines()
    ]
    assert events == logged
    if process.returncode and (project.root / "a.txt").read_bytes() == b"new\n":
        assert end["data"]["data"]["changed"] == ["a.txt"]
    return process.returncode, stderr.decode()


@pytest.mark.parametrize(
    ("place", "exit_codes"),
    [
        ("call check apply", {130}),
        ("call move _move", {130}),
        # The workflow has decided, and the last files are written.
        ("call keep_whole_diff _clean_up", {0}),
        # The run has ended: the command prints its last event, and exits as it says.
        ("call as_line receive _run_safely _call _drain close", {0}),
        ("call _report run_invocation", {0}),
    ],
)
def test_ctrl_c_at_a_bad_moment_ends_the_run_well(tmp_path, place, exit_codes):
    code, stderr = interrupted(tmp_path / "made", place)
    assert "interrupted here" in stderr
    assert code in exit_codes


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 3200, 400))
def test_ctrl_c_anywhere_ends_the_run_well(tmp_path, first):
    for place in range(first + 1, 39_000, 3200):
        code, stderr = interrupted(tmp_path / str(place), str(place))
        assert code in {130, 0}, (place, stderr)
