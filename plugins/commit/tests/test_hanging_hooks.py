"""A run names the code of a plugin for this workflow that hangs."""

from __future__ import annotations

from code_commit_testing import install_plugin

# Each part waits until the log names it: the test hangs, up to a limit, where it does not.
PLUGIN = """
import threading
import time
from pathlib import Path
import code_commit.run.session as session
from code_commit.plugin_api import Change, hookimpl
from code_commit_commit.hooks import Context, ResponseFormat, Selection

session._HANGS_SECONDS = 0.05
PAUSE = threading.Event()


def hang(part):
    warning = f"no progress for 0.05 s in the {part} of code-commit-odd"
    end = time.monotonic() + 20
    while not PAUSE.wait(0.02) and time.monotonic() < end:
        if any(warning in log.read_text() for log in Path("logs").glob("*/events.jsonl")):
            return
    raise TimeoutError(f"the log does not name the {part}")


def choose(request):
    hang("context slow")
    return Selection(paths=["a.txt"])


def parse(text, tree):
    hang("response format slow")
    return [Change("a.txt", text.encode())]


def instructions(run, kind):
    hang("instructions")
    return "Do it slowly."


@hookimpl
def code_commit_contexts(settings):
    return [Context("slow", "slow", choose)]


@hookimpl
def code_commit_formats(settings):
    return [ResponseFormat("slow", "slow", "", parse)]


@hookimpl
def code_commit_instructions(settings):
    return [instructions]
"""


def test_the_log_names_hooks_of_the_workflow_that_hang(change):
    install_plugin(change.plugins, "odd", PLUGIN)
    finished = change(["good\n"], "--context=slow", "--format=slow")
    assert finished.exit_code == 0, (finished.stderr, finished.stdout)
    assert change.project.read("a.txt") == "good\n"
