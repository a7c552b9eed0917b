"""The start of planning: flags, codepath, git's checks, models."""

from __future__ import annotations

import pytest

from code_commit_testing import install_plugin

HISTORY = "g3-plan/planner_history.txt"
NEW = "g3-plan/new_requirements.md"
TODO = "g3-plan/todo.g3.md"


def test_an_unknown_answer_repeats_the_question_and_a_no_ends_the_run(codebase):
    person = codebase.start()
    questions = person.answers("maybe", "", "no")
    assert len(set(questions)) == 1
    finished = person.ends()
    assert (finished["exit_code"], finished["summary"]) == (0, "quit at: branch check")
    assert not codebase.has("g3-plan")


def test_the_end_of_input_is_not_a_yes(codebase):
    finished = codebase.start().ends()
    assert (finished["exit_code"], finished["summary"]) == (1, "the input ended at: branch check")
    assert not codebase.has("g3-plan")


def test_quitting_keeps_the_new_plan_folder_which_the_next_start_does_not_list(codebase):
    person = codebase.plan()
    assert person.quits()["exit_code"] == 0
    assert codebase.plan_files() == {"planner_history.txt"}
    assert codebase.history == ""
    # Flags that planning ignores.
    person = codebase.start("--task=something else", "--task-file=something else")
    person.answers("yes")
    assert "start a review" in person.question()
    person.says("quit")
    assert person.ends()["exit_code"] == 0


def test_dirty_files_of_the_whole_repository_are_listed(codebase):
    codebase.write("sub/.gitignore", "/agent-config\n/logs\n")
    codebase.write("sub/agent-config/config.toml", codebase.read("agent-config/config.toml"))
    codebase.write("ünï \tcode\n.txt", "x\n")
    codebase.write("sub/g3-plan/new_requirements.md", "x\n")
    codebase.write("g3-plan/new_requirements.md", "not this file\n")
    codebase.project.git("mv", "one.txt", "uno.txt")
    codebase.write("a.txt", "changed\n")
    person = codebase.start(workflow=("--planning", f"--codepath={codebase.project.root}/sub"))
    person.answers("yes")
    assert person.question() == "Proceed anyway? [yes/no/quit]"
    person.says("no")
    assert person.ends()["exit_code"] == 0


def test_dirty_files_are_shown_to_the_person(codebase):
    codebase.write("ünï code.txt", "x\n")
    codebase.write(NEW, "x\n")
    codebase.project.git("mv", "one.txt", "uno.txt")
    completed = codebase.project.command(
        "--planning", f"--codepath={codebase.project.root}", stdin="yes\nquit\n"
    )
    assert completed.exit_code == 0
    shown = completed.stdout.partition("dirty files on master:\n")[2].partition("Proceed")[0]
    assert shown.split("\n") == ["  D  one.txt", "  A  uno.txt", "  ?? ünï code.txt", ""]


def test_a_missing_repository_ends_the_run(tmp_path, codebase):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    environ = {"GIT_CEILING_DIRECTORIES": str(tmp_path)}
    for flag, typed in ((f"--codepath={folder}", ""), ("--max-turns=1", f"{folder}\n")):
        completed = codebase.project.command(
            "--planning", "--model=gpt-5", flag, stdin=typed, environ=environ
        )
        assert completed.exit_code == 3
        assert f"error: {folder} is not in a git repository\n" in completed.stderr
        assert "hint: create one with `git init` there, or pass --no-git" in completed.stderr


