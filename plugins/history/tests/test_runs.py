"""`code-commit runs`: list, show, diff and prune earlier runs of the real command."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import zlib
from argparse import ArgumentTypeError, Namespace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from code_commit.plugin_api import PRIVATE_FOLDER, Interrupted, NotReady, Stop
from code_commit.plugin_api.private_folder import STATE_FOLDER
from code_commit_history.changes import steps_of
from code_commit_history.past_runs import read_run
from code_commit_history.runs.pruning import prune
from code_commit_history.runs.selection import date
from code_commit_history.story import Applied
from code_commit_workspace import Workspace

KEY = "sk-canary-0123456789-key7Q"

# --- list and show ---


def test_a_project_without_runs_has_an_empty_list(runs):
    assert runs.command("runs").exit_code == 0
    nothing = {"logs": 0, "store": 0}
    assert runs.command("runs", "--json").document == {"runs": [], "bytes": nothing}


def test_runs_are_listed_with_outcome_tokens_and_cost(past_runs):
    good, failed, unknown = past_runs.command("runs", "list", "--json").document["runs"]
    assert (good["run"], good["outcome"], good["attempts"]) == (past_runs.repaired, "reached", 3)
    assert (good["models"], good["workflow"], good["tokens"]["input"]) == (
        ["gemini-2.5-flash"],
        "committing-code",
        3000,
    )
    assert 0 < good["cost_usd"] < 0.1
    assert good["cost_complete"]
    assert (failed["run"], failed["outcome"], failed["cost_usd"]) == (
        past_runs.failed,
        "provider_failed",
        0,
    )
    assert (unknown["run"], unknown["cost_usd"], unknown["cost_complete"]) == (
        past_runs.unknown,
        0,
        False,
    )
    head, *lines = past_runs.command("runs").stdout.splitlines()
    assert head.split()[:3] == ["RUN", "MODEL", "OUTCOME"]
    assert [line.split()[0] for line in lines] == [
        past_runs.repaired,
        past_runs.failed,
        past_runs.unknown,
    ]
    assert f"${good['cost_usd']:.4f}" in lines[0]
    assert " ? " in lines[2]


def test_runs_show_the_first_line_of_their_query(runs):
    good = runs.replaced("a.txt", "good\n")
    _, name = runs.run(
        good, arguments=("--query", "\n\n  Add a flag --wide\n\nIt is for terminals.\n")
    )
    assert (
        json.loads((runs.project.root / "logs" / name / "run.json").read_text())["query"]
        == "Add a flag --wide"
    )
    assert (
        runs.command("runs", "list", "--json").document["runs"][0]["query"] == "Add a flag --wide"
    )
    head, row = runs.command("runs").stdout.splitlines()
    assert head.endswith("QUERY")
    assert row.endswith("  Add a flag --wide")
    assert "  query     Add a flag --wide\n" in runs.command("runs", "show").stdout


@pytest.mark.parametrize("missing", ["agent-config/query.txt", "agent-config/codeRollup.txt"])
def test_a_run_that_was_not_ready_is_not_the_latest_and_does_not_count(runs, missing):
    _, name = runs.run(runs.replaced("a.txt", "good\n"))
    runs.project.write({missing: ""})
    finished, latest = runs.run(runs.replaced("a.txt", "good, too\n"))
    assert (finished.exit_code, latest) == (3, name)
    assert "logs/" not in finished.stderr
    assert runs.command("runs", "path").stdout.endswith(f"{name}\n")
    assert len(runs.command("runs", "list", "--json").document["runs"]) == 1
    assert runs.command("runs", "prune", "--keep", "1", "--json").document["pruned"] == []


def test_show_prints_calls_builds_changes_and_files(past_runs):
    shown = past_runs.command("runs", "show", past_runs.repaired).stdout
    for words in (
        "reached",
        "initial-query",
        "repair-query",
        "ended with exit code 1",
        "ended with exit code 0",
        "attempt 3: a.txt",
        "run.json",
    ):
        assert words in shown
    document = past_runs.command("runs", "show", past_runs.repaired, "--json").document
    assert [call["finish"] for call in document["calls"]] == ["stop", "stop", "stop"]
    assert [process["exit_code"] for process in document["processes"]] == [1, 0]
    assert [change["attempt"] for change in document["changes"]] == [1, 3]
    assert document["data"]["written"] == ["a.txt"]


def test_path_prints_only_the_folder(past_runs):
    assert (
        past_runs.command("runs", "path").stdout
        == f"{past_runs.project.root / 'logs' / past_runs.unknown}\n"
    )
    assert past_runs.command("runs", "path", "--json").document["run"] == past_runs.unknown


def test_a_hostile_log_cannot_control_the_terminal(runs):
    call = {
        "number": 1,
        "label": "\x1b[2J\u202e",
        "provider": "p",
        "model": "\x1b]0;x\x07",
        "request": "q",
    }
    record = {
        "seq": 1,
        "time": 1.0,
        "run": "r",
        "span": 1,
        "parent": None,
        "kind": "call.started",
        "version": 1,
        "data": call,
    }
    runs.project.write({"logs/2026-01-01-00-00-00-odd/events.jsonl": json.dumps(record) + "\n"})
    runs.project.write({"logs/2026-01-01-00-00-00-odd/\x1b[31m.txt": ""})
    shown = runs.command("runs", "show").stdout
    assert "\\x1b[2J\\u202e" in shown
    assert not {"\x1b", "\u202e", "\x07"} & set(shown)


def test_a_killed_run_is_shown_as_killed(runs):
    environ = runs.project.environment({"REPLIES": '["hang"]', "PYTHONPATH": str(runs.plugins[0])})
    command = [
        sys.executable,
        "-m",
        "code_commit",
        "--model",
        "scripted/gemini-2.5-flash",
        "--json",
    ]
    with subprocess.Popen(
        command, cwd=runs.project.root, env=environ, stdout=subprocess.PIPE, text=True
    ) as process:
        while '"call.started"' not in process.stdout.readline():
            assert process.poll() is None
        [row] = runs.command("runs", "list", "--json").document["runs"]
        assert (row["state"], row["outcome"]) == ("running", None)
        process.send_signal(signal.SIGKILL)
    [row] = runs.command("runs", "list", "--json").document["runs"]
    assert row["state"] == "killed"
    assert " killed " in runs.command("runs").stdout
    assert "unfinished" in runs.command("runs", "show").stdout


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'{"state": "finished"', b"\xff", b"[" * 100_000, b'{"state": NaN}'],
)
def test_a_broken_summary_is_made_again_from_the_events(past_runs, tmp_path, content):
    folder = tmp_path / "work/logs" / past_runs.repaired
    shutil.copytree(past_runs.project.root / "logs" / past_runs.repaired, folder)
    (folder / "run.json").write_bytes(content)
    run = read_run(folder)
    assert (run.state, run.outcome, run.exit_code) == ("finished", "reached", 0)
    assert run.document["attempts"] == 3


def test_a_run_killed_before_its_first_event_is_known_by_its_name(tmp_path):
    folder = tmp_path / "logs/2023-11-15-07-13-20-consistency-report-2"
    folder.mkdir(parents=True)
    run = read_run(folder)
    assert (run.state, run.workflow, run.summary) == ("killed", "consistency-report", "")


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"models": 5, "tokens": [], "seconds": "x", "argv": 7},
        {"models": [1], "tokens": {"input": "x"}},
    ],
)
def test_a_log_with_invalid_fields_can_be_listed_and_shown(runs, fields):
    document = {"state": "finished", "outcome": "reached", **fields}
    runs.project.write({"logs/2026-01-01-00-00-00-odd/run.json": json.dumps(document)})
    runs.project.write({"logs/2026-01-01-00-00-00-odd/events.jsonl": '{"kind": 5}\n[]\n'})
    for arguments in (("list",), ("list", "--json"), ("show",), ("show", "--json")):
        finished = runs.command("runs", *arguments)
        assert finished.exit_code == 0, finished.stderr
        assert "odd" in finished.stdout


@pytest.mark.parametrize(
    "arguments", [("show",), ("diff",), ("path",), ("export", "--sink", "nobody")]
)
def test_a_missing_run_or_plugin_is_an_error(runs, arguments):
    finished = runs.command("runs", *arguments)
    assert finished.exit_code in {2, 3}
    assert finished.stderr.startswith(("error: there is no ", "error: there are no "))


def test_an_unknown_action_is_a_usage_error(runs):
    assert runs.command("runs", "lst").exit_code == 2
    assert runs.command("runs", "prune").exit_code == 2
    assert runs.command("runs", "prune", "--keep", "-1").exit_code == 2


# --- diff ---


def test_diff_prints_the_changes_of_a_run_or_an_attempt(past_runs):
    whole = past_runs.command("runs", "diff", past_runs.repaired).stdout
    assert "-old\n+good\n" in whole
    assert "built" not in whole, "only the build wrote it"
    assert "+bad" in past_runs.command("runs", "diff", past_runs.repaired, "--attempt", "1").stdout
    third = past_runs.command(
        "runs", "diff", past_runs.repaired, "--attempt", "3", "--json"
    ).document
    assert third["paths"] == ["a.txt"]
    assert "-bad\n+good\n" in third["diff"]
    refused = past_runs.command("runs", "diff", past_runs.repaired, "--attempt", "2")
    assert refused.exit_code == 3
    assert "1, 3" in refused.stderr


def test_a_run_that_wrote_nothing_has_no_diff(past_runs):
    finished = past_runs.command("runs", "diff", past_runs.failed)
    assert finished.exit_code == 3
    assert f"error: {past_runs.failed} has no changes\nhint: it wrote nothing" in finished.stderr


def test_a_patch_is_applied_by_git(past_runs):
    project = past_runs.project
    written = past_runs.command("runs", "diff", past_runs.repaired, "--patch", "../change.patch")
    assert (written.exit_code, written.stdout) == (0, "")
    patch = project.root.parent / "change.patch"
    assert patch.stat().st_mode & 0o777 == 0o600
    assert project.git("apply", "--numstat", str(patch)).splitlines()[0] == "1\t1\ta.txt"
    again = past_runs.command("runs", "diff", past_runs.repaired, "--patch", "../change.patch")
    assert (again.exit_code, "name a file that does not exist" in again.stderr) == (3, True)


def test_a_diff_contains_no_key(runs):
    runs.project.write({"agent-config/scripted-key.txt": KEY + "\n"})
    runs.project.write(
        {"note.txt": f"{KEY}\n", "agent-config/codeRollup.txt": f"--- note.txt ---\n{KEY}\n"}
    )
    runs.project.write({"a.txt": "good\n"})
    _, name = runs.run(runs.replaced("note.txt", "x\n"))
    diff = runs.command("runs", "diff", name).stdout
    assert "note.txt" in diff
    assert KEY not in diff
    runs.command("runs", "diff", name, "--patch", "change.patch")
    assert "note.txt" in runs.project.read("change.patch")
    assert KEY not in runs.project.read("change.patch")


def test_steps_that_do_not_match_the_events_are_numbered():
    entries = (("start", {}), ("response", {"x": 1}), ("process", {}), ("response", {"y": 1}))
    log = SimpleNamespace(of_run=[SimpleNamespace(by=by, paths=paths) for by, paths in entries])
    store = SimpleNamespace(logs=SimpleNamespace(of=lambda run: log))
    equal, real = (
        Applied(attempt=attempt, call=1, written=(path,), deleted=(), seq=attempt)
        for attempt, path in ((7, "x"), (8, "y"))
    )
    for applied, numbers in (([equal, real], [7, 8]), ([equal], [7, 2]), ([real], [1, 2])):
        assert [step.number for step in steps_of(store, "run", applied)] == numbers
    log.of_run[1:2] = []
    steps = steps_of(store, "run", [equal, real])
    assert [step.number for step in steps] == [8], "one wrote nothing new"


# --- prune ---


def test_prune_keeps_the_newest_runs_and_deletes_the_other_logs(runs):
    (runs.project.root / "agent-config/codeRollup.txt").unlink()
    flags = ("--query", "Change it.")
    answers = [runs.replaced("a.txt", f"good {number}\n") for number in (1, 2, 3)]
    names = [runs.run(answer, arguments=flags)[1] for answer in answers]
    document = runs.command("runs", "prune", "--keep", "1", "--json").document
    assert (document["pruned"], document["kept"]) == (names[:2], names[2:])
    assert [row["run"] for row in runs.command("runs", "--json").document["runs"]] == names[2:]
    assert runs.command("undo").exit_code == 0
    assert runs.project.read("a.txt") == "good 2\n"
    assert logs_of(runs.project.root) == names[2:]


def stored(project):
    """Return all that runs of a project store, with the content of git's objects."""
    state = project.root / "agent-config/.code-commit"
    texts = []
    for path in [*project.root.glob("logs/2*/*"), *state.rglob("*")]:
        if path.is_file():
            content = path.read_bytes()
            is_object = re.fullmatch("[0-9a-f]{2}", path.parent.name)
            texts.append(zlib.decompress(content) if is_object else content)
    return b"".join(texts)


