"""Runs that are killed in any state, and the recovery at the next start."""

from __future__ import annotations

import json
import re
import signal
from types import SimpleNamespace

import pytest

from code_commit_planner.agents.progress import Progress, digest, read_progress
from code_commit_planner.agents.running_command import read_running_command
from code_commit_planner.complete.pending import read_message
from code_commit_planner.git.staging import Staging, read_staging

NEW = "g3-plan/new_requirements.md"
CURRENT = "g3-plan/current_requirements.md"
HISTORY = "g3-plan/planner_history.txt"
STAMP = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"


def kinds(codebase) -> list[str]:
    """Return the lines of the history without times and details."""
    lines = [line for line in codebase.history.splitlines() if re.match(STAMP, line)]
    return [re.sub(r" \(.*", "", line[20:].removeprefix("- ")) for line in lines]


WHOLE = [
    "REFINING REQUIREMENTS",
    "GIT HEAD",
    "START IMPLEMENTING",
    "COMPLETED REQUIREMENTS",
    "GIT COMMIT",
]


@pytest.fixture
def killed(codebase):
    """Kill a run during a model call or a question, and start it again."""
    codebase.write(NEW, "old words\n")

    def at_call(part, number=1):
        person = codebase.plan()

        def kill():
            if len(codebase.cast.requests[part]) == number:
                codebase.cast.before.pop(part, None)
                person.kill()

        codebase.cast.before[part] = kill
        person.answers("")
        if part != "planner":
            person.answers("yes")
        person.process.wait(60)
        assert person.process.returncode == -signal.SIGKILL
        codebase.cast.rewind()
        return codebase.start()

    def at_question(number):
        person = codebase.start()
        person.answers(*["yes", "", "yes", "commit"][:number])
        person.question()
        person.kill()
        codebase.cast.rewind()
        return codebase.start()

    return SimpleNamespace(at_call=at_call, at_question=at_question)


@pytest.mark.parametrize(
    "part", ["summary", "coach", pytest.param("player", marks=pytest.mark.slow)]
)
def test_killed_while_implementing_and_resumed(codebase, killed, part):
    cast = codebase.cast
    cast.coach = [cast.done("Three is missing."), *cast.coach]
    person = killed.at_call(part, number=2 if part == "coach" else 1)
    requirements = codebase.read(CURRENT)
    codebase.write(NEW, "the next ones\n")
    questions = person.answers("yes", "yes", "yes", "commit")
    assert re.search(rf"\n- current_requirements\.md from {STAMP}\n", questions[2])
    assert ("- todo.g3.md \n- [x] two" in questions[2]) is (part == "coach")
    assert ("Three is missing." in str(cast.requests["player"][-1].json)) is (part == "coach")
    person.quits()
    assert codebase.read(NEW) == "the next ones\n"  # it was not renamed over the current ones
    completed_name = next(
        name for name in codebase.plan_files() if name.startswith("completed_requirements")
    )
    assert codebase.read(f"g3-plan/{completed_name}") == requirements
    expected = [*WHOLE[:3], "ATTEMPTING RECOVERY", *WHOLE[3:]]
    if part == "summary":  # the start of the implementation was not recorded
        expected = [*WHOLE[:2], "ATTEMPTING RECOVERY", *WHOLE[2:]]
    assert kinds(codebase) == expected
    assert re.search(rf"^{STAMP} ATTEMPTING RECOVERY$", codebase.history, re.MULTILINE)
    assert codebase.subjects() == ["Add a second file", "start"]
    assert codebase.status() == []


def test_quitting_the_recovery_changes_nothing_and_skipping_it_counts_as_complete(codebase, killed):
    person = killed.at_call("coach")
    before = {name: codebase.read(f"g3-plan/{name}") for name in codebase.plan_files()}
    person.answers("yes", "yes", "q")
    assert person.ends()["exit_code"] == 0
    assert {name: codebase.read(f"g3-plan/{name}") for name in codebase.plan_files()} == before
    person = codebase.start()
    person.answers("yes", "yes", "no", "commit")
    person.quits()
    assert kinds(codebase) == [*WHOLE[:3], "USER SKIPPED RECOVERY", *WHOLE[3:]]
    assert re.search(rf"^{STAMP} USER SKIPPED RECOVERY$", codebase.history, re.MULTILINE)
    assert codebase.status() == []


