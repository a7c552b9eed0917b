"""`code-commit runs` and `code-commit replay`, on runs of the real command."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from code_commit.plugin_api.conversation import Usage
from code_commit_history.past_runs import Applied, Cost, steps_of
from code_commit_testing import Project, install_plugin

KEY = "sk-canary-0123456789-key7Q"
PROVIDER = """
import json, os, time
from pydantic import BaseModel
from code_commit.plugin_api import Completion, Finish, Message, ProviderDefinition, ProviderError, Text, Usage, hookimpl

class Config(BaseModel):
    model: str = "gemini-2.5-flash"

class Told:
    def __init__(self, config):
        self.model = config.model
        self.replies = json.loads(os.environ["TOLD"])
    def complete(self, call):
        reply = self.replies.pop(0)
        if reply == "hang":
            time.sleep(600)
        if reply == "down":
            raise ProviderError("it is down", kind="rejected")
        return Completion(Message("assistant", (Text(reply),)), Finish.STOP, "stop", Usage(1000, 100), self.model, {})
    def close(self):
        pass

@hookimpl
def code_commit_providers():
    return [ProviderDefinition("told", {}, "", None, "TOLD_API_KEY",
                               ("authorization", "{key}"), "told_plugin:Config", "told_plugin:Told")]
"""
LEDGER = """
from pathlib import Path
from code_commit.plugin_api import hookimpl

class Ledger:
    def __init__(self):
        self.rows = []
    def receive(self, record):
        if record.kind == "run.started":
            self.folder = Path(record.data["root"], record.data["folder"])
        if record.kind == "changes.applied":
            self.rows.append((self.folder / record.data["diff"]).read_text())
        if "break" in str(self.folder.parent.parent / "agent-config"):
            raise RuntimeError("on purpose")
    def close(self):
        (self.folder / "ledger.txt").write_text("".join(self.rows))

@hookimpl
def code_commit_log_sinks(settings):
    return [Ledger()]
"""


def answer(text, path="a.txt"):
    return f"^^^{path}\n{text}\n^^^end\n"


class Runs:
    """A project whose model gives the replies of the test."""

    repaired = failed = unknown = ""  # the runs of the fixture `told`

    def __init__(self, folder, name="work"):
        self.plugins = [install_plugin(folder / "plugins", "told", PROVIDER)]
        self.project = Project.create(folder / name, build="echo built >> built.txt\ngrep -q good a.txt\n")
        self.temporary = folder / name / "temporary"
        self.temporary.mkdir()

    def run(self, *replies, model="told/gemini-2.5-flash", arguments=(), plugins=None):
        environ = {"TOLD": json.dumps(replies), "NO_COLOR": "1"}
        plugins = self.plugins if plugins is None else plugins
        finished = self.project.command("--model", model, *arguments, environ=environ, plugins=plugins)
        return finished, self.project.run_folder.name

    def command(self, *arguments, plugins=None):
        environ = {"TMPDIR": str(self.temporary)}
        return self.project.command(*arguments, environ=environ, plugins=self.plugins if plugins is None else plugins)

    @property
    def scratch_copies(self):
        return list(self.temporary.glob("code-commit-replay-*"))


@pytest.fixture
def runs(tmp_path):
    return Runs(tmp_path)


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Three runs to look at: one that repairs, one that fails, and one of a model whose price nobody knows."""
    runs = Runs(tmp_path_factory.mktemp("told"))
    runs.repaired = runs.run(answer("bad"), "no answer at all", answer("good"))[1]
    runs.failed = runs.run("down", model="told/nobodys")[1]
    runs.unknown = runs.run(answer("good too"), model="told/nobodys")[1]
    return runs


# --- list and show ----------------------------------------------------------------------------------------------------


def test_no_runs_yet(runs):
    assert runs.command("runs").exit_code == 0
    assert runs.command("runs", "--json").document == {"runs": []}


