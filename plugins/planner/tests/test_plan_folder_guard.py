"""The plan folder belongs to the program: what agents write there, with tools and commands, is
refused or put back.
"""

from __future__ import annotations

import signal
import time
from typing import Any

import pytest

NEW = "g3-plan/new_requirements.md"
CURRENT = "g3-plan/current_requirements.md"
TODO = "g3-plan/todo.g3.md"
HISTORY = "g3-plan/planner_history.txt"
PUT_BACK = (
    "\n{{ORIGINAL USER REQUIREMENTS -- THIS SECTION WILL BE IGNORED BY THE IMPLEMENTATION}}\n"
    "\nold words\n"
)
REQUIREMENTS = f"{{{{CURRENT REQUIREMENTS}}}}\nAdd two.\n\nold words\n{PUT_BACK}"


@pytest.fixture
def player(codebase):
    """Plan with a player that makes these calls, up to the first question after its work."""

    def plays(*calls):
        cast = codebase.cast
        codebase.write(NEW, "old words\n")
        cast.player = [*calls, *cast.player]
        person = codebase.plan()
        person.answers("", "yes")
        assert "Please review the currently staged files" in person.question()
        return person

    return plays


def answers(cast, part):
    """The results of the calls of `part`."""
    messages = cast.requests[part][-1].json["messages"]
    return [str(message["content"]) for message in messages if message["role"] == "tool"]


def test_only_commands_write_new_requirements_and_todos_in_the_plan_folder(codebase, player):
    cast = codebase.cast
    paths = [HISTORY, CURRENT, "./g3-plan/notes.md", "G3-Plan/x.md", NEW]
    command = f"echo the next ones > {NEW}; echo '- [x] more' >> {TODO}"
    forgeries = [cast.writes(path, "forged\n") for path in paths]
    person = player(*forgeries, cast.called("shell", command=command))
    refused = answers(cast, "player")[: len(paths)]
    assert len(refused) == len(paths)
    assert all("belong to the program" in answer for answer in refused)
    assert "forged" not in codebase.history
    assert not codebase.has("g3-plan/notes.md")
    assert not codebase.has("G3-Plan")
    assert codebase.read(NEW) == "the next ones\n"
    assert "which are restored" not in person.notices()


def test_a_command_that_ctrl_c_ends_changes_nothing_in_the_plan_folder(codebase):
    cast = codebase.cast
    codebase.write(NEW, "old words\n")
    command = f"echo forged > {CURRENT}; touch changed; sleep 600"
    cast.player = [cast.called("shell", command=command), *cast.player]
    person = codebase.plan()
    person.answers("", "yes")
    while not codebase.has("changed"):
        assert person.process.poll() is None
        time.sleep(0.02)
    assert codebase.read(CURRENT) == "forged\n"
    person.process.send_signal(signal.SIGINT)
    assert person.until("run.finished")["exit_code"] == 130
    assert person.process.wait(60) == 130
    assert codebase.read(CURRENT) == REQUIREMENTS


COMMANDS = [
    f"echo forged > {CURRENT}; echo forged > {HISTORY}; touch g3-plan/completed_requirements_2020-01-01_00-00-00.md",
    f"rm {CURRENT} {HISTORY}",
    "rm -r g3-plan; ln -s /tmp g3-plan; exit 3",
    f"rm {CURRENT} {HISTORY}; mkdir {CURRENT}; touch {CURRENT}/x; ln -s /etc/passwd {HISTORY}",
    f"rm {CURRENT}; mkfifo {CURRENT}; mkfifo g3-plan/pipe; chmod 500 g3-plan",
    "rm -r g3-plan; echo forged > g3-plan",
]


def test_commands_change_nothing_else_in_the_plan_folder(codebase, player):
    cast = codebase.cast
    cast.coach = [cast.called("shell", command=f"echo '- [ ] more' > {TODO}"), *cast.coach]
    seen = f"echo seen; cat {CURRENT}"  # each command finds what the one before it has changed
    person = player(*(cast.called("shell", command=f"{seen}; {command}") for command in COMMANDS))
    for kind in ("REFINING REQUIREMENTS", "GIT HEAD", "START IMPLEMENTING"):
        assert f"- {kind}" in codebase.history
    assert "forged" not in codebase.history
    (completed_name,) = [
        name for name in codebase.plan_files() if name.startswith("completed_requirements")
    ]
    assert codebase.read(f"g3-plan/{completed_name}") == REQUIREMENTS
    notice = "A command of the player changed files of planning, which are restored: "
    assert person.notices().count(notice) == len(COMMANDS)
    # Which the player writes.
    assert "A command of the coach changed files of planning" in person.notices()
    note = "These files belong to the program, which restored them"
    for answer in answers(cast, "player")[: len(COMMANDS)]:
        assert f"seen\n{REQUIREMENTS}" in answer
        assert note in answer
    assert note in cast.requests["coach"][0].prompt
    assert "forged" not in cast.requests["message"][0].prompt