def test_an_incomplete_skipped_recovery_starts_in_the_history(codebase, killed):
    person = killed.at_call("summary")
    questions = person.answers("yes", "yes", "no", "no", "commit")
    assert questions[3].startswith(
        "The recovery was skipped.\nThere are no todos in g3-plan/todo.g3.md"
    )
    person.quits()
    assert kinds(codebase) == [*WHOLE[:2], "USER SKIPPED RECOVERY", *WHOLE[2:]]
    assert codebase.status() == []


def test_killed_while_the_planner_reviews(codebase, killed):
    person = killed.at_call("planner")
    person.answers("yes", "yes", "", "yes", "commit")
    person.quits()
    assert kinds(codebase) == [WHOLE[0], *WHOLE]
    assert codebase.status() == []


@pytest.mark.parametrize(
    ("number", "answers"),
    [
        pytest.param(0, ["yes", "", "yes", "commit"], marks=pytest.mark.slow),
        pytest.param(1, ["yes", "yes", "", "yes", "commit"], marks=pytest.mark.slow),
        (2, ["yes", "yes", "", "yes", "commit"]),
        (3, ["yes", "yes", "commit"]),  # in the review
    ],
)
def test_killed_at_a_question(codebase, killed, number, answers):
    person = killed.at_question(number)
    person.answers(*answers)
    person.quits()
    assert codebase.subjects() == ["Add a second file", "start"]
    assert kinds(codebase)[-2:] == WHOLE[-2:]
    assert kinds(codebase).count("COMPLETED REQUIREMENTS") == 1
    assert codebase.status() == []


def test_killed_while_the_message_is_written(codebase, killed):
    codebase.write("theirs.txt", "x\n")
    codebase.project.git("add", "theirs.txt")
    person = codebase.start()
    person.answers("yes", "yes", "", "yes")
    codebase.cast.before["message"] = person.kill
    person.process.wait(60)
    codebase.cast.before.clear()
    person = codebase.start()
    person.answers("yes", "yes", "commit")
    person.quits()
    assert "two.txt" in codebase.committed()
    assert codebase.status() == ["A  theirs.txt"]


def test_killed_in_the_commit(codebase, killed):
    """A hook that never ends stops git halfway; both lines are written and nothing is committed."""
    codebase.write("theirs.txt", "x\n")
    codebase.project.git("add", "theirs.txt")
    config = codebase.read("agent-config/config.toml")
    codebase.write("agent-config/config.toml", f"{config}[plugins.planner]\ncommit_hooks = true\n")
    hook = codebase.project.root / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\nkill -9 $(cat '{codebase.project.home}/pid')\nexit 1\n")
    hook.chmod(0o755)
    person = codebase.start(cold=True)  # to be killed at once
    (codebase.project.home / "pid").write_text(str(person.process.pid))
    person.answers("yes", "yes", "", "yes", "commit")
    person.process.wait(60)
    assert person.process.returncode == -signal.SIGKILL
    assert codebase.subjects() == ["start"]
    assert kinds(codebase) == WHOLE
    codebase.write("agent-config/config.toml", config)
    (codebase.project.root / ".git/index.lock").unlink(missing_ok=True)
    person = codebase.start()
    questions = person.answers("yes", "yes", "yes")
    assert questions[2] == "Commit now? [yes/no/diff/edit/back/quit]"
    person.quits()
    assert codebase.subjects() == ["Add a second file", "start"]
    assert kinds(codebase) == WHOLE
    assert codebase.status() == ["A  theirs.txt"]


def test_completed_files_without_git_are_recorded(codebase, killed):
    person = killed.at_question(3)
    person.kill()
    person = codebase.start("--no-git")
    person.quits()
    assert kinds(codebase) == WHOLE[:4]
    assert codebase.subjects() == ["start"]


def test_requirements_written_by_hand_are_recorded_when_resumed(codebase):
    codebase.write(CURRENT, "{{CURRENT REQUIREMENTS}}\nAdd two.\n")
    person = codebase.start("--on-failure=restore")
    person.answers("yes", "yes", "yes", "commit")
    assert person.ends()["exit_code"] == 1
    assert kinds(codebase) == ["ATTEMPTING RECOVERY", *WHOLE[1:]]
    # Not restored although the input ended.
    assert codebase.subjects() == ["Add a second file", "start"]
    assert codebase.status() == []


