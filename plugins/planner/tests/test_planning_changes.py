"""What the agents changed, told apart from what the person and builds wrote."""

from __future__ import annotations

import pytest

NEW = "g3-plan/new_requirements.md"


@pytest.fixture
def to_coach(codebase):
    """Plan from new requirements to the question after the coach's only turn."""
    codebase.write(NEW, "old words\n")
    codebase.cast.coach = [codebase.cast.done("Not yet."), *codebase.cast.coach]

    def go(*answers: str):
        person = codebase.start("--max-turns=1")
        person.answers("yes", *answers, "", "yes")
        person.question()
        return person

    return go


def diff_of(request) -> str:
    """The changes in the prompt of the coach or of the commit message."""
    return request.prompt.partition("--- git diff ")[2]


def test_the_coach_the_review_and_the_commit_see_the_players_changes_alone(codebase, to_coach):
    cast = codebase.cast
    codebase.write("draft.py", "half = done\n")
    codebase.write("one.txt", "1\nmine\n")
    command = (
        "mkdir node_modules dist; echo x | tee node_modules/a.js dist/a.js a.o app.log;"
        " seq 30000 > a_large.txt; git rm -q --cached gone.txt; rm gone.txt"
    )
    codebase.write("gone.txt", "1\n")
    codebase.project.git("add", "gone.txt")
    codebase.project.git("commit", "-qm", "gone", "gone.txt")
    cast.player = [
        cast.called("todo_write", content="- [x] two\n"),
        cast.called("str_replace", path="one.txt", old_str="1\n", new_str="1\n2\n"),
        cast.writes("zz/test_two.py", "def test_two(): ...\n"),
        cast.called("shell", command=command),
        cast.done("two is there"),
    ]

    def meanwhile() -> None:
        if len(cast.requests["player"]) == 3:
            codebase.write("own.txt", "typed meanwhile\n")

    cast.before["player"] = meanwhile
    person = to_coach("yes")
    diff = diff_of(cast.requests["coach"][0])
    names, _, hunks = diff.partition("\n\n")
    assert names.splitlines()[1:] == [
        "changed: one.txt +1 -0",
        "new: zz/test_two.py +1 -0",
        "new: a_large.txt +30000 -0",
        "deleted: gone.txt +0 -1",
    ]
    assert "+def test_two(): ...\n" in hunks
    assert " 1\n+2\n mine\n" in hunks
    assert "+100\n" in hunks
    assert " lines of this diff left out; read the file ...]" in hunks
    assert len(diff) < 102_000
    for words in ("draft", "own.txt", "node_modules", "dist", "a.o", "app.log", "typed"):
        assert words not in diff
    notices = person.notices()
    person.says("diff")
    person.question()
    shown = person.notices().removeprefix(notices)
    assert "+def test_two(): ...\n" in shown
    assert "draft" not in shown
    person.says("yes")
    assert "Please review" in person.question()
    for line in (
        "draft.py  (yours, not the player's)",
        "own.txt  (yours, not the player's)",
        "one.txt  (yours and the player's)",
        "zz/test_two.py",
        "a_large.txt  (changed while a command ran: the player's, or yours)",
    ):
        assert f"\n  {line}\n" in f"{person.notices()}\n"
    for path in ("a.o", "app.log", "dist/a.js", "node_modules/a.js"):
        assert f"\n  {path}\n" in person.notices().partition("\nStaged:")[0]
    message = diff_of(cast.requests["message"][0])
    assert "+def test_two(): ...\n" in message
    assert "draft" not in message
    assert len(message) < 32_000
    person.says("commit")
    files = person.quits()["data"]["files"]
    assert [(file["path"], file["added"], file["removed"]) for file in files] == [
        ("one.txt", 1, 0),
        ("zz/test_two.py", 1, 0),
        ("a_large.txt", 30000, 0),
        ("gone.txt", 0, 1),
    ]
    assert "Changed by the agents:\n  one.txt +1 -0\n  zz/test_two.py +1 -0\n" in person.notices()


def test_work_that_goes_on_after_a_kill_keeps_its_beginning(codebase, to_coach):
    cast = codebase.cast
    cast.player = [
        cast.called("todo_write", content="- [x] two\n"),
        cast.writes("two.txt", "2\n"),
        cast.called("shell", command="echo 3 > three.txt; touch ran; sleep 60"),
        cast.done("two and three"),
    ]
    codebase.write(NEW, "old words\n")
    person = codebase.plan()
    person.answers("", "yes")
    person.until_file(codebase.project.root / "ran")
    person.kill()
    codebase.write("between.txt", "mine\n")
    person = codebase.start("--max-turns=1")
    person.answers("yes", "yes", "y")
    person.question()
    diff = diff_of(cast.requests["coach"][0])
    assert "new: two.txt +1 -0\nnew: between.txt +1 -0\nnew: ran +0 -0\nnew: three.txt" in diff


def test_a_person_who_edits_between_two_sessions_is_no_player(codebase, to_coach):
    cast = codebase.cast
    person = to_coach()
    person.says("quit")
    finished = person.ends()
    assert finished["summary"] == "quit at: implementation complete"
    assert [file["path"] for file in finished["data"]["files"]] == ["two.txt"]
    codebase.write("between.txt", "mine\n")
    cast.player = [cast.writes("three.txt", "3\n"), cast.done("three")]
    person = codebase.start()
    person.answers("yes", "yes", "y")
    assert "Please review" in person.question()
    diff = diff_of(cast.requests["coach"][1])
    assert "new: three.txt +1 -0\nnew: two.txt +1 -0\n\n" in diff
    assert "between" not in diff
    assert "\n  between.txt  (yours, not the player's)\n" in person.notices()


def test_files_that_earlier_work_left_staged_are_not_the_persons(codebase):
    cast = codebase.cast
    codebase.write(NEW, "old words\n")
    person = codebase.plan()
    person.answers("", "yes", "leave")
    person.question()
    cast.rewind()
    cast.player = [cast.writes("three.txt", "3\n"), cast.done("three")]
    codebase.write(NEW, "old words\n")
    person.says("")
    person.answers("yes", "yes")
    assert "Please review" in person.question()
    staged = person.notices().rpartition("\nStaged:\n")[2]
    assert staged.endswith("planner_history.txt\n  three.txt\n  two.txt")


def test_without_git_the_changes_are_told_as_well(codebase, to_coach):
    codebase.write("draft.py", "half = done\n")
    codebase.cast.coach = codebase.cast.coach[1:]
    codebase.write(NEW, "old words\n")
    person = codebase.start("--no-git")
    person.answers("", "yes")
    finished = person.quits()
    assert "new: two.txt +1 -0\n\n" in diff_of(codebase.cast.requests["coach"][0])
    assert [file["path"] for file in finished["data"]["files"]] == ["two.txt"]
