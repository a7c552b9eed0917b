"""Where the work stops: words, a diff, another try, and no paid turn by accident."""

from __future__ import annotations

import pytest

from code_commit_testing import Reply

NEW = "g3-plan/new_requirements.md"
NO_KEY = Reply.error(401, "bad key")


@pytest.fixture
def to_stop(codebase):
    """Plan from new requirements to the stop after the coach's only turn."""
    codebase.write(NEW, "old words\n")
    codebase.cast.coach = [codebase.cast.done("Not yet."), *codebase.cast.coach]

    def go():
        person = codebase.plan("--max-turns=1")
        person.answers("", "yes")
        return person

    return go


def test_words_at_a_stop_reach_the_coach_and_the_player(codebase, to_stop):
    cast = codebase.cast
    person = to_stop()
    questions = person.answers("", "done", "k", "diff", "please use tabs")
    assert len({*questions}) == 1
    assert questions[0].startswith(
        "The coach's last feedback:\n  Not yet.\nThe coach and the player ran out of turns (1)"
    )
    assert person.notices().endswith("+++ b/two.txt\n@@ -0,0 +1 @@\n+2")
    assert len(cast.requests["player"]) == 3  # only the words pay for more
    person.question()
    for part in ("player", "coach"):
        assert "please use tabs" in cast.requests[part][-1].prompt
    person.says("back again, and use blanks")  # at the review, too
    person.question()
    for part in ("player", "coach"):
        assert "again, and use blanks" in cast.requests[part][-1].prompt
    calls = len(cast.requests["player"])
    person.says("the tests are missing")
    person.question()
    assert len(cast.requests["player"]) == calls + 1
    assert "the tests are missing" in cast.requests["coach"][-1].prompt
    person.says("commit it")
    person.answers("leave", "quit")
    assert person.ends()["exit_code"] == 0
    assert len(cast.requests["player"]) == calls + 1


def test_each_call_that_failed_can_be_tried_again(codebase):
    cast = codebase.cast
    cast.planner = [NO_KEY, *cast.planner]
    cast.summary = [NO_KEY, *cast.summary]
    cast.player = [NO_KEY, *cast.player]
    cast.coach = [NO_KEY, *cast.coach]
    cast.message = [NO_KEY, *cast.message]
    codebase.write(NEW, "old words\n")
    person = codebase.plan()
    questions = person.answers("", "yes", "yes", "yes", "yes", "yes", "yes", "commit")
    stops = [question for question in questions if "Try again? [" in question]
    assert len(stops) == 5
    assert all("the service rejected the key (HTTP 401)" in stop for stop in stops)
    assert person.quits()["exit_code"] == 0
    assert codebase.subjects()[0] == "Add a second file"
    assert [line[20:] for line in codebase.history.splitlines() if line.startswith("20")][:2] == [
        "- REFINING REQUIREMENTS (new_requirements.md)",
        f"- GIT HEAD ({codebase.project.git('rev-parse', 'HEAD~').strip()})",
    ]
    assert len(cast.requests["player"]) == 4


def test_no_or_quit_after_an_error_ends_the_session_which_says_how_to_go_on(codebase):
    cast = codebase.cast
    cast.planner = [NO_KEY]
    codebase.write(NEW, "old words\n")
    for answer, code in (("no", 4), ("quit", 0)):
        person = codebase.start()
        person.answers(*["yes"] * (2 if answer == "quit" else 1), "", answer)
        finished = person.ends()
        assert finished["exit_code"] == code
    assert len(cast.requests["planner"]) == 2
    completed = codebase.project.command(
        "--planning", f"--codepath={codebase.project.root}", stdin="yes\nyes\n\n"
    )
    assert completed.exit_code == 4
    assert "; `code-commit --planning --codepath=.` continues\n" in completed.stderr
    assert "undo" not in completed.stderr
    completed = codebase.project.command(
        "--planning", f"--codepath={codebase.project.root}", stdin="yes\nyes\nquit\n"
    )
    assert "hint: `code-commit --planning --codepath=.` continues\n" in completed.stderr


def test_an_interrupted_coach_is_asked_again_and_not_the_player(codebase, to_stop):
    cast = codebase.cast
    killed = []

    def kill() -> None:
        if not killed:
            killed.append(person)
            person.kill()

    cast.before["coach"] = kill
    codebase.write(NEW, "old words\n")
    person = codebase.plan()
    person.answers("", "yes")
    assert person.process.wait(60) < 0
    cast.coach = cast.coach[-1:]
    person = codebase.start()
    person.answers("yes", "yes", "y")
    assert "Please review" in person.question()
    assert "continuing with the coach" in person.notices()
    assert len(cast.requests["player"]) == 3
    assert "two.txt is there" in cast.requests["coach"][-1].prompt


def test_chat_tries_again_where_it_stopped_and_shows_its_diff(codebase):
    cast = codebase.cast
    cast.player = [
        cast.writes("two.txt", "2\n"),
        NO_KEY,
        cast.done("Two is there."),
    ]
    completed = codebase.project.command("--chat", stdin="add two\n\nyes\ndiff\nquit\n")
    assert completed.exit_code == 0
    assert "Try again? [yes/no/quit]" in completed.stdout
    assert "Two is there." in completed.stdout
    assert "+++ b/two.txt\n@@ -0,0 +1 @@\n+2\n" in completed.stdout
    assert completed.stdout.endswith("Changed by the agents:\n  two.txt +1 -0\n")
    assert len(cast.requests["player"]) == 3
    assert "Wrote 2 bytes to two.txt." in str(cast.requests["player"][-1].json["messages"])