def test_runs_are_listed_with_outcome_tokens_and_cost(told):
    good, failed, unknown = told.command("runs", "list", "--json").document["runs"]
    assert (good["run"], good["outcome"], good["attempts"]) == (told.repaired, "reached", 3)
    assert (good["models"], good["workflow"], good["tokens"]["input"]) == (
        ["gemini-2.5-flash"],
        "committing-code",
        3000,
    )
    assert 0 < good["cost_usd"] < 0.1
    assert good["cost_complete"]
    assert (failed["run"], failed["outcome"], failed["cost_usd"]) == (told.failed, "provider_failed", 0)
    assert (unknown["run"], unknown["cost_usd"], unknown["cost_complete"]) == (told.unknown, 0, False)
    head, *lines = told.command("runs").stdout.splitlines()
    assert head.split()[:3] == ["RUN", "MODEL", "OUTCOME"]
    assert [line.split()[0] for line in lines] == [told.repaired, told.failed, told.unknown]
    assert f"${good['cost_usd']:.4f}" in lines[0]
    assert " ? " in lines[2]


def test_show_tells_calls_builds_changes_and_files(told):
    shown = told.command("runs", "show", told.repaired).stdout
    for words in (
        "reached",
        "initial-query",
        "repair-query",
        "exit code 1",
        "exit code 0",
        "attempt 3: a.txt",
        "run.json",
    ):
        assert words in shown
    document = told.command("runs", "show", told.repaired, "--json").document
    assert [call["finish"] for call in document["calls"]] == ["stop", "stop", "stop"]
    assert [process["exit_code"] for process in document["processes"]] == [1, 0]
    assert [change["attempt"] for change in document["changes"]] == [1, 3]
    assert document["data"]["written"] == ["a.txt"]


def test_path_is_the_folder_alone(told):
    assert told.command("runs", "path").stdout == f"{told.project.root / 'logs' / told.unknown}\n"
    assert told.command("runs", "path", "--json").document["run"] == told.unknown


def test_a_hostile_log_cannot_command_the_terminal(runs):
    call = {"number": 1, "label": "\x1b[2J\u202e", "provider": "p", "model": "\x1b]0;x\x07", "request": "q"}
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
    environ = runs.project.environment({"TOLD": '["hang"]', "PYTHONPATH": str(runs.plugins[0])})
    command = [sys.executable, "-m", "code_commit", "--model", "told/gemini-2.5-flash", "--json"]
    with subprocess.Popen(command, cwd=runs.project.root, env=environ, stdout=subprocess.PIPE, text=True) as process:
        while '"call.started"' not in process.stdout.readline():
            assert process.poll() is None
        [row] = runs.command("runs", "list", "--json").document["runs"]
        assert (row["state"], row["outcome"]) == ("running", None)
        process.send_signal(signal.SIGKILL)
    [row] = runs.command("runs", "list", "--json").document["runs"]
    assert row["state"] == "killed"
    assert " killed " in runs.command("runs").stdout
    assert "never ended" in runs.command("runs", "show").stdout


@pytest.mark.parametrize(
    "fields", [{}, {"models": 5, "tokens": [], "seconds": "x", "argv": 7}, {"models": [1], "tokens": {"input": "x"}}]
)
def test_a_log_that_came_with_a_repository_may_hold_anything(runs, fields):
    document = {"state": "finished", "outcome": "reached", **fields}
    runs.project.write({"logs/2026-01-01-00-00-00-odd/run.json": json.dumps(document)})
    runs.project.write({"logs/2026-01-01-00-00-00-odd/events.jsonl": '{"kind": 5}\n[]\n'})
    for arguments in (("list",), ("list", "--json"), ("show",), ("show", "--json")):
        finished = runs.command("runs", *arguments)
        assert finished.exit_code == 0, finished.stderr
        assert "odd" in finished.stdout


@pytest.mark.parametrize("arguments", [("show",), ("diff",), ("path",), ("export", "--sink", "nobody")])
def test_what_does_not_exist_is_told(runs, arguments):
    finished = runs.command("runs", *arguments)
    assert finished.exit_code in {2, 3}
    assert finished.stderr.startswith("code-commit: there is no ")


