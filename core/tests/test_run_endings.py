"""How runs end: what the last event, stderr and the files say of the same ending."""

from __future__ import annotations

import json
import shutil
from importlib.util import find_spec
from typing import Any

import pytest

from code_commit_testing import Finished, Project, install_plugin

PLUGIN = """
from pydantic import BaseModel
from code_commit.plugin_api import (
    Change, Flag, LimitReached, MessageLogged, Outcome, Result, WorkflowDefinition, hookimpl,
)

class Options(BaseModel):
    alone: bool = False

@hookimpl
def code_commit_workflows():
    return [
        WorkflowDefinition(name, "end", (Flag((f"--{name}",), "end", selects=True), *more), "ends_plugin:work",
                           roles=None, options="ends_plugin:Options", interactive=name == "talk",
                           no_repository=("alone",) if more else (), writes=name != "look")
        for name, more in (("work", ()), ("talk", ()), ("free", (Flag(("--alone",), "alone"),)), ("look", ()))
    ]

def change(run):
    run.apply([Change("a.txt", b"new\\n"), Change("b.txt", b"x")])

def work(run):
    CODE
"""
UNDO = "`code-commit undo` reverts the changes"


@pytest.fixture
def run(project: Project, tmp_path):
    def run(code: str, *arguments: str, build: str = "exit 0\n") -> tuple[Finished, dict[str, Any]]:
        project.write({"build.sh": build})
        plugins = install_plugin(tmp_path / "plugins", "ends", PLUGIN.replace("CODE", code.replace("\n", "\n    ")))
        command = (*(arguments or ("--work",)), "--json", "--sandbox", "off")
        finished = project.command(*command, plugins=[plugins])
        return finished, finished.events[-1]["data"]

    return run


def hints(finished: Finished) -> list[str]:
    return [line for line in finished.stderr.splitlines() if line.startswith("hint: ")]


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize("build", ["echo first; echo last; exit 1\n", "exit 1\n"])
def test_a_run_that_did_not_reach_its_goal_says_why_and_what_stays_changed(run, project, build):
    code = "change(run); run.build(); return Result(Outcome.NOT_REACHED, 'red', {'a': 1}, hint='look')"
    finished, end = run(code, build=build)
    assert (finished.exit_code, end["outcome"], end["summary"]) == (1, "not_reached", "red")
    assert (end["data"]["a"], end["data"]["changed"]) == (1, ["a.txt", "b.txt"])
    assert end["data"]["hint"].startswith("look; ")
    assert end["data"]["hint"].endswith(UNDO)
    assert hints(finished) == [f"hint: {end['data']['hint']}"]
    shows = find_spec("code_commit_history") is not None  # has the command
    assert ("; `code-commit runs diff` shows them, " in hints(finished)[0]) == shows
    log = f"logs/{project.run_folder.name}/build.txt"
    lines = [f"the last lines of {log}:", "  first", "  last"] if "echo" in build else ["the build printed nothing"]
    said = "".join(f"  {line}\n" for line in (*lines, "files stay changed: a.txt, b.txt"))
    assert f"error: red\n{said}hint: " in finished.stderr
    assert [each["data"]["last_lines"] for each in finished.events if each["kind"] == "process.finished"] == [
        "first\nlast" if "echo" in build else ""
    ]


@pytest.mark.slow
@pytest.mark.parametrize("code", ["run.build()", "pass"])
def test_a_green_build_or_none_is_not_explained(run, code):
    finished, end = run(f"change(run); {code}; return Result(Outcome.NOT_REACHED, 'no')")
    assert (end["data"]["changed"], "the build printed nothing" in finished.stderr) == (["a.txt", "b.txt"], False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("workflow", "code", "told"),
    [
        ("--work", "change(run)", [UNDO]),
        ("--work", "change(run); more['hint'] = 'commit'", ["commit"]),
        ("--work", "pass", []),
        ("--talk", "change(run)", []),  # the person was asked about them
    ],
)
def test_a_run_that_reached_its_goal_may_be_undone(run, workflow, code, told):
    finished, end = run(f"more = {{}}; {code}; return Result(Outcome.REACHED, 'done', **more)", workflow)
    assert (finished.exit_code, end["data"]) == (0, {})
    assert [line.removeprefix("hint: ").rpartition(", ")[2] for line in hints(finished)] == told


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize(
    ("code", "exit_code", "summary", "hint"),
    [
        ("raise LimitReached('too dear', hint='pay')", 6, "too dear", "pay; "),
        ("raise OSError(28, 'No space left on device')", 3, "No space left on device", None),
        (
            "raise ValueError('a bug')",
            70,
            "internal error in a workflow of code-commit-ends: ValueError: a bug",
            "this is a bug; --debug shows where; ",
        ),
    ],
)
def test_an_error_ends_the_run_with_its_code_and_hint(run, project, code, exit_code, summary, hint):
    finished, end = run(f"change(run)\n{code}")
    assert (finished.exit_code, end["exit_code"]) == (exit_code, exit_code), finished.stderr
    assert summary in end["summary"]
    assert end["data"]["changed"] == ["a.txt", "b.txt"]
    assert hint is None or end["data"]["hint"].startswith(hint)
    assert end["data"]["hint"].endswith(UNDO)
    assert "Traceback" not in finished.stderr
    document = json.loads((project.run_folder / "run.json").read_bytes())
    assert (document["exit_code"], document["data"]) == (exit_code, end["data"])


