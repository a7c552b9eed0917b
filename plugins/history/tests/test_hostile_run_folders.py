"""`runs` and `replay` read untrusted and corrupt run folders safely."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys

import pytest

from code_commit_testing import Project

RUN = "2026-01-01-00-00-00-odd"


@pytest.fixture
def project(tmp_path):
    project = Project.create(tmp_path)
    (project.root / "logs" / RUN).mkdir(parents=True)
    return project


def event(seq, kind, data, time="1.0"):
    head = {
        "seq": seq,
        "run": RUN,
        "span": 1,
        "parent": None,
        "kind": kind,
        "version": 1,
        "data": data,
    }
    return f'{{"time": {time}, {json.dumps(head)[1:]}\n'


CALL = {"number": 1, "label": "l", "provider": "p", "model": "m", "request": "1.txt"}
FINISHED = {
    "number": 1,
    "model": "m",
    "finish": "stop",
    "seconds": 1.0,
    "response": "2.txt",
    "error": None,
}
TOKENS = {
    "input_tokens": 1,
    "output_tokens": 1,
    "cache_read_tokens": 0,
    "cache_write_tokens": 0,
    "reasoning_tokens": 0,
}


@pytest.mark.parametrize("kind", ["pipe", "link", "folder"])
def test_links_pipes_and_folders_are_not_read(project, kind):
    folder = project.root / "logs" / RUN
    for name in ("run.json", "events.jsonl"):
        if kind == "pipe":
            os.mkfifo(folder / name)
        elif kind == "folder":
            (folder / name).mkdir()
        else:
            (folder / name).symlink_to("/dev/zero")
    shown = project.command("runs", "show", timeout=60)
    assert (shown.exit_code, "killed" in shown.stdout) == (0, True)
    assert project.command("runs", "--json", timeout=60).document["runs"][0]["state"] == "killed"
    assert project.command("replay", timeout=60).exit_code == 3


@pytest.mark.parametrize("number", ["NaN", "1e999", "-Infinity", "1e300"])
def test_invalid_json_numbers_are_ignored(project, number):
    document = f'{{"state": "finished", "outcome": "reached", "seconds": {{"total": {number}}}, "cost_usd": {number}}}'
    project.write({f"logs/{RUN}/run.json": document})
    project.write(
        {f"logs/{RUN}/events.jsonl": event(1, "run.started", {"workflow": "odd"}, time=number)}
    )
    for arguments in (("list",), ("show",), ("list", "--json"), ("show", "--json")):
        finished = project.command("runs", *arguments)
        assert finished.exit_code == 0, finished.stderr
        if "--json" in arguments:
            json.loads(finished.stdout, parse_constant=pytest.fail)


@pytest.mark.parametrize("cost", ["12", {}, [], -1, True, 10**400])
def test_a_call_with_a_cost_that_is_none_is_damaged(project, cost):
    lines = [
        event(1, "call.started", CALL),
        event(2, "call.finished", {**FINISHED, **TOKENS, "cost_usd": cost}),
        event(3, "run.finished", {"outcome": "reached", "call_costs": {"1": cost}}),
    ]
    project.write({f"logs/{RUN}/events.jsonl": "".join(lines)})
    for arguments in (("show",), ("cost",), ("list",)):
        finished = project.command("runs", *arguments)
        assert finished.exit_code == 0, finished.stderr
    assert "unfinished" in project.command("runs", "show").stdout


def test_a_summary_is_one_line(project):
    document = {"state": "finished", "outcome": "reached", "summary": "a\n  outcome   forged"}
    project.write({f"logs/{RUN}/run.json": json.dumps(document), f"logs/{RUN}/events.jsonl": ""})
    assert "\n  outcome   forged" not in project.command("runs", "show").stdout


@pytest.mark.parametrize("name", ["../../../secret.txt", "/etc/passwd", "linked.txt"])
def test_a_recorded_response_is_read_only_from_the_run_folder(project, name):
    (project.root.parent / "secret.txt").write_text("^^^a.txt\nsecret\n^^^end\n")
    (project.root / "logs" / RUN / "linked.txt").symlink_to(project.root.parent / "secret.txt")
    lines = [
        event(1, "run.started", {"workflow": "committing-code", "argv": []}),
        event(2, "call.started", CALL),
        event(
            3, "call.finished", {**FINISHED, **TOKENS, "response": name, "finish_detail": "stop"}
        ),
    ]
    project.write({f"logs/{RUN}/events.jsonl": "".join(lines), f"logs/{RUN}/1.txt": "asked"})
    finished = project.command("--model", f"replay/{RUN}", "--dry-run")
    assert (finished.exit_code, "secret" in finished.stdout) == (3, False)
    assert "cannot read the recorded run" in finished.stderr


def test_an_empty_name_matches_no_run(project):
    assert project.command("runs", "path", "").exit_code == 3


@pytest.mark.parametrize("arguments", [("prune", "--keep", "x"), ("prune",), ("export",)])
def test_a_usage_error_mentions_the_help_of_the_action(project, arguments):
    finished = project.command("runs", *arguments)
    assert finished.exit_code == 2
    assert f"`code-commit runs {arguments[0]} --help`" in finished.stderr
    assert "_number" not in finished.stderr


def test_a_narrow_terminal_gets_two_lines_per_run(project):
    project.write(
        {f"logs/{RUN}/run.json": json.dumps({"state": "finished", "models": [{"model": "m" * 35}]})}
    )
    ours, theirs = pty.openpty()
    environ = project.environment({"COLUMNS": "80", "PYTHONPATH": ""})
    command = [sys.executable, "-m", "code_commit", "runs"]
    subprocess.run(command, cwd=project.root, env=environ, stdout=theirs, check=True)
    os.close(theirs)
    lines = os.read(ours, 4096).decode().splitlines()
    os.close(ours)
    assert lines[0].startswith(RUN)
    assert lines[0].endswith(", no changes")
    assert ", cost ?, " in lines[1]
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("second", "odd"),
    [
        pytest.param({"number": "b"}, {}, id="number"),
        pytest.param({"number": 2}, {"response": 5}, id="name"),
        pytest.param({"number": 2}, {"parts": "parts.json"}, id="depth"),
    ],
)
def test_the_error_about_an_invalid_recording_names_its_folder(project, second, odd):
    lines = [
        event(1, "run.started", {"workflow": "committing-code", "argv": []}),
        event(2, "call.started", CALL),
        event(3, "call.finished", {**FINISHED, **TOKENS, "finish_detail": "stop"}),
        event(4, "call.started", {**CALL, **second}),
        event(5, "call.finished", {**FINISHED, **TOKENS, "finish_detail": "stop", **second, **odd}),
    ]
    texts = {
        "events.jsonl": "".join(lines),
        "1.txt": "asked",
        "2.txt": "",
        "parts.json": "[" * 100_000,
    }
    project.write({f"logs/{RUN}/{name}": text for name, text in texts.items()})
    finished = project.command("--model", f"replay/{RUN}", "--dry-run")
    assert finished.exit_code == 3
    assert "cannot read the recorded run" in finished.stderr
    assert f"{RUN}:" in finished.stderr