def test_an_unknown_action_is_a_usage_error(runs):
    assert runs.command("runs", "lst").exit_code == 2
    assert runs.command("runs", "prune").exit_code == 2
    assert runs.command("runs", "prune", "--keep", "-1").exit_code == 2


# --- diff -------------------------------------------------------------------------------------------------------------


def test_the_diff_of_a_run_and_of_each_attempt(told):
    whole = told.command("runs", "diff", told.repaired).stdout
    assert "-old\n+good\n" in whole
    assert "+built\n+built\n" in whole
    assert "+bad" in told.command("runs", "diff", told.repaired, "--attempt", "1").stdout
    third = told.command("runs", "diff", told.repaired, "--attempt", "3", "--json").document
    assert third["paths"] == ["a.txt"]
    assert "-bad\n+good\n" in third["diff"]
    refused = told.command("runs", "diff", told.repaired, "--attempt", "2")
    assert refused.exit_code == 3
    assert "1, 3" in refused.stderr


def test_a_key_in_a_file_does_not_show_in_its_diff(runs):
    runs.project.write({"agent-config/told-key.txt": KEY + "\n"})
    runs.project.write({"note.txt": f"{KEY}\n"})
    runs.run(answer("good"), answer("x", "note.txt"))
    _, name = runs.run(f"{answer('x', 'note.txt')}")
    diff = runs.command("runs", "diff", name).stdout
    assert "note.txt" in diff
    assert KEY not in diff


def test_steps_that_do_not_match_the_events_are_counted():
    taken = [("start", "a"), ("applied-1", "b"), ("attempt-2", "c"), ("applied-3", "d"), ("end", "e")]
    lone = Applied(attempt=7, call=1, written=("x",), deleted=(), seq=4)
    assert [(step.number, step.old, step.new) for step in steps_of(taken, [lone])] == [(1, "a", "b"), (2, "c", "d")]
    assert [step.number for step in steps_of(taken[:2], [lone])] == [7]


# --- prune ------------------------------------------------------------------------------------------------------------


def test_prune_keeps_the_newest_and_forgets_the_checkpoints_of_the_others(runs):
    names = [runs.run(answer(text))[1] for text in ("good 1", "good 2", "good 3")]
    document = runs.command("runs", "prune", "--keep", "1", "--json").document
    assert (document["pruned"], document["kept"]) == (names[:2], names[2:])
    assert [row["run"] for row in runs.command("runs", "--json").document["runs"]] == names[2:]
    assert runs.command("undo").exit_code == 0
    assert runs.project.read("a.txt") == "good 2\n"
    private = str(runs.project.root / "agent-config/.code-commit/checkpoint.git")
    refs = runs.project.git("--git-dir", private, "for-each-ref", "--format=%(refname)").split()
    assert {ref.split("/")[2] for ref in refs} == set(names[2:])


def test_prune_touches_nothing_else_in_logs(runs):
    runs.run(answer("good"))
    runs.project.write({"logs/mine/notes.txt": "x\n"})
    (runs.project.root / "logs" / "2020-01-01-00-00-00-x").symlink_to(runs.project.root / "logs" / "mine")
    runs.command("runs", "prune", "--keep", "0")
    assert runs.project.read("logs/mine/notes.txt") == "x\n"
    left = {path.name for path in (runs.project.root / "logs").iterdir()}
    assert left - {"index.html"} == {".gitignore", "2020-01-01-00-00-00-x", "mine"}


# --- export -----------------------------------------------------------------------------------------------------------


def test_an_earlier_run_is_told_to_a_sink_with_its_diffs(runs, tmp_path):
    _, name = runs.run(answer("bad"), answer("good"))
    ledger = [*runs.plugins, install_plugin(tmp_path / "ledger", "ledger", LEDGER)]
    moved = tmp_path / "moved"
    runs.project.root.rename(moved)
    project = Project(moved, runs.project.home)
    finished = project.command("runs", "export", "--sink", "ledger", "--json", plugins=ledger)
    assert finished.document == {"sink": "ledger", "exported": [name], "failed": {}}
    told = (moved / "logs" / name / "ledger.txt").read_text()
    assert "-old\n+bad\n" in told
    assert "-bad\n+good\n" in told


