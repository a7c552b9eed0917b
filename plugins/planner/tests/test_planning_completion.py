"""The coach and the player, and when their work counts as completed."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from code_commit.plugin_api import Finish
from code_commit_testing import Reply

NEW = "g3-plan/new_requirements.md"
CURRENT = "g3-plan/current_requirements.md"
QUESTION = "Do you consider the todos and the requirements completed? [yes/no/diff/quit]"


@pytest.fixture
def build(codebase):
    """Refine requirements, approve, and let the coach and the player work on them."""
    codebase.write(NEW, "old words\n")

    def start(*flags):
        person = codebase.plan(*flags)
        person.answers("", "yes")
        return person

    return start


def test_the_player_and_the_coach_get_the_requirements_and_the_player_the_feedback(codebase, build):
    codebase.write("one.txt", "11\n")
    codebase.project.git("commit", "-qam", "one more")
    cast = codebase.cast
    cast.player = [
        cast.called("todo_write", content="- [x] two\n"),
        cast.writes("nëw.txt", "new words\n"),
        cast.called("str_replace", path="one.txt", old_str="11", new_str="12"),
        cast.done("all is there"),
    ]
    cast.coach = [
        cast.done("Two is not enough.\nMore IMPLEMENTATION_APPROVED is needed."),
        *cast.coach,
    ]
    person = build()
    person.quits()
    assert "review" in person.states
    assert len(cast.requests["coach"]) == 2
    assert "Two is not enough." in str(cast.requests["player"][-1].json["messages"])
    player = str(cast.requests["player"][0].json["messages"])
    assert "{{CURRENT REQUIREMENTS}}" in player
    assert "g3-plan/current_requirements.md" in player
    coach = cast.requests["coach"][0].json["messages"][-1]["content"]
    coach = coach if isinstance(coach, str) else coach[0]["text"]
    for text in (
        "Add two.",
        "all is there",
        "-11\n+12\n",
        "new: nëw.txt +1 -0",
        "+new words\n",
        "changed: one.txt +1 -1",
    ):
        assert text in coach
    assert "g3-plan/todo.g3.md" not in coach
    names = [tool["function"]["name"] for tool in cast.requests["coach"][0].json["tools"]]
    assert not {"write_file", "str_replace", "todo_write"} & set(names)


def test_a_player_that_changes_git_is_stopped_and_the_person_asked(codebase, build):
    cast = codebase.cast
    branch = "git checkout -qb other"
    commit = "git add two.txt; git commit -qm mine"
    del cast.player[2:]
    for command in (branch, commit):
        cast.player += [cast.called("shell", command=command), cast.done()]
    cast.coach = [cast.done("Not yet."), *cast.coach]
    person = build("--max-turns=1")
    for before in ("master", "other"):
        question = person.question()
        assert re.match(
            rf"An error stopped the coach and the player: the player changed git's HEAD from {before} at \w+ to other at \w+\n",
            question,
        )
        assert not cast.requests["coach"]
        person.says("no")
    person.question()
    assert "new: two.txt +1 -0" in cast.requests["coach"][0].prompt


def test_open_todos_are_asked_about(codebase, build):
    cast = codebase.cast
    cast.summary = [Reply("")]
    todos = {
        "no list\n": "There are no todos in",
        "- [x] a\n- [ ] b\n": "1 of 2 todos are not done:\n  - [ ] b",
    }
    cast.player = []
    for todo in todos:
        cast.player += [cast.called("todo_write", content=todo), cast.done()]
    person = build()
    for message, answer in zip(todos.values(), ("no", "yes"), strict=True):
        notices = person.notices()
        question = person.question()
        assert QUESTION in question
        assert question.startswith(message)
        shown = person.notices().removeprefix(notices) + question
        assert shown.count("approved the implementation") == 1
        person.says(answer)
    person.quits()
    assert person.states[-3:-1] == ["stage", "review"]
    # The requirements, for want of a summary.
    assert "<<\n  Add two.\n  old words\n>>\n" in codebase.history


def test_the_work_of_the_agents_is_seen(codebase, build):
    cast = codebase.cast
    read = cast.called("read_file", path="one.txt")
    cast.player = [
        replace(
            cast.called("todo_write", content="- [ ] two\n- [ ] three\n"), text="First a list."
        ),
        cast.called("todo_write", content="- [x] two\n- [ ] three\n"),
        *[read] * 5,
    ]
    person = build("--max-turns=1")
    question = person.question()
    assert "1 of 2 todos are not done:\n  - [ ] three" in question
    texts = [event["data"] for event in person.events if event["kind"] == "toolbox.said"]
    assert {"agent": "player", "text": "First a list."} in texts
    todos = [event["data"] for event in person.events if event["kind"] == "planner.todos"]
    assert [(todo["done"], todo["all"]) for todo in todos] == [(0, 2), (1, 2)]
    assert "The player stopped after 6 replies: the model repeated itself." in person.notices()
    assert re.search(r"Turn 1 of 1: the coach reviews\. So far: [\d,]+ tokens\.", person.notices())
    assert "Summarizing the requirements" in person.notices()
    person.says("quit")
    assert person.ends()["exit_code"] == 0
    assert re.search(
        r"This session: 1 turn of the player and the coach, 0 commits, [\d,]+ tokens",
        person.notices(),
    )
    spent = [event["data"] for event in person.events if event["kind"] == "planner.spent"]
    assert spent[-1]["tokens"] > 0


def test_an_error_and_out_of_turns_are_shown_and_only_a_yes_completes(codebase, build):
    codebase.cast.coach = [Reply.error(400, "no such model"), codebase.cast.done("Not yet.")]
    person = build("--max-turns=2")
    question = person.question()
    assert question.startswith("An error of the service stopped the coach and the player:\ncoach: ")
    assert "no such model" in question
    assert "\nTry again? [yes/no/diff/quit]" in question
    person.says("")
    person.answers("")
    assert len(codebase.cast.requests["coach"]) == 1
    person.answers("yes")
    question = person.question()
    assert "The coach's last feedback:\n  Not yet.\n" in question
    assert "ran out of turns (2): the coach is not satisfied.\n" in question
    assert "All 1 todos are done." in question
    finished = person.ends()
    assert (finished["exit_code"], finished["summary"]) == (
        1,
        "the input ended at: implementation complete",
    )
    assert len(codebase.cast.requests["coach"]) == 3
    # The coach was asked again, not the player.
    assert len(codebase.cast.requests["player"]) == 4
    assert codebase.plan_files() == {"current_requirements.md", "todo.g3.md", "planner_history.txt"}
    assert codebase.subjects() == ["start"]


def test_the_original_section_reaches_no_implementer_and_the_summary_is_limited(codebase, build):
    cast = codebase.cast
    original = (
        "{{ORIGINAL USER REQUIREMENTS -- THIS SECTION WILL BE IGNORED BY THE IMPLEMENTATION}}"
    )
    codebase.write(NEW, "secret wish\n")
    cast.planner[0] = cast.writes(
        NEW, f"{{{{CURRENT REQUIREMENTS}}}}\nAdd two.\n\n{original}\n\nsecret wish\n"
    )
    cast.summary = [
        Reply("```\n" + "\n".join(f"{number} " + "wörd " * 40 for number in range(9)) + "\n```")
    ]
    person = build()
    person.quits()
    summary = codebase.history.partition("<<\n")[2].partition("\n>>\n")[0].split("\n")
    assert len(summary) == 5
    assert all(line.startswith("  ") and len(line) <= 120 for line in summary)
    for part in ("player", "coach", "summary", "message"):
        assert "Add two." in cast.requests[part][0].prompt
        assert "secret wish" not in cast.requests[part][0].prompt
    assert any("secret wish" in codebase.read(f"g3-plan/{name}") for name in codebase.plan_files())


def test_an_incomplete_line_of_a_summary_is_dropped(codebase, build):
    codebase.cast.summary = [Reply("Add two.\nAnd then half a", finish=Finish.LENGTH)]
    codebase.cast.message = [Reply("Add half a", finish=Finish.LENGTH)]
    person = build()
    person.answers("commit")
    person.quits()
    assert "<<\n  Add two.\n>>\n" in codebase.history
    assert re.fullmatch(r"Complete completed_requirements_\S+\.md", codebase.subjects()[0])


def test_no_git_runs_no_git_command(codebase):
    codebase.write(NEW, "old words\n")
    person = codebase.start("--no-git")
    person.answers("", "yes")
    person.quits()
    assert not {"branch check", "stage", "commit"} & set(person.states)
    entries = [line[20:] for line in codebase.history.splitlines() if line.startswith("20")]
    assert [entry.partition(" (")[0] for entry in entries] == [
        "- REFINING REQUIREMENTS",
        "- START IMPLEMENTING",
        "- COMPLETED REQUIREMENTS",
    ]
    assert not codebase.cast.requests["message"]
    assert codebase.subjects() == ["start"]
    assert codebase.project.git("diff", "--cached", "--name-only") == ""
