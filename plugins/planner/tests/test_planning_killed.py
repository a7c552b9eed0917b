"""Runs that are killed at one system call, in the middle of a rename or between two calls of git,
or at any event.
"""

from __future__ import annotations

import json
import re
import signal
from itertools import islice
from random import Random

import pytest

from code_commit_testing import install_plugin

KILLER = '''
"""A plugin that ends the process at the n-th call whose description contains the given words."""
import os, signal, sys
from code_commit.plugin_api import hookimpl

WANTED, left = os.environ["KILLED_AT"], [int(os.environ["KILLED_AT_CALL"])]

def look(event, given):
    if event == "os.rename":
        call = f"rename {given[0]} {given[1]}"
    elif event == "subprocess.Popen" and str(given[0]).endswith("/git"):
        call = "git " + " ".join(map(str, given[1][1:]))
    else:
        return
    left[0] -= WANTED in call
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)

@hookimpl
def code_commit_secrets():
    return []

sys.addaudithook(look)
'''
NEW, HISTORY = "g3-plan/new_requirements.md", "g3-plan/planner_history.txt"
ANSWERS = {
    "correct branch": "yes",
    "Proceed anyway": "yes",
    "resume the previous implementation": "yes",
    "Please review the currently staged files": "commit",
    "Commit now": "yes",
    "consider the todos": "yes",
    "it is acceptable": "yes",
}
REFINED = ["start a review", "it is acceptable", "Please review the currently staged files"]
RESUMED = ["resume the previous implementation", "Please review the currently staged files"]
REVIEWED = ["Please review the currently staged files"]
AGAIN = ["Commit now"]
SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("call", "number", "offered"),
    [
        # The new requirements are already moved.
        ("rename new-0 current_requirements.md", 1, REFINED),
        # Between the two names.
        pytest.param("rename new-2 completed_todo", 1, RESUMED, marks=SLOW),
        # Renamed, which is not recorded.
        pytest.param(" --quiet HEAD^{commit}", 2, REVIEWED, marks=SLOW),
        # STAGE: the files to add are recorded, but not added.
        pytest.param(" add --all", 1, REVIEWED, marks=SLOW),
        pytest.param("staging.json", 3, REVIEWED, marks=SLOW),  # COMMIT: nothing is recorded yet
        # COMMIT: both lines are written, but not staged.
        pytest.param(" add --all", 2, AGAIN, marks=SLOW),
        pytest.param(" commit ", 1, AGAIN, marks=SLOW),  # others' entries are out of the index
        # Committed, with others' entries still out of the index.
        pytest.param(" ls-files -sz", 1, [], marks=SLOW),
    ],
)
def test_killed_at_a_call(codebase, tmp_path, call, number, offered):
    plugins = install_plugin(tmp_path / "plugins", "killer", KILLER)
    codebase.write(NEW, "old words\n")
    codebase.write("theirs.txt", "x\n")
    codebase.project.git("add", "theirs.txt")
    environ = {"PYTHONPATH": str(plugins), "KILLED_AT": call, "KILLED_AT_CALL": str(number)}
    person = codebase.start(environ=environ)
    person.answers("yes", "yes", "", "yes")
    if offered in (AGAIN, []) or (call, number) == ("staging.json", 3):
        person.answers("commit")
    person.process.wait(60)
    assert person.process.returncode == -signal.SIGKILL

    codebase.cast.rewind()
    person = codebase.start()
    questions = ["correct branch", "Proceed anyway", *offered, "start a review"]
    for words in questions:
        assert words in person.question()
        person.says(ANSWERS.get(words, "" if codebase.has(NEW) else "quit"))
    assert person.ends()["exit_code"] == 0
    assert_committed_once(codebase)


def answer(codebase, question):
    """Return what the person says to go on."""
    for words, reply in ANSWERS.items():
        if words in question:
            return reply
    return "" if codebase.has(NEW) else "quit"


def killed_at_event(codebase, number):
    """Plan, kill the program at an event, and return whether it was killed."""
    person = codebase.start()
    for line in islice(person.process.stdout, number):
        event = json.loads(line)
        if event["kind"] == "question.asked":
            person.says(answer(codebase, event["data"]["question"]))
    person.kill()
    codebase.cast.rewind()
    return person.process.returncode == -signal.SIGKILL


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_killed_at_any_events(codebase, seed):
    events = Random(seed)  # noqa: S311 - not for secrets
    codebase.write(NEW, "old words\n")
    codebase.write("theirs.txt", "x\n")
    codebase.project.git("add", "theirs.txt")
    while killed_at_event(codebase, events.randint(1, 110)):
        pass
    assert_committed_once(codebase)


def assert_committed_once(codebase):
    """Check that the plan is whole: one commit, with its files, and each line of the history once."""
    assert codebase.subjects() == ["Add a second file", "start"]
    entries = [line for line in codebase.history.splitlines() if re.match(r"\d{4}-", line)]
    kinds = [re.sub(r" \(.*", "", line[20:].removeprefix("- ")) for line in entries]
    once = [kind for kind in kinds if kind not in {"REFINING REQUIREMENTS", "ATTEMPTING RECOVERY"}]
    assert once == ["GIT HEAD", "START IMPLEMENTING", "COMPLETED REQUIREMENTS", "GIT COMMIT"]
    assert len(codebase.plan_files()) == 3
    assert "two.txt" in codebase.committed()
    assert codebase.status() == ["A  theirs.txt"]