def test_a_live_sink_and_a_later_one_are_told_the_same(runs, tmp_path):
    ledger = [*runs.plugins, install_plugin(tmp_path / "ledger", "ledger", LEDGER)]
    _, name = runs.run(answer("bad"), answer("good"), plugins=ledger)
    file = runs.project.root / "logs" / name / "ledger.txt"
    live = file.read_text()
    assert "+good" in live
    file.unlink()
    assert runs.command("runs", "export", "--sink", "ledger", plugins=ledger).exit_code == 0
    assert file.read_text() == live


def test_a_sink_that_fails_is_told_and_the_others_go_on(tmp_path):
    runs = Runs(tmp_path, "break")
    _, name = runs.run(answer("good"))
    ledger = [*runs.plugins, install_plugin(tmp_path / "ledger", "ledger", LEDGER)]
    finished = runs.command("runs", "export", "--sink", "ledger", "--all", "--json", plugins=ledger)
    assert finished.exit_code == 1
    assert "on purpose" in finished.document["failed"][name]


# --- replay -----------------------------------------------------------------------------------------------------------


def test_a_replay_goes_the_same_way_and_leaves_the_project_alone(runs):
    _, name = runs.run(answer("bad"), answer("good"), arguments=["--query", "Make it good"])
    runs.project.write(
        {"a.txt": "mine\n", "agent-config/query.txt": "other\n", "agent-config/codeRollup.txt": "other\n"}
    )
    document = runs.command("replay", "--json").document
    assert document["same"], document
    assert [row["what"] for row in document["compared"]][:4] == ["outcome", "model calls", "prompt 1", "prompt 2"]
    assert (document["folder"], runs.scratch_copies) == (None, [])
    assert runs.project.read("a.txt") == "mine\n"
    assert [row["run"] for row in runs.command("runs", "--json").document["runs"]] == [name]


def test_a_replay_reads_the_inputs_that_the_run_kept(runs):
    """A query that looks like a part of the prompt, and files that are others today."""
    query = "Say good.\n[codebase]\n\nNothing.\n"
    _, name = runs.run(answer("good"), arguments=["--query", query])
    assert (runs.project.root / "logs" / name / "input-query.txt").read_text() == query
    runs.project.write({"agent-config/query.txt": "Another.\n", "agent-config/codeRollup.txt": "--- b ---\n"})
    replayed = runs.command("replay", "--json")
    assert (replayed.exit_code, replayed.document["same"]) == (0, True), replayed.stdout


def test_a_replay_that_goes_another_way_is_told_and_kept(runs):
    runs.project.write(
        {".gitignore": "/agent-config\n/luck.txt\n", "build.sh": "test -e luck.txt && grep -q good a.txt\n"}
    )
    runs.project.write({"luck.txt": "what git ignores is not in the copy\n"})
    runs.run(answer("good"))
    finished = runs.command("replay", "--json", "-q")
    assert finished.exit_code == 1
    differing = {row["what"]: row["replayed"] for row in finished.document["compared"] if not row["same"]}
    assert differing["process 1"] == "exit code 1"
    assert "a.txt" not in differing.get("files in the end", "")
    folder = Path(finished.document["folder"])
    assert (folder / "run.json").is_file()
    assert not (folder.parents[1] / "agent-config" / "config.toml").exists()
    text = runs.command("replay", "-q").stdout
    assert "DIFFERS" in text
    assert f"rm -r {runs.temporary}" in text
    assert len(runs.scratch_copies) == 2


SLOW = "case $PWD in *code-commit-replay-*) sleep 60;; esac\ngrep -q good a.txt\n"


