"""The review: what is shown, and what a person can do besides committing."""

from __future__ import annotations

import json
import re

import pytest

NEW = "g3-plan/new_requirements.md"


def kinds(codebase):
    lines = [line for line in codebase.history.splitlines() if re.match(r"\d{4}-", line)]
    return [re.sub(r" \(.*", "", line[20:].removeprefix("- ")) for line in lines]


def test_only_a_whole_word_commits(codebase, to_review):
    person = to_review()
    for number, typed in enumerate(["", "commit it", *"ycke"], 1):
        person.says(typed)
        assert "Please review" in person.question()
        assert (
            person.notices().count("Unknown answer. Please answer 'commit' or 'diff' or") == number
        )
    assert codebase.subjects() == ["start"]
    person.says("Continue")
    person.quits()
    assert codebase.subjects() == ["Add a second file", "start"]


def test_words_go_back_to_the_coach_and_the_player(codebase, to_review):
    cast = codebase.cast
    person = to_review()
    cast.player = [cast.writes("two.txt", "22\n"), cast.done("changed")]
    person.says("back Write twenty-two,\\")
    person.says("not two.")
    assert "Please review" in person.question()
    for part in ("player", "coach"):
        sent = cast.requests[part][-1].json["messages"]
        assert "Write twenty-two,\\nnot two." in json.dumps(sent)
    person.says("commit")
    person.quits()
    assert codebase.project.git("show", "HEAD:two.txt") == "22\n"
    assert kinds(codebase) == [
        "REFINING REQUIREMENTS",
        "GIT HEAD",
        "START IMPLEMENTING",
        "USER REQUESTED CHANGES",
        "COMPLETED REQUIREMENTS",
        "GIT COMMIT",
    ]
    assert len([name for name in codebase.plan_files() if name.startswith("completed_")]) == 2
    assert codebase.status() == []


def test_back_asks_for_words_and_a_killed_run_keeps_them(codebase, to_review):
    cast = codebase.cast
    person = to_review()
    person.says("back")
    assert (
        person.question() == "What should the coach and the player change? Enter changes nothing."
    )
    for wrong in ("", "quit", "k"):
        person.says(wrong)
        assert "Please review" in person.question()
        person.says("back")
        person.question()
    person.says("")
    person.question()
    assert len(cast.requests["coach"]) == 1
    cast.before["player"] = person.kill
    person.says("back")
    person.answers("Write twenty-two.")
    person.process.wait(60)
    cast.before.clear()
    person = codebase.start()
    person.answers("yes", "yes", "yes", "commit")
    person.quits()
    assert "Write twenty-two." in json.dumps(cast.requests["player"][-1].json)
    assert codebase.status() == []


def test_an_edited_message_is_there_at_the_next_start(codebase, to_review):
    person = to_review()
    person.says("edit")
    person.answers("My own words\\")
    person.says("\\")
    person.says("# not a comment")
    assert "Please review" in person.question()
    assert "  My own words\n\n  # not a comment\n" in f"{person.notices()}\n"
    person.says("quit")
    person.ends()
    codebase.cast.message = [codebase.cast.says("Another message")]
    person = codebase.start()
    person.answers("yes", "yes", "commit")
    person.quits()
    assert codebase.subjects() == ["My own words", "start"]
    body = codebase.project.git("log", "-1", "--format=%B")
    assert body.startswith(
        "My own words\n\n# not a comment\n\nRequirements: completed_requirements_"
    )
    assert "\nTodo: completed_todo_" in body
    assert "- GIT COMMIT (My own words)\n" in codebase.history
    assert len(codebase.cast.requests["message"]) == 1


def test_the_message_can_be_edited_after_a_commit_that_failed(codebase, to_review):
    codebase.write(
        "agent-config/config.toml", codebase.read("agent-config/config.toml") + COMMIT_HOOKS
    )
    path = codebase.project.root / ".git/hooks/commit-msg"
    path.parent.mkdir(exist_ok=True)
    path.write_text('#!/bin/sh\ngrep -q "^JIRA-1" "$1"\n')
    path.chmod(0o755)
    person = to_review()
    person.says("commit")
    assert person.question().startswith("Commit now?")
    person.kill()
    person = codebase.start()
    person.answers("yes", "yes", "edit", "JIRA-1 Add two", "commit")
    person.quits()
    assert codebase.subjects() == ["JIRA-1 Add two", "start"]
    assert codebase.history.count("GIT COMMIT") == 1
    assert "GIT COMMIT (JIRA-1 Add two)" in codebase.history
    assert codebase.status() == []