def test_a_link_in_the_place_of_a_folder_leads_nowhere(codebase, player, tmp_path):
    """The host restores the files, outside of the sandbox."""
    outside = tmp_path / "outside"
    (outside / "projects").mkdir(parents=True)
    (outside / "projects/precious").write_text("x")
    codebase.write("g3-plan/sub/projects", "a note\n")
    codebase.project.git("add", "g3-plan")
    codebase.project.git("commit", "-qm", "a note")
    player(codebase.cast.called("shell", command=f"rm -r g3-plan/sub; ln -s {outside} g3-plan/sub"))
    assert (outside / "projects/precious").read_text() == "x"
    assert codebase.read("g3-plan/sub/projects") == "a note\n"


CALLS = [
    ("write_file", {"path": "src/evil.py", "content": "x"}),
    ("str_replace", {"path": "one.txt", "old_str": "1", "new_str": "2"}),
    ("write_file", {"path": HISTORY, "content": "x"}),
    (
        "shell",
        {
            "command": f"mkdir src; echo x > src/evil.py; rm one.txt; echo x > {HISTORY}; echo x > {CURRENT}"
        },
    ),
]


def test_the_planner_writes_new_requirements_alone(codebase):
    cast = codebase.cast
    codebase.write(NEW, "old words\n")
    codebase.write("mine.txt", "mine\n")
    cast.planner = [*(cast.called(name, **arguments) for name, arguments in CALLS), *cast.planner]
    person = codebase.start()
    person.answers("yes", "yes", "", "no")
    person.quits()
    assert codebase.read("one.txt") == "1\n"
    assert codebase.read("mine.txt") == "mine\n"
    assert not codebase.has("src")
    assert not codebase.has(CURRENT)
    assert codebase.history.endswith("- REFINING REQUIREMENTS (new_requirements.md)\n")
    assert codebase.read(NEW) == REQUIREMENTS
    note = "may write only g3-plan/new_requirements.md"
    refused = answers(cast, "planner")[: len(CALLS)]
    assert len(refused) == len(CALLS)
    assert all(note in answer for answer in refused)


def test_a_command_of_the_planner_that_cannot_be_undone_ends_its_work(codebase):
    cast = codebase.cast
    codebase.write(NEW, "old words\n")
    command = "rm one.txt; mkfifo one.txt"
    cast.planner = [cast.called("shell", command=command), *cast.planner]
    person = codebase.plan()
    person.answers("")
    assert person.ends()["exit_code"] == 1
    [error] = [text for text in person.messages() if "a command of the planner" in text]
    assert "its changes cannot be undone: one.txt cannot be read: not a regular file" in error
    assert len(cast.requests["planner"]) == 1


def test_a_command_of_the_planner_may_write_the_requirements(codebase):
    cast = codebase.cast
    codebase.write(NEW, "old words\n")
    cast.planner = [
        cast.called("shell", command=f"echo '{{{{CURRENT REQUIREMENTS}}}}' > {NEW}"),
        cast.done(),
    ]
    person = codebase.plan()
    person.answers("", "no")
    person.quits()
    assert codebase.read(NEW) == f"{{{{CURRENT REQUIREMENTS}}}}\n{PUT_BACK}"
    person = codebase.start()
    person.answers("quit")
    person.ends()
    assert "was killed" not in person.notices()


def test_autonomous_mode_restores_its_requirements(codebase):
    cast = codebase.cast
    codebase.write("requirements.md", "Add two.\n")
    cast.player = [
        cast.writes("requirements.md", "Nothing.\n"),
        cast.called("shell", command="echo Nothing. > requirements.md"),
        *cast.player,
    ]
    completed = codebase.project.command("--autonomous", "--sandbox=off")
    assert completed.exit_code == 0
    assert codebase.read("requirements.md") == "Add two.\n"
    assert "belong to the program" in answers(cast, "player")[0]