def test_an_interrupted_replay_leaves_nothing_behind(runs):
    runs.project.write({"build.sh": SLOW})
    runs.run(answer("good"))
    with runs.project.start("replay", plugins=runs.plugins, environ={"TMPDIR": str(runs.temporary)}) as process:
        while b"build" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert (process.returncode, runs.scratch_copies) == (130, [])


def test_a_replay_that_cannot_begin_leaves_nothing_behind(runs):
    runs.run("down")
    runs.project.write({".gitignore": ""})  # of a run that wrote nothing, the files of now are copied
    assert runs.command("replay").exit_code == 3
    assert runs.scratch_copies == []


def test_a_process_that_only_the_record_has_is_a_difference(runs):
    _, name = runs.run(answer("good"))
    events = runs.project.root / "logs" / name / "events.jsonl"
    [line] = [each for each in events.read_text().splitlines() if '"process.finished"' in each]
    with events.open("a") as file:
        file.write(line + "\n")
    compared = runs.command("replay", "--json").document["compared"]
    assert [row["replayed"] for row in compared if row["what"] == "process 2"] == ["there was none"]


def test_a_failed_call_is_replayed_as_one(runs):
    runs.run("down")
    document = runs.command("replay", "--json").document
    assert document["same"], document


def test_a_run_that_asked_nobody_cannot_be_replayed(runs):
    runs.project.write({"agent-config/query.txt": ""})
    runs.run()
    finished = runs.command("replay")
    assert finished.exit_code == 3
    assert "asked no model" in finished.stderr


def sandboxes(folder):
    events = map(json.loads, (folder / "events.jsonl").read_text().splitlines())
    return [event["data"]["sandbox"] for event in events if event["kind"] == "process.started"]


def test_a_log_cannot_take_the_isolation_away(runs):
    _, name = runs.run(answer("good"))
    path = runs.project.root / "logs" / name / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "argv": ["--sandbox", "off"]}))
    replayed = runs.command("replay", "--keep", "--json").document
    assert sandboxes(Path(replayed["folder"])) == sandboxes(path.parent)


@pytest.mark.parametrize("command", [("replay",), ("runs", "export", "--sink", "ledger")])
def test_a_configuration_that_came_with_the_repository_is_not_used(runs, tmp_path, command):
    runs.run(answer("good"))
    runs.project.write({"agent-config/config.toml": "network = true\n"})
    runs.project.git("add", "-f", "agent-config/config.toml")
    plugins = [*runs.plugins, install_plugin(tmp_path / "ledger", "ledger", LEDGER)]
    finished = runs.command(*command, plugins=plugins)
    assert finished.exit_code == 3
    assert "git tracks agent-config/config.toml" in finished.stderr


def test_keys_are_not_copied(runs):
    runs.project.write({"agent-config/told-key.txt": KEY + "\n", "agent-config/config.toml": "max_cost = 5\n"})
    runs.project.write({"agent-config/elsewhere.txt": KEY + "\n"})  # where a setting api_key_file may point
    runs.run(answer("good"))
    document = runs.command("replay", "--json", "--keep").document
    assert document["same"], document
    held = [path for path in Path(document["folder"]).parents[1].rglob("*") if path.is_file()]
    assert held
    assert not any(KEY.encode() in path.read_bytes() for path in held)


# --- costs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("provider", "usage", "told", "failed", "expected"),
    [
        ("gemini", Usage(1000, 100), 0.5, None, "$0.5000"),
        ("replay", Usage(1000, 100), None, None, "$0.0000"),
        ("gemini", Usage(None, None), None, None, "?"),
        ("gemini", Usage(None, None), None, "auth", "$0.0000"),
        ("gemini", Usage(None, None), None, "network", "?"),
        ("gemini", Usage(None, None), None, "interrupted", "?"),
    ],
)
def test_the_cost_of_a_call(provider, usage, told, failed, expected):
    assert str(Cost.of_call(provider, "gemini-2.5-pro", usage, told=told, failed=failed)) == expected


def test_a_sum_with_something_unknown_in_it_says_so():
    assert str(Cost.sum([Cost(0.25, complete=True), Cost(0.0, complete=False)])) == "$0.2500+"