def test_a_commit_that_failed_can_go_back_to_the_player(codebase, to_review):
    codebase.write(
        "agent-config/config.toml", codebase.read("agent-config/config.toml") + COMMIT_HOOKS
    )
    path = codebase.project.root / ".git/hooks/pre-commit"
    path.parent.mkdir(exist_ok=True)
    path.write_text("#!/bin/sh\ntest -e three.txt\n")
    path.chmod(0o755)
    cast = codebase.cast
    person = to_review()
    cast.player = [cast.writes("three.txt", "3\n"), cast.done("changed")]
    person.says("commit")
    person.answers("back Add three.", "commit")
    person.quits()
    assert "three.txt" in codebase.committed()
    assert kinds(codebase)[-6:] == [
        "GIT COMMIT",
        "USER REQUESTED CHANGES",
        "GIT HEAD",
        "START IMPLEMENTING",
        "COMPLETED REQUIREMENTS",
        "GIT COMMIT",
    ]
    assert codebase.status() == []


@pytest.mark.parametrize(
    "answers", [["edit", "w" * 73, "leave"], pytest.param(["no"], marks=pytest.mark.slow)]
)
def test_the_files_may_stay_staged(codebase, to_review, answers):
    person = to_review()
    person.says("no")
    assert person.answers(*answers, "quit")[0].startswith("Commit now?")
    assert person.ends()["exit_code"] == 0
    assert ("The summary line has 73 characters" in person.notices()) is ("leave" in answers)
    assert codebase.subjects() == ["start"]
    assert kinds(codebase)[-1] == "COMPLETED REQUIREMENTS"
    assert {"A  two.txt", "A  g3-plan/planner_history.txt"} <= set(codebase.status())
    person = codebase.start()
    person.answers("yes", "yes", "quit")
    assert person.states[-1] == "prompt for new requirements"


def test_all_that_goes_in_is_shown_and_what_the_commit_skips(codebase, to_review):
    cast = codebase.cast
    cast.player.insert(
        1, cast.called("shell", command="for n in $(seq 30); do echo $n > file-$n.txt; done")
    )
    codebase.write("a\nCommitted 0123.txt", "x\n")
    codebase.project.git("config", "commit.gpgSign", "true")
    path = codebase.project.root / ".git/hooks/pre-commit"
    path.parent.mkdir(exist_ok=True)
    path.write_text("#!/bin/sh\ntouch hook-ran\nexit 1\n")
    path.chmod(0o755)
    person = to_review(dirty=True)
    assert (
        "This commit skips: the signature, the hook pre-commit\n(`commit_hooks = true`"
        in person.notices()
    )
    assert "\n  a\\nCommitted 0123.txt  (yours, not the player's)\n" in person.notices()
    assert "\nCommitted" not in person.notices()
    for number in range(1, 31):
        assert f"\n  file-{number}.txt  (changed while a command ran" in person.notices()
    assert "\n  two.txt\n" in person.notices()
    assert "+++ b/file-7.txt" not in person.notices()
    person.says("diff")
    assert "Please review" in person.question()
    assert "+++ b/file-7.txt\n@@ -0,0 +1 @@\n+7\n" in person.notices()
    person.says("commit")
    person.quits()
    assert codebase.subjects()[0] == "Add a second file"
    assert not codebase.has("hook-ran")


@pytest.mark.parametrize("include", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_file_staged_before_and_changed_by_the_player_is_asked_about(
    codebase, to_review, include
):
    cast = codebase.cast
    for name in ("theirs.txt", "mine.txt"):
        codebase.write(name, "staged\n")
    codebase.project.git("add", "theirs.txt", "mine.txt")
    codebase.write("mine.txt", "staged, then changed\n")
    cast.player.insert(1, cast.writes("theirs.txt", "staged, then played\n"))
    codebase.write(NEW, "old words\n")
    person = codebase.start()
    person.answers("yes", "yes", "", "yes")
    assert "\n  include  also commit these files, as a whole\n" in person.question()
    assert (
        "changed by the player since: not part of this commit, unless you type 'include':\n  theirs.txt"
        in (person.notices())
    )
    person.says("include" if include else "commit")
    if include:
        person.answers("commit")
    person.quits()
    assert ("theirs.txt" in codebase.committed()) is include
    assert codebase.staged() == ({"mine.txt"} if include else {"mine.txt", "theirs.txt"})
    if include:
        assert codebase.project.git("show", "HEAD:theirs.txt") == "staged, then played\n"


COMMIT_HOOKS = "[plugins.planner]\ncommit_hooks = true\n"