def test_no_git_needs_no_repository(tmp_path, codebase):
    folder = tmp_path / "else where"
    files = {
        ".gitignore": "/agent-config\n*.secret\n",
        "agent-config/config.toml": codebase.read("agent-config/config.toml"),
        "a.secret": "hidden\n",
        NEW: "old words\n",
    }
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    cast = codebase.cast
    calls = [
        cast.called("read_file", path="a.secret"),
        cast.writes("b.secret", "x"),
        cast.called("shell", command="ls"),
    ]
    cast.player = [*cast.player[:2], *calls, cast.done()]
    elsewhere = {"GIT_CEILING_DIRECTORIES": str(tmp_path)}
    person = codebase.start(
        "--no-git", workflow=("--planning", f"--codepath={folder}"), environ=elsewhere
    )
    person.answers("", "yes")
    assert person.quits()["exit_code"] == 0
    assert "- COMPLETED REQUIREMENTS (" in (folder / HISTORY).read_text()
    assert "new: two.txt" in cast.requests["coach"][0].prompt
    errors = [
        event["data"]["error"] for event in person.events if event["kind"] == "toolbox.called"
    ]
    assert [error.partition(":")[0] for error in errors if error] == [
        "a.secret cannot be read",
        "b.secret cannot be written",  # git's rules apply here, too
    ]
    undone = codebase.project.command("undo", cwd=folder, environ=elsewhere)
    assert undone.exit_code == 0
    assert (folder / NEW).read_text() == "old words\n"
    assert not (folder / "two.txt").exists()


@pytest.mark.parametrize("state", ["detached", "empty"])
def test_a_repository_without_a_branch(codebase, state):
    project = codebase.project
    if state == "detached":
        project.git("checkout", "-q", "--detach")
        shown = f"no branch: HEAD is detached at {project.git('rev-parse', 'HEAD')[:12]}"
    else:
        project.git("checkout", "-q", "--orphan", "fresh")
        shown = "fresh"
    completed = project.command("--planning", f"--codepath={project.root}", stdin="no\n")
    assert completed.exit_code == 0
    assert f"Current git branch: {shown}\n" in completed.stdout


def test_the_codepath_is_printed_and_its_tilde_expands(codebase):
    home = codebase.project.root.parent
    completed = codebase.project.command(
        "--planning",
        "--codepath=~/project",
        stdin="no\n",
        cwd=codebase.project.home,
        environ={"HOME": str(home)},
    )
    assert completed.exit_code == 0
    assert f"Codepath: {codebase.project.root}\n" in completed.stdout


def test_the_codepath_is_asked_for(codebase):
    root = codebase.project.root
    typed = f"\nnowhere\n{root}\nno\n"
    completed = codebase.project.command("--planning", stdin=typed, cwd=codebase.project.home)
    assert completed.exit_code == 0
    assert completed.stderr.count("Which codebase do you want to work in?") == 3
    assert "There is no folder nowhere." in completed.stderr
    assert f"Codepath: {root}\n" in completed.stdout


def test_quitting_at_the_codepath_ends_the_run(codebase):
    completed = codebase.project.command(
        "--planning", "--json", stdin="quit\n", cwd=codebase.project.home
    )
    assert completed.exit_code == 0
    assert [event["kind"] for event in completed.events] == ["run.finished"]
    assert completed.events[0]["data"]["outcome"] == "reached"
    assert not list(codebase.project.home.iterdir())


def test_an_invalid_codepath_is_an_error(codebase):
    for codepath in ("nowhere", "~nobody-at-all/x", "a.txt", ""):
        completed = codebase.project.command("--planning", f"--codepath={codepath}")
        assert completed.exit_code == 3
        assert ("There is no folder" if codepath else "The codepath is empty.") in completed.stderr
    assert codebase.project.command("--planning").exit_code == 3  # the input ended


@pytest.mark.parametrize("other", ["--autonomous", "--auto", "--chat"])
def test_planning_rejects_flags_of_other_workflows(codebase, other):
    completed = codebase.project.command("--planning", other)
    assert completed.exit_code == 2
    assert "cannot be used together" in completed.stderr


def test_a_removed_todo_list_is_kept_in_the_run_folder(codebase):
    codebase.write(TODO, "- [ ] of earlier\n")
    person = codebase.start()
    person.answers("yes", "yes", "no", "quit")
    person.ends()
    assert not codebase.has(TODO)
    assert "Removed g3-plan/todo.g3.md of an earlier run; a copy is in logs/" in person.notices()
    assert (codebase.project.run_folder / "todo.g3.md").read_text() == "- [ ] of earlier\n"