def test_prune_frees_what_no_run_that_is_left_needs(runs):
    (runs.project.root / "agent-config/codeRollup.txt").unlink()
    runs.project.write({"secret.txt": "a password in a file\n" * 500})
    flags = ("--query", "Change it.")
    _, first = runs.run(runs.replaced("a.txt", "good 1\n"), arguments=flags)
    (runs.project.root / "secret.txt").unlink()
    runs.run(runs.replaced("a.txt", "good 2\n"), arguments=flags)
    assert b"a password" in stored(runs.project)
    _, latest = runs.run(runs.replaced("a.txt", "good 3\n"), arguments=flags)
    before = len(stored(runs.project))
    page = runs.project.root / "logs/index.html"
    page.write_text(f'<a href="{first}/report.html">a query</a>')
    lines = runs.command("runs", "prune", "--keep", "1").stdout.splitlines()
    assert lines[-1].startswith("1 run left, ")
    assert lines[-1].endswith(" MB freed")
    assert b"a password" not in stored(runs.project)
    assert not page.exists(), "it shows the query of a deleted run"
    assert len(stored(runs.project)) < before
    assert "+good 3" in runs.command("runs", "diff").stdout
    assert runs.command("undo").exit_code == 0
    assert runs.project.read("a.txt") == "good 2\n"
    assert runs.command("redo").exit_code == 0
    assert runs.project.read("a.txt") == "good 3\n"
    assert runs.command("runs", "--json").document["runs"][0]["run"] == latest
    page.write_text("of the user")
    again = runs.command("runs", "prune", "--keep", "1", "--json").document
    assert (again["pruned"], again["kept"]) == ([], [latest])
    assert page.exists()


