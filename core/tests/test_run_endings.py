"""How runs end: what the last event, stderr and the files say of the same ending."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from code_commit_testing import Finished, Project, install_plugin

PLUGIN = """
import json
from pydantic import BaseModel
from code_commit.plugin_api import (
    Change,
    CommandDefinition,
    Flag,
    LimitReached,
    MessageLogged,
    Outcome,
    Result,
    WorkflowDefinition,
    hookimpl,
)


class Options(BaseModel):
    alone: bool = False


@hookimpl
def code_commit_commands():
    return [CommandDefinition("each", "start runs", "ends_plugin:each", "ends_plugin:arguments")]


def arguments(parser):
    parser.add_argument("cases")


def each(host, arguments):
    global code
    ends = []
    for words, code, build in json.loads(arguments.cases):
        for name, text in {"a.txt": "old", "build.sh": build}.items():
            (host.root / name).write_text(f"{text}\\n")
        (host.root / "b.txt").unlink(missing_ok=True)
        done = host.start(host.parse([*words, "--sandbox", "off"]), quiet=True)
        events = [
            json.loads(line) for line in (done.folder / "events.jsonl").read_text().splitlines()
        ]
        document = json.loads((done.folder / "run.json").read_text())
        ends.append(
            {
                "exit_code": done.exit_code,
                "summary": done.summary,
                "hint": done.hint,
                "notes": done.notes,
                "events": events,
                "document": document,
                "a.txt": (host.root / "a.txt").read_text(),
            }
        )
    host.out.document(ends)
    return 0


@hookimpl
def code_commit_workflows():
    return [
        WorkflowDefinition(
            name,
            "end",
            (Flag((f"--{name}",), "end", selects=True), *more),
            "ends_plugin:work",
            roles=None,
            options="ends_plugin:Options",
            interactive=name == "talk",
            no_repository=("alone",) if more else (),
            writes=name != "look",
        )
        for name, more in (
            ("work", ()),
            ("talk", ()),
            ("free", (Flag(("--alone",), "alone"),)),
            ("look", ()),
        )
    ]


def change(run):
    run.apply([Change("a.txt", b"new\\n"), Change("b.txt", b"x")])


def work(run):
    CODE