@pytest.mark.parametrize("turns", ["0", "-1", "many"])
def test_max_turns_is_a_number(codebase, turns):
    assert codebase.project.command("--planning", f"--max-turns={turns}").exit_code == 2


def test_the_fallback_of_the_planner_is_shown(codebase):
    config = codebase.read("agent-config/config.toml").replace('planner = "openai.planner"\n', "")
    codebase.write("agent-config/config.toml", config)
    environ = {"OPENAI_API_KEY": "sk-0123456789abcdef"}
    completed = codebase.project.command(
        "--planning", f"--codepath={codebase.project.root}", stdin="no\n", environ=environ
    )
    assert (
        "No `planner` is specified in [providers]:\nfalling back to gpt-5, by default_provider"
        in completed.stdout
    )


def test_an_unresolved_default_shows_an_example(codebase):
    codebase.write("agent-config/config.toml", '[providers]\ndefault_provider = "openai.nothing"\n')
    completed = codebase.project.command(
        "--planning", f"--codepath={codebase.project.root}", stdin="no\n"
    )
    assert completed.exit_code == 3
    assert "[providers.anthropic.planner]" in completed.stderr


def test_a_plan_folder_that_git_ignores_is_not_ready(codebase):
    codebase.write(".gitignore", "/agent-config\n/g3-plan\n")
    codebase.project.git("commit", "-qam", "ignore")
    person = codebase.start()
    person.answers("yes")
    finished = person.until("run.finished")
    assert finished["exit_code"] == 3
    assert "planning cannot work in g3-plan" in finished["summary"]


EMPTIED = """
from code_commit.plugin_api import Refusal, hookimpl

class Rule:
    name = "emptied"
    def judge(self, changes, tree):
        for change in changes:
            if not change.content and tree.read(change.path):
                yield Refusal(change.path, "emptied", "No.")

@hookimpl
def code_commit_path_rules(settings):
    return [Rule()]
"""


def test_a_rule_against_shrinking_files_does_not_stop_planning(codebase, tmp_path):
    plugins = install_plugin(
        tmp_path / "plugins", "emptied", EMPTIED, group="code_commit.path_rules"
    )
    codebase.write(
        HISTORY, "2026-01-01 10:00:00 - REFINING REQUIREMENTS (new_requirements.md)\n" * 20
    )
    codebase.project.git("add", ".")
    codebase.project.git("commit", "-qm", "a history")
    arguments = ("--planning", f"--codepath={codebase.project.root}")
    completed = codebase.project.command(*arguments, stdin="yes\nquit\n", plugins=[plugins])
    assert completed.exit_code == 0, completed.stderr


def test_a_plan_folder_that_is_a_link_is_not_ready(codebase, tmp_path):
    (tmp_path / "out").mkdir()
    (codebase.project.root / "g3-plan").symlink_to(tmp_path / "out")
    person = codebase.start()
    person.answers("yes", "yes")
    assert person.until("run.finished")["exit_code"] == 3
    assert not list((tmp_path / "out").iterdir())


def test_an_unknown_author_is_a_warning_at_the_start(codebase):
    codebase.project.git("config", "--unset", "user.name")
    codebase.project.git("config", "--unset", "user.email")
    codebase.project.git("config", "user.useConfigOnly", "true")
    person = codebase.start()
    person.answers("yes")
    person.quits()
    assert any("no author name or address" in message for message in person.messages())


def test_a_todo_list_without_requirements_cannot_be_resumed(codebase):
    codebase.write(TODO, "- [ ] éà\n")
    person = codebase.start()
    questions = person.answers("yes", "yes", "yes", "no")
    assert questions[2] == (
        "The last run didn't complete successfully. Found:\n- todo.g3.md \n- [ ] éà\n"
        "Would you like to resume the previous implementation?\n[Y] Yes - Attempt to resume\n"
        "[N] No - Mark as complete and proceed to review new_requirements.md\n"
        "[Q] Quit - Exit and investigate manually"
    )
    assert questions[3] == questions[2]
    person.quits()
    assert not codebase.has(TODO)
    assert codebase.history[20:] == "USER SKIPPED RECOVERY\n"