@pytest.mark.parametrize("named", ["run", "moment"])
def test_prune_keeps_a_run_that_a_workflow_continues(runs, named):
    (runs.project.root / "agent-config/codeRollup.txt").unlink()
    flags = ("--query", "Change it.")
    answers = [runs.replaced("a.txt", f"good {number}\n") for number in (1, 2)]
    names = [runs.run(answer, arguments=flags)[1] for answer in answers]
    state = {"run": names[0]} if named == "run" else {"moments": [f"{names[0]}:3"]}
    runs.project.write({"agent-config/.code-commit/state/planner/chat.json": json.dumps(state)})
    document = runs.command("runs", "prune", "--keep", "0", "--json").document
    assert (document["pruned"], document["kept"]) == (names[1:], names[:1])
    assert "+good 1" in runs.command("runs", "diff", names[0]).stdout


@pytest.mark.parametrize("limit", ["runs = 1", "days = 0.000001", "bytes = 1"])
def test_retention_deletes_old_runs_at_the_end_of_a_run(runs, limit):
    (runs.project.root / "agent-config/codeRollup.txt").unlink()
    flags = ("--query", "Change it.")
    names = [
        runs.run(runs.replaced("a.txt", f"good {number}\n"), arguments=flags)[1]
        for number in (1, 2)
    ]
    assert logs_of(runs.project.root) == names
    runs.project.write({"agent-config/config.toml": f"retention = {{ {limit} }}\n"})
    finished, latest = runs.run(runs.replaced("a.txt", "good 3\n"), arguments=flags)
    assert finished.exit_code == 0
    assert [row["run"] for row in runs.command("runs", "--json").document["runs"]] == [latest]
    assert logs_of(runs.project.root) == [latest]
    assert runs.command("undo").exit_code == 0
    assert runs.project.read("a.txt") == "good 2\n"