@pytest.mark.parametrize(
    "part",
    [
        "player",
        pytest.param("planner", marks=pytest.mark.slow),
        pytest.param("message", marks=pytest.mark.slow),
    ],
)
def test_work_continues_after_ctrl_c_during_a_model_call(codebase, part):
    codebase.write(NEW, "old words\n")
    person = codebase.plan()
    codebase.cast.before[part] = lambda: person.process.send_signal(signal.SIGINT)
    person.answers("")
    if part != "planner":
        person.answers("yes")
    finished = person.until("run.finished")
    assert finished["outcome"] == "interrupted"
    assert person.process.wait(60) == 130
    codebase.cast.before.clear()
    codebase.cast.rewind()
    person = codebase.start()
    replies = {
        "planner": ["yes", "yes", "", "yes"],
        "player": ["yes", "yes", "yes"],
        "message": ["yes", "yes"],
    }
    person.answers(*replies[part], "commit")
    person.quits()
    assert codebase.subjects() == ["Add a second file", "start"]
    assert codebase.status() == []


def test_ctrl_c_at_a_question_leaves_the_files(codebase):
    codebase.write(NEW, "old words\n")
    person = codebase.plan()
    person.question()
    person.process.send_signal(signal.SIGINT)
    assert person.until("run.finished")["exit_code"] == 130
    assert codebase.plan_files() == {"new_requirements.md", "planner_history.txt"}


def test_a_resumed_commit_gets_its_missing_lines(codebase, killed):
    person = killed.at_question(3)
    person.kill()
    state = codebase.project.root / "agent-config/.code-commit/state/planner/staging.json"
    staging = json.loads(state.read_text())
    state.write_text(json.dumps({**staging, "summary": "Add a second file", "description": ["x"]}))
    person = codebase.start()
    person.answers("yes", "yes", "commit")
    person.quits()
    assert kinds(codebase)[-2:] == WHOLE[-2:]
    assert codebase.status() == []


BROKEN = ["{", "", "[]", '{"head": 1}', '{"head": null, "ours": 5}', '{"kept": []}']
STATE = [
    "staging.json",
    "coach-feedback.json",
    "chat.json",
    "commit-message.json",
    "running-command.json",
]


@pytest.mark.parametrize("broken", BROKEN)
def test_an_unreadable_file_of_the_state_counts_as_missing(tmp_path, broken):
    for name in STATE:
        (tmp_path / name).write_text(broken)
    assert read_staging(tmp_path) == Staging()
    assert read_progress(tmp_path, "x") == Progress(digest("x"), 0, "")
    assert read_message(tmp_path, "x") is None
    assert read_running_command(tmp_path) is None


@pytest.mark.parametrize(
    "broken",
    [BROKEN[0], *(pytest.param(text, marks=pytest.mark.slow) for text in BROKEN[1:])],
)
def test_an_unreadable_state_is_ignored(codebase, broken):
    state = codebase.project.root / "agent-config/.code-commit/state/planner"
    state.mkdir(parents=True)
    for name in STATE:
        (state / name).write_text(broken)
    codebase.write(NEW, "old words\n")
    person = codebase.plan()
    person.answers("", "yes", "commit")
    person.quits()
    assert codebase.status() == []


def test_restored_index_entries_do_not_overwrite_newer_ones(codebase):
    """A run is killed in its commit; then someone changes the file that it removed from the index."""
    project = codebase.project
    project.git("add", "one.txt")
    old = project.git("rev-parse", "HEAD:one.txt").strip()
    codebase.write("one.txt", "staged before\n")
    project.git("add", "one.txt")
    new = project.git("rev-parse", ":one.txt").strip()
    entry = {"path": "one.txt", "old_mode": "100644", "old_id": old, "mode": "100644", "id": new}
    fresh = {
        "path": "new.txt",
        "old_mode": "000000",
        "old_id": "0" * 40,
        "mode": "100644",
        "id": new,
    }
    state = project.root / "agent-config/.code-commit/state/planner/staging.json"
    state.parent.mkdir(parents=True)
    staging = {
        "head": None,
        "ours": [],
        "foreign": [],
        "set_aside": [entry, fresh],
        "summary": "",
        "description": [],
    }
    state.write_text(json.dumps(staging))
    codebase.write("one.txt", "committed since\n")
    project.git("commit", "-qam", "since")
    codebase.plan().quits()
    assert codebase.status() == ["AD new.txt", "?? g3-plan/planner_history.txt"]
