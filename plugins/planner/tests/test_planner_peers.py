"""Autonomous mode and chat."""

from __future__ import annotations

import pytest

from code_commit.plugin_api import Text
from code_commit_testing import Reply
from code_commit_toolbox.transcript import read_transcript


@pytest.fixture
def autonomous(codebase):
    codebase.write("requirements.md", "Add two.\n")

    def run(*flags):
        return codebase.project.command("--autonomous", "--json", *codebase.flags, *flags)

    return run


def test_autonomous_works_until_the_coach_approves(codebase, autonomous):
    cast = codebase.cast
    cast.coach = [cast.done("More."), *cast.coach]
    completed = autonomous()
    assert completed.exit_code == 0
    assert completed.events[-1]["data"]["data"] == {
        "turns": 2,
        "end": "approved",
        "feedback": "",
        "files": [
            {"path": "todo.g3.md", "added": 1, "removed": 0},
            {"path": "two.txt", "added": 1, "removed": 0},
        ],
    }
    assert codebase.read("two.txt") == "2\n"
    assert codebase.read("todo.g3.md") == "- [x] two\n"
    player = str(cast.requests["player"][-1].json["messages"])
    assert "More." in player
    assert "requirements.md" in player
    assert codebase.read("requirements.md") == "Add two.\n"


def test_a_red_build_goes_back_to_the_player(codebase, autonomous):
    cast = codebase.cast
    codebase.write("build.sh", "test -e three.txt || { echo 'three is missing' >&2; exit 3; }\n")
    cast.player += [cast.writes("three.txt", "3\n"), cast.done("mended")]
    completed = autonomous("--sandbox=off")
    assert (completed.exit_code, completed.events[-1]["data"]["data"]["turns"]) == (0, 2)
    prompt = cast.requests["player"][-1].json["messages"][1]["content"]
    assert "the build of the project fails: `bash build.sh`" in str(prompt)
    assert "ended with exit code 3\n--- output ---\nthree is missing" in str(prompt).replace(
        "\\n", "\n"
    )


def test_the_player_is_told_how_the_build_runs(codebase, autonomous):
    codebase.write("build.sh", "#!/bin/bash -e\nfalse\ntrue\n")
    assert autonomous("--sandbox=off", "--max-turns=2").exit_code == 1
    prompt = str(codebase.cast.requests["player"][-1].json["messages"][1]["content"])
    assert "the build of the project fails: `/bin/bash -e build.sh`" in prompt


def test_a_build_that_cannot_run_ends_before_a_call(codebase, autonomous):
    codebase.write("build.sh", "#!/no/such/bash -e\nfalse\n")
    completed = autonomous("--sandbox=off")
    assert (completed.exit_code, codebase.cast.requests["player"]) == (3, [])
    assert (
        "the interpreter /no/such/bash, which the first line of build.sh names," in completed.stderr
    )


def test_a_build_that_stays_red_is_not_reached_and_teaches_the_next_run(codebase, autonomous):
    cast = codebase.cast
    codebase.write("build.sh", "echo 'three is missing'; exit 3\n")
    completed = autonomous("--sandbox=off", "--max-turns=1")
    assert (completed.exit_code, completed.events[-1]["data"]["data"]["end"]) == (1, "out of turns")
    calls = len(cast.requests["player"])
    autonomous("--sandbox=off", "--max-turns=1")
    assert "three is missing" in cast.requests["player"][calls].prompt


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "there is no requirements.md"), (" \n", "requirements.md is empty")],
)
def test_autonomous_needs_requirements(codebase, content, message):
    if content is not None:
        codebase.write("requirements.md", content)
    completed = codebase.project.command("--auto")
    assert completed.exit_code == 3
    assert message in completed.stderr


def test_autonomous_shows_the_error(codebase, autonomous):
    codebase.cast.player = [Reply.error(401, "no")]
    assert autonomous().exit_code == 4


def test_out_of_turns_continues_in_the_next_run_and_other_requirements_start_over(
    codebase, autonomous
):
    codebase.cast.coach = [codebase.cast.done("Not yet.")]
    config = codebase.read("agent-config/config.toml")
    codebase.write("agent-config/config.toml", f"{config}[plugins.planner]\nmax_turns = 1\n")
    completed = autonomous()
    data = completed.events[-1]["data"]["data"]
    assert (completed.exit_code, data["turns"], data["end"]) == (1, 1, "out of turns")
    calls = len(codebase.cast.requests["player"])
    assert autonomous("--max-turns=2").events[-1]["data"]["data"]["turns"] == 2
    assert "Not yet." in str(codebase.cast.requests["player"][calls].json)
    codebase.write("requirements.md", "Add three.\n")
    calls = len(codebase.cast.requests["player"])
    autonomous()
    assert "Not yet." not in str(codebase.cast.requests["player"][calls].json)