def logs_of(root):
    with workspace_of(root) as workspace:
        return workspace.store.logs.names()


def workspace_of(root):
    return Workspace.open(
        root, writes=True, private_folder=PRIVATE_FOLDER, state_folder=STATE_FOLDER
    )


def host_of(root):
    """Return a host whose workspace is not locked."""
    workspace = workspace_of(root)
    return SimpleNamespace(root=root, workspace=lambda **_: workspace)


def test_a_folder_that_cannot_be_deleted_is_named(runs, monkeypatch):
    runs.project.write(
        {f"logs/2026-01-0{day}-00-00-00-committing-code/run.json": "{}" for day in (1, 2)}
    )

    def busy(folder):
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), str(folder))

    monkeypatch.setattr("code_commit.plugin_api.retention.remove_tree", busy)
    host = host_of(runs.project.root)
    with pytest.raises(NotReady, match=r"cannot delete .*/2026-01-01-\S+: Device or resource busy"):
        prune(host, Namespace(keep=1, json=False))


def test_a_signal_ends_prune_between_two_runs(runs, monkeypatch):
    runs.project.write(
        {f"logs/2026-01-0{day}-00-00-00-committing-code/run.json": "{}" for day in (1, 2, 3)}
    )
    stop = Stop()
    removed = []

    def remove(folder):
        removed.append(folder.name)
        stop.set()

    monkeypatch.setattr("code_commit.plugin_api.retention.STOP", stop)
    monkeypatch.setattr("code_commit.plugin_api.retention.remove_tree", remove)
    host = host_of(runs.project.root)
    with pytest.raises(Interrupted):
        prune(host, Namespace(keep=1, json=False))
    assert removed == ["2026-01-01-00-00-00-committing-code"]