@pytest.mark.fast_rows(2)
@pytest.mark.parametrize(
    ("workflow", "code", "undone", "content"),
    [
        ("--work", "change(run); run.execute(['sh', '-c', 'echo x > c.txt'], timeout=60)", [["a.txt", "b.txt", "c.txt"]], "old\n"),
        ("--work", "pass", [], "old\n"),
        ("--talk", "change(run)", [], "new\n"),
    ],
)  # fmt: skip
def test_files_are_restored_where_it_was_asked_for(run, project, workflow, code, undone, content):
    finished, end = run(f"{code}; return Result(Outcome.NOT_REACHED, 'no')", workflow, "--on-failure", "restore")
    told = [each["data"] for each in finished.events if each["kind"] == "changes.undone"]
    assert [each["paths"] for each in told] == undone
    assert {each["reason"] for each in told} <= {"the goal was not reached"}
    assert (finished.exit_code, project.read("a.txt")) == (1, content)
    assert end["data"].get("changed", []) == (["a.txt", "b.txt"] if content == "new\n" else [])


def test_an_error_while_the_run_ends_does_not_hide_the_first(run, project):
    project.write({".gitignore": "/agent-config\nlogs\n*.tmp\n"})
    spoil = "['sh', '-c', 'rm a.txt; mkdir a.txt; touch a.txt/x.tmp']"
    finished, end = run(
        f"change(run); run.execute({spoil}, timeout=60); raise ValueError('a bug')", "--work", "--on-failure", "restore"
    )
    assert (finished.exit_code, end["summary"].endswith("ValueError: a bug")) == (70, True)
    [warning] = [each["data"]["text"] for each in finished.events if each["data"].get("level") == "warning"]
    assert warning.startswith("while the run ended: ")
    assert "a.txt" in warning


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize(("content", "warned"), [(b"new", [".envrc"]), (None, [])])
def test_a_change_of_what_other_programs_execute_is_warned_of_without_a_check(run, project, content, warned):
    project.write({".envrc": "old"})
    finished, _ = run(f"run.apply([Change('.envrc', {content})]); return Result(Outcome.REACHED, 'ok')")
    warnings = [each["data"]["text"] for each in finished.events if each["data"].get("level") == "warning"]
    assert [text.partition(":")[0] for text in warnings] == warned


def test_what_a_build_leaves_is_warned_of_once_and_is_part_of_the_change(run, project):
    build = "echo made > .envrc\n"
    finished, end = run("change(run); run.build(); run.build(); return Result(Outcome.NOT_REACHED, 'no')", build=build)
    warnings = [each["data"]["text"] for each in finished.events if each["data"].get("level") == "warning"]
    assert [text.partition(":")[0] for text in warnings] == [".envrc"]
    assert end["data"]["changed"] == [".envrc", "a.txt", "b.txt"]
    private = "--git-dir=agent-config/.code-commit/checkpoint.git"
    refs = project.git(private, "for-each-ref", "--format=%(refname:lstrip=-1)", "--sort=refname").split()
    assert refs == ["applied", "built", "built-2", "start"]


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize(
    ("arguments", "exit_code"),
    [(("--free",), 3), (("--free", "--alone"), 0), (("--look",), 0)],
)
def test_which_runs_need_a_repository(run, project, arguments, exit_code):
    shutil.rmtree(project.root / ".git")
    code = "run.git('log', check=False); " if "--alone" in arguments else ""
    finished, _ = run(f"{code}return Result(Outcome.REACHED, 'done')", *arguments)
    assert finished.exit_code == exit_code, finished.stderr
    assert ("git" in finished.stderr) == (exit_code == 3)


def test_what_was_deleted_is_told_apart_from_what_was_not_there(run, project):
    code = "run.apply([Change(path, None) for path in ('a.txt', 'gone.txt')]); return Result(Outcome.REACHED, 'ok')"
    finished, _ = run(code)
    [applied] = [event["data"] for event in finished.events if event["kind"] == "changes.applied"]
    assert (applied["written"], applied["deleted"], (project.root / "a.txt").exists()) == ([], ["a.txt"], False)
