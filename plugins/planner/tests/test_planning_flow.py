"""Planning from its start to a commit and on to the next requirements."""

from __future__ import annotations

import re

STAMP = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"


def test_from_new_requirements_to_a_commit_and_on(codebase):
    codebase.write("g3-plan/new_requirements.md", "old words\n")
    head = codebase.project.git("rev-parse", "HEAD").strip()
    person = codebase.start()
    questions = person.answers("yes", "", "yes", "commit")
    assert questions[0] == "Is this the correct branch to start work on? [yes/no/quit]"
    finished = person.quits()
    assert finished["exit_code"] == 0
    assert [
        event["data"]["answer"] for event in person.events if event["kind"] == "question.answered"
    ] == ["yes", "", "yes", "commit", "quit"]
    for text in (
        "Current git branch: master",
        "code-commit is ready to make a git commit.",
        "  two.txt",
    ):
        assert text in person.notices()
    assert person.states == [
        "startup",
        "branch check",
        "dirty check",
        "leftovers",
        "prompt for new requirements",
        "refine requirements",
        "approval",
        "implement requirements",
        "coach and player",
        "implementation complete",
        "rename",
        "stage",
        "review",
        "commit",
        "prompt for new requirements",
        "quit",
    ]
    match = re.fullmatch(
        rf"{STAMP} - REFINING REQUIREMENTS \(new_requirements\.md\)\n"
        rf"{STAMP} - GIT HEAD \({head}\)\n"
        rf"{STAMP} - START IMPLEMENTING \(current_requirements\.md\)\n"
        r"<<\n  Add two\.\n  Nothing else\.\n>>\n"
        rf"({STAMP}) - COMPLETED REQUIREMENTS \((completed_requirements_(\S+)\.md), (completed_todo_\3\.md)\)\n"
        r"\1 - GIT COMMIT \(Add a second file\)\n",
        codebase.history,
    )
    assert match
    assert match[1].replace(" ", "_").replace(":", "-") == match[3]
    assert codebase.project.git("log", "-1", "--format=%B") == (
        f"Add a second file\n\nAdds two.txt beside one.txt.\n\nRequirements: {match[2]}\nTodo: {match[4]}\n\n"
    )
    assert codebase.status() == []
    assert sorted(codebase.committed()) == sorted(
        ["two.txt", "g3-plan/planner_history.txt", f"g3-plan/{match[2]}", f"g3-plan/{match[4]}"]
    )
    assert (
        codebase.project.git("show", f"HEAD:g3-plan/{match[2]}")
        == "{{CURRENT REQUIREMENTS}}\nAdd two.\n\nold words\n" + codebase.cast.put_back
    )