def test_prune_keeps_other_files_in_logs(runs):
    runs.run(runs.replaced("a.txt", "good\n"))
    runs.project.write({"logs/mine/notes.txt": "x\n"})
    (runs.project.root / "logs" / "2020-01-01-00-00-00-x").symlink_to(
        runs.project.root / "logs" / "mine"
    )
    runs.command("runs", "prune", "--keep", "0")
    assert runs.project.read("logs/mine/notes.txt") == "x\n"
    left = {path.name for path in (runs.project.root / "logs").iterdir()}
    assert left - {"index.html"} == {".gitignore", "2020-01-01-00-00-00-x", "mine"}


# --- chosen runs ---


@pytest.mark.parametrize(
    ("flags", "names"),
    [
        (["--outcome", "provider_failed"], ["failed", "unknown"]),
        (["--model", "FLASH", "--outcome", "reached", "--since", "2d"], ["repaired"]),
        (["--since", "today", "--until", "2001-01-01"], []),
        (["--until", "yesterday"], []),
        (["--grep", "no such text"], []),
    ],
)
def test_runs_are_chosen_by_flags(past_runs, flags, names):
    finished = past_runs.command("runs", "list", "--json", *flags)
    listed = [run["run"] for run in finished.document["runs"]]
    assert listed == [getattr(past_runs, name) for name in names]


def test_a_date_is_a_day_a_weekday_or_some_time_ago():
    now = datetime.now().astimezone()
    days = [date(f"{number}d").date() for number in range(7)]
    names = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
    assert {date(name).date() for name in names} == set(days)
    assert all(date(name) <= now and date(name).weekday() == at for at, name in enumerate(names))
    assert date("today") - date("yesterday") <= timedelta(hours=25)
    assert date("2026-11-22T10:00:00+00:00") == datetime(2026, 11, 22, 10, tzinfo=UTC)
    for text in ("", "someday", "9d9", "2026-13-01"):
        with pytest.raises(ArgumentTypeError, match="is not a date"):
            date(text)