@pytest.mark.parametrize(
    ("command", "altered", "left"),
    [
        ("echo Nothing. > requirements.md; echo exit > build.sh", "build.sh", "Add two.\n"),
        (
            "echo Nothing. > requirements.md; echo requirements.md >> .gitignore",
            "requirements.md",
            "Nothing.\n",
        ),
    ],
    ids=["restored", "not restored"],
)
def test_a_command_that_changes_what_checks_the_project_ends_the_work(
    codebase, command, altered, left
):
    cast = codebase.cast
    codebase.write("requirements.md", "Add two.\n")
    cast.player = [cast.called("shell", command=command), *cast.player]
    completed = codebase.project.command("--autonomous", "--sandbox=off")
    assert completed.exit_code == 1
    assert (
        f"a command of the player changed files that check the project: {altered}\n"
        in completed.stderr
    )
    assert codebase.read("requirements.md") == left
    [transcript] = codebase.project.run_folder.glob("*player*transcript*")
    assert ("which restored them" in transcript.read_text()) == (left == "Add two.\n")


def test_files_are_restored_if_the_person_interrupts_a_command(codebase):
    cast, pid = codebase.cast, codebase.project.home / "pid"
    codebase.write("requirements.md", "Add two.\n")
    command = f"echo Nothing. > requirements.md; kill -INT $(cat '{pid}'); sleep 60"
    cast.player = [cast.called("shell", command=command), *cast.player]
    started: list[Any] = []
    cast.before["player"] = lambda: pid.write_text(str(started[0].process.pid))
    started += [person := codebase.start(workflow=("--autonomous",))]
    finished = person.ends()
    # The player is not asked again.
    assert (finished["exit_code"], finished["summary"]) == (130, "interrupted")
    assert codebase.read("requirements.md") == "Add two.\n"
    assert len(cast.requests["player"]) == 1


FORGES = f"echo forged > {CURRENT}; echo forged > {HISTORY}; rm {TODO}; touch g3-plan/more.md"


@pytest.fixture
def killed(codebase, request):
    """Plan with a player whose command kills the program, and return the history from before."""
    cast, more = codebase.cast, getattr(request, "param", "true")
    codebase.write(NEW, "old words\n")
    before = []
    pid = codebase.project.home / "pid"
    kills = cast.called("shell", command=f"{FORGES}; {more}; kill -9 $(cat '{pid}')")
    cast.player = [*cast.player[:1], kills, *cast.player[1:]]
    cast.before["player"] = lambda: before.append(codebase.history)
    person = codebase.plan(cold=True)  # to be killed at once
    pid.write_text(str(person.process.pid))
    person.answers("", "yes")
    assert person.process.wait(60) == -9
    assert codebase.history == codebase.read(CURRENT) == "forged\n"
    cast.before.clear()
    cast.player = cast.player[1:]
    return before[-1]


def test_the_next_start_restores_what_a_killed_command_changed(codebase, killed):
    codebase.write(NEW, "the next ones\n")
    person = codebase.start()
    *_, question = person.answers("yes", "yes", "quit")
    person.ends()
    assert "current_requirements.md from" in question
    assert (codebase.read(CURRENT), codebase.history) == (REQUIREMENTS, killed)
    assert not codebase.has("g3-plan/more.md")
    assert codebase.read(NEW) == "the next ones\n"
    assert "The last run was killed during a command of the player" in person.notices()
    assert (codebase.project.run_folder / "found-planner_history.txt").read_text() == "forged\n"
    person = codebase.start()
    person.answers("yes", "yes")
    person.quits()
    assert "was killed" not in person.notices()


@pytest.mark.parametrize("killed", ["echo /g3-plan >> .gitignore"], indirect=True)
def test_planning_does_not_begin_with_files_that_cannot_be_restored(codebase, killed):
    person = codebase.start()
    person.answers("yes", "yes")
    finished = person.ends()
    assert (finished["outcome"], codebase.history != killed) == ("not_ready", True)
    assert "A command changed files of planning, which cannot be restored: " in finished["summary"]


def test_a_killed_command_of_another_branch_restores_nothing(codebase, killed):
    codebase.project.git("switch", "-q", "-c", "other")
    codebase.write(HISTORY, "mine\n")
    person = codebase.start()
    person.answers("yes", "yes")
    person.quits()
    assert codebase.history == "mine\n"


def test_a_killed_command_of_the_planner_is_told_before_the_work_goes_on(codebase):
    codebase.write(NEW, "old words\n")
    pid = codebase.project.home / "pid"
    codebase.cast.planner = [
        codebase.cast.called("shell", command=f"echo x > one.txt; kill -9 $(cat '{pid}')")
    ]
    person = codebase.plan(cold=True)  # to be killed at once
    pid.write_text(str(person.process.pid))
    person.answers("")
    assert person.process.wait(60) == -9
    person = codebase.start()
    person.answers("yes")
    assert "Proceed anyway?" in person.question()
    note, _, dirty = person.notices().partition(
        "The last run was killed during a command of the planner"
    )
    assert "one.txt" in dirty
    assert "one.txt" not in note