def test_chat_follows_the_person(codebase):
    cast = codebase.cast
    cast.player = [
        cast.writes("two.txt", "2\n"),
        cast.done("Two is there."),
        cast.done("Nothing to do."),
    ]
    completed = codebase.project.command("--chat", stdin="add two\n\nk\nquti\nand now?\nquit\n")
    assert completed.exit_code == 0
    assert "Two is there." in completed.stdout
    assert "Nothing to do." in completed.stdout
    assert codebase.read("two.txt") == "2\n"
    last = cast.requests["player"][-1].json["messages"]
    assert [message["content"] for message in last if message["role"] == "user"] == [
        "add two",
        "and now?",
    ]


def test_what_the_person_writes_between_two_turns_of_a_chat_stays(codebase):
    cast = codebase.cast
    codebase.write("text.txt", "one\ntwo\nthree\n")
    cast.player = [
        *(cast.called("read_file", path="text.txt"), cast.done()),
        *(cast.writes("text.txt", "one\ntwo\n3\n"), cast.done()),
    ]
    person = codebase.start(workflow=("--chat",))
    person.answers("Read the text.")
    person.question()
    codebase.write("text.txt", "ONE\ntwo\nthree\n")
    person.says("Write digits.")
    person.answers("quit")
    finished = person.ends()
    assert codebase.read("text.txt") == "ONE\ntwo\n3\n"
    assert finished["data"]["files"] == [{"path": "text.txt", "added": 1, "removed": 1}]


def test_a_killed_chat_is_offered_again(codebase):
    cast = codebase.cast
    cast.player = [cast.done("one"), cast.done("two"), cast.done("three")]
    person = codebase.start(workflow=("--chat",))
    person.answers("first")
    person.question()
    cast.before["player"] = person.kill
    person.says("second")
    person.process.wait(60)
    cast.before.clear()
    person = codebase.start(workflow=("--chat",))
    person.answers("yes")
    person.question()
    person.kill()  # it was continued, and nothing was typed
    person = codebase.start(workflow=("--chat",))
    questions = person.answers("yes", "third")
    assert questions[0].endswith("was interrupted.\nContinue it? [yes/no/quit]")
    person.quits()
    prompts = [
        message["content"]
        for message in cast.requests["player"][-1].json["messages"]
        if message["role"] == "user"
    ]
    assert "first" in str(prompts)
    assert "second" in str(prompts)
    assert "third" in str(prompts)
    person = codebase.start(workflow=("--chat",))
    assert person.question().startswith("Describe the work")


def test_a_chat_goes_on_after_the_end_of_input_and_the_end_says_how(codebase):
    continues = "`code-commit --chat` continues the conversation"
    finished = codebase.project.command("--chat")
    assert (finished.exit_code, continues in finished.stderr) == (1, False)
    codebase.cast.player = [codebase.cast.done("An answer.")]
    finished = codebase.project.command("--chat", stdin="a question\n")
    assert (finished.exit_code, continues in finished.stderr) == (1, True)
    finished = codebase.project.command("--chat", stdin="yes\nmore\nquit\n")
    assert finished.exit_code == 0
    assert "a question" in str(codebase.cast.requests["player"][-1].json["messages"])
    assert "was interrupted" not in codebase.project.command("--chat").stdout


def test_words_that_do_not_fit_do_not_end_a_chat(codebase):
    cast = codebase.cast
    cast.player = [cast.done("An answer.")]
    long_line = "word " * 200_000
    stdin = f"a question\n{long_line}\nmore\nquit\n"
    finished = codebase.project.command("--chat", stdin=stdin)
    assert finished.stdout.count("Your words were not sent.") == 1
    assert len(cast.requests["player"]) == 2
    last = cast.requests["player"][-1]
    assert "more" in str(last.json["messages"])
    assert long_line not in str(last.json["messages"])
    # The chat is in one transcript, which it reads back after an interruption.
    (transcript,) = codebase.project.run_folder.glob("player-transcript*.jsonl")
    texts = [
        part.text
        for message in read_transcript(transcript).messages
        for part in message.parts
        if message.role == "user" and isinstance(part, Text)
    ]
    assert texts == ["a question", "more"]


def test_the_end_of_autonomous_mode_says_how_to_continue_without_changes(codebase):
    codebase.cast.player = [codebase.cast.done("Nothing yet.")]
    codebase.cast.coach = [Reply.error(401, "bad key")]
    codebase.write("requirements.md", "Add two.\n")
    finished = codebase.project.command("--autonomous", "--sandbox=off")
    assert finished.exit_code == 4
    assert "; `code-commit --autonomous` continues\n" in finished.stderr