"""
WORK = "names = {**globals(), 'run': run}; exec(code, names); return names['given']"
UNDO = "`code-commit undo` reverts the changes"


@pytest.fixture
def run(project: Project, tmp_path):
    def run(code: str, *arguments: str, build: str = "exit 0\n") -> tuple[Finished, dict[str, Any]]:
        project.write({"build.sh": build})
        plugins = install_plugin(
            tmp_path / "plugins", "ends", PLUGIN.replace("CODE", code.replace("\n", "\n    "))
        )
        command = (*(arguments or ("--work",)), "--json", "--sandbox", "off")
        finished = project.command(*command, plugins=[plugins])
        return finished, finished.events[-1]["data"]

    return run


@pytest.fixture
def end_each(project: Project, tmp_path):
    """Return a function that runs workflows in one process: words, code and build of each; it
    returns their ends.
    """

    def end_each(*cases: tuple[str, str, str]) -> list[dict[str, Any]]:
        plugins = install_plugin(tmp_path / "plugins", "ends", PLUGIN.replace("CODE", WORK))
        runs = [(words.split(), code, build) for words, code, build in cases]
        finished = project.command("each", json.dumps(runs), plugins=[plugins])
        assert finished.exit_code == 0, finished.stderr
        return [end | {"data": end["events"][-1]["data"]["data"]} for end in finished.document]

    return end_each


def hints(finished: Finished) -> list[str]:
    return [line for line in finished.stderr.splitlines() if line.startswith("hint: ")]


def test_a_run_that_did_not_reach_its_goal_says_why_and_what_stays_changed(run, project):
    code = (
        "change(run); run.build(); return Result(Outcome.NOT_REACHED, 'red', {'a': 1}, hint='look')"
    )
    finished, end = run(code, build="echo first; echo last; exit 1\n")
    assert (finished.exit_code, end["outcome"], end["summary"]) == (1, "not_reached", "red")
    assert (end["data"]["a"], end["data"]["changed"]) == (1, ["a.txt", "b.txt"])
    assert end["data"]["hint"].startswith("look; ")
    assert end["data"]["hint"].endswith(UNDO)
    assert hints(finished) == [f"hint: {end['data']['hint']}"]
    shows = find_spec("code_commit_history") is not None  # has the command
    assert ("; `code-commit runs diff` shows what the run changed, " in hints(finished)[0]) == shows
    log = f"logs/{project.run_folder.name}/build.txt"
    lines = [f"the last lines of {log}:", "  first", "  last"]
    explanation = "".join(f"  {line}\n" for line in (*lines, "files stay changed:"))
    explanation += "    a.txt +1 -1\n    b.txt +1 -0\n"
    assert f"error: red\n{explanation}hint: " in finished.stderr
    assert [
        event["data"]["last_lines"]
        for event in finished.events
        if event["kind"] == "process.finished"
    ] == ["first\nlast"]


GREEN, RED = "exit 0", "exit 1"
MISSED = "; given = Result(Outcome.NOT_REACHED, 'no')"


def test_a_build_is_explained_if_it_is_red(end_each):
    green, none, red = end_each(
        ("--work", f"change(run); run.build(){MISSED}", GREEN),
        ("--work", f"change(run){MISSED}", GREEN),
        ("--work", f"change(run); run.build(){MISSED}", RED),
    )
    assert [end["exit_code"] for end in (green, none, red)] == [1, 1, 1]
    stay = "files stay changed:\na.txt +1 -1\nb.txt +1 -0"
    assert [end["notes"] for end in (green, none, red)] == [
        [stay],
        [stay],
        ["the build printed nothing", stay],
    ]
    assert {tuple(end["data"]["changed"]) for end in (green, none, red)} == {("a.txt", "b.txt")}


def test_a_run_that_reached_its_goal_may_be_undone(end_each):
    reached = "; given = Result(Outcome.REACHED, 'done', hint={!r})"
    ends = end_each(
        ("--work", "change(run)" + reached.format(""), GREEN),
        ("--work", "change(run)" + reached.format("commit"), GREEN),
        ("--work", "pass" + reached.format(""), GREEN),
        ("--talk", "change(run)" + reached.format(""), GREEN),  # the person was asked about them
        ("--work", "run.build()" + reached.format(""), GREEN),
        ("--work", "run.build()" + reached.format(""), "touch c.txt\n"),
        (
            "--work",
            "change(run); run.build()" + reached.format(""),
            "rm b.txt; git checkout -q a.txt\n",
        ),
    )
    assert [end["hint"].rpartition(", ")[2] for end in ends] == [
        UNDO,
        "commit",
        "",
        "",
        "",
        "",  # only the build wrote
        UNDO,
    ]
    assert [(end["exit_code"], end["data"], end["notes"]) for end in ends] == [(0, {}, [])] * 7


def test_an_error_ends_the_run_with_its_code_and_hint(end_each):
    bug = "internal error in a workflow of code-commit-ends: ValueError: a bug"
    limit, full, internal = end_each(
        ("--work", "change(run)\nraise LimitReached('too dear', hint='pay')", GREEN),
        ("--work", "change(run)\nraise OSError(28, 'No space left on device')", GREEN),
        ("--work", "change(run)\nraise ValueError('a bug')", GREEN),
    )
    assert [end["exit_code"] for end in (limit, full, internal)] == [6, 3, 70]
    assert (limit["summary"], internal["summary"]) == ("too dear", bug)
    assert "No space left on device" in full["summary"]
    assert limit["data"]["hint"].startswith("pay; ")
    assert internal["data"]["hint"].startswith("this is a bug; --debug shows where; ")
    for end in (limit, full, internal):
        assert end["data"]["changed"] == ["a.txt", "b.txt"]
        assert end["data"]["hint"] == end["hint"]
        assert end["hint"].endswith(UNDO)
        assert (end["document"]["exit_code"], end["document"]["data"]) == (
            end["exit_code"],
            end["data"],
        )


def test_files_are_restored_where_it_was_asked_for(end_each):
    extra_file = "run.execute(['sh', '-c', 'echo x > c.txt'], timeout=60)"
    work, nothing, talk = end_each(
        ("--work --on-failure restore", f"change(run); {extra_file}{MISSED}", GREEN),
        ("--work --on-failure restore", f"pass{MISSED}", GREEN),
        ("--talk --on-failure restore", f"change(run){MISSED}", GREEN),
    )
    undone = [
        [
            (event["data"]["paths"], event["data"]["reason"])
            for event in end["events"]
            if event["kind"] == "changes.undone"
        ]
        for end in (work, nothing, talk)
    ]
    assert undone == [[(["a.txt", "b.txt", "c.txt"], "the goal was not reached")], [], []]
    assert [(end["exit_code"], end["a.txt"]) for end in (work, nothing, talk)] == [
        (1, "old\n")
    ] * 2 + [(1, "new\n")]
    assert [end["data"].get("changed", []) for end in (work, nothing, talk)] == [
        [],
        [],
        ["a.txt", "b.txt"],
    ]


SPOIL = "run.execute(['sh', '-c', 'rm a.txt; mkdir a.txt; touch a.txt/x.tmp'], timeout=60)"
LOSE = "import shutil; shutil.rmtree(run.root / 'agent-config/.code-commit/store.git/objects')"


@pytest.mark.parametrize(
    ("harm", "warning"),
    [
        (
            SPOIL,
            "while the run ended: NotReady: a.txt cannot be changed: it is a folder that contains",
        ),
        (LOSE, "while the run ended: "),
    ],
    ids=["in the way", "lost"],
)
def test_an_error_while_the_run_ends_does_not_hide_the_first(run, project, harm, warning):
    project.write({".gitignore": "/agent-config\nlogs\n*.tmp\n"})
    finished, end = run(
        f"change(run); {harm}; raise ValueError('a bug')", "--work", "--on-failure", "restore"
    )
    assert (finished.exit_code, end["summary"].endswith("ValueError: a bug")) == (70, True)
    warnings = [
        event["data"]["text"]
        for event in finished.events
        if event["data"].get("level") == "warning"
    ]
    assert {text.startswith(warning) for text in warnings} == {True}


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize(("content", "warned"), [(b"new", [".envrc"]), (None, [])])
def test_a_change_of_what_other_programs_execute_is_warned_of_without_a_check(
    run, project, content, warned
):
    project.write({".envrc": "old"})
    finished, _ = run(
        f"run.apply([Change('.envrc', {content})]); return Result(Outcome.REACHED, 'ok')"
    )
    warnings = [
        event["data"]["text"]
        for event in finished.events
        if event["data"].get("level") == "warning"
    ]
    assert [text.partition(":")[0] for text in warnings] == warned


def test_what_a_build_leaves_is_warned_of_once_and_is_no_part_of_the_change(run, project):
    build = "echo made > .envrc\n"
    finished, end = run(
        "change(run); run.build(); run.build(); return Result(Outcome.NOT_REACHED, 'no')",
        build=build,
    )
    warnings = [
        event["data"]["text"]
        for event in finished.events
        if event["data"].get("level") == "warning"
    ]
    assert [text.partition(":")[0] for text in warnings] == [".envrc"]
    assert end["data"]["changed"] == ["a.txt", "b.txt"]
    [log] = (project.root / "agent-config/.code-commit/runs").iterdir()
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    assert [entry["by"] for entry in entries] == ["start", "response", "process"]
    assert entries[-1]["left"] == [".envrc"]


@pytest.mark.fast_rows(2)
@pytest.mark.parametrize(
    ("arguments", "exit_code"),
    [(("--free",), 3), (("--free", "--alone"), 0), (("--look",), 0)],
)
def test_which_runs_need_a_repository(run, project, arguments, exit_code):
    shutil.rmtree(project.root / ".git")
    code = "run.git('log', check=False); change(run); " if "--alone" in arguments else ""
    finished, _ = run(f"{code}return Result(Outcome.REACHED, 'done')", *arguments)
    assert finished.exit_code == exit_code, finished.stderr
    assert ("git" in finished.stderr) == (exit_code == 3)
    if code:
        assert (project.command("undo").exit_code, project.read("a.txt")) == (0, "old\n")


def test_what_was_deleted_is_told_apart_from_what_was_not_there(run, project):
    code = (
        "run.apply([Change(path, None) for path in ('a.txt', 'gone.txt')])\n"
        "return Result(Outcome.REACHED, 'ok')"
    )
    finished, _ = run(code)
    [applied] = [event["data"] for event in finished.events if event["kind"] == "changes.applied"]
    assert (applied["written"], applied["deleted"], (project.root / "a.txt").exists()) == (
        [],
        ["a.txt"],
        False,
    )


def test_the_end_lists_the_changed_files_and_a_terminal_shows_the_diff(run, project, tmp_path):
    """Files that a person or a build wrote meanwhile are not the run's."""
    code = """
(run.root / "own.txt").write_text("mine")
run.apply([Change("a.txt", b"new\\x1b[2J\\n" * 50), Change("b.bin", b"x\\0")])
run.build()
return Result(Outcome.REACHED, "done")
"""
    build = "echo built > c.txt\n"
    finished, end = run(code, build=build)
    counts = [("a.txt", 50, 1), ("b.bin", None, None)]
    files = [{"path": path, "added": added, "removed": removed} for path, added, removed in counts]
    assert (end["files"], document(project)["files"]) == (files, files)
    lines = "done\n  a.txt +50 -1\n  b.bin (binary)\nhint: "
    assert lines in finished.stderr
    assert "diff --git" not in finished.stderr, "no terminal"
    for variables, red, most in (
        ({}, "\x1b[31m-old\x1b[0m\n", "40"),
        ({"NO_COLOR": "1"}, "\n-old\n", "9"),
        ({}, "", "0"),
    ):
        project.write({"a.txt": "old\n", "agent-config/config.toml": f"diff_lines = {most}\n"})
        shown = on_terminal(project, tmp_path / "plugins", variables)
        assert red in shown
        assert "\x1b[2J" not in shown
        assert ("more lines\n" in shown, "diff --git" in shown) == (most != "0", most != "0")
        assert "  a.txt +50 -1\n" in shown


def document(project: Project) -> dict[str, Any]:
    text = (project.run_folder / "run.json").read_text()
    fields: dict[str, Any] = json.loads(text)
    return fields


def on_terminal(project: Project, plugins: Path, variables: dict[str, str]) -> str:
    """Run the workflow with stderr on a terminal; return what it shows."""
    reader, terminal = pty.openpty()
    environment = {"TERM": "xterm", **variables}
    command = ("--work", "--sandbox", "off")
    with project.start(
        *command, environ=environment, plugins=[plugins], stderr=terminal
    ) as process:
        os.close(terminal)
        pieces = []
        with contextlib.suppress(OSError):  # the end of a terminal
            while piece := os.read(reader, 65536):
                pieces.append(piece)
        process.wait(timeout=60)
    os.close(reader)
    return b"".join(pieces).decode().replace("\r\n", "\n")
