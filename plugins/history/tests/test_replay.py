"""`code-commit replay`: repeat earlier runs of the real command."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from code_commit_testing import install_plugin

KEY = "sk-canary-0123456789-key7Q"


def test_a_replay_has_the_same_results_and_leaves_the_project_unchanged(runs):
    _, name = runs.run(
        runs.replaced("a.txt", "bad\n"),
        runs.replaced("a.txt", "good\n"),
        arguments=["--query", "Make it good"],
    )
    runs.project.write(
        {
            "a.txt": "mine\n",
            "agent-config/query.txt": "other\n",
            "agent-config/codeRollup.txt": "other\n",
        }
    )
    document = runs.command("replay", "--json").document
    assert document["same"], document
    assert [row["what"] for row in document["compared"]][:4] == [
        "outcome",
        "model calls",
        "prompt 1",
        "prompt 2",
    ]
    assert (document["folder"], runs.scratch_copies) == (None, [])
    assert runs.project.read("a.txt") == "mine\n"
    assert [row["run"] for row in runs.command("runs", "--json").document["runs"]] == [name]


def test_a_replay_builds_no_untouched_files(runs):
    runs.baseline = "while-waiting"
    runs.run(runs.replaced("a.txt", "good\n"), arguments=["--query", "Make it good"])
    assert (runs.project.run_folder / "baseline-build.txt").exists()
    document = runs.command("replay", "--keep", "--json").document
    assert document["same"], document
    assert not (Path(document["folder"]) / "baseline-build.txt").exists()


def test_a_replay_reads_the_inputs_from_the_run_folder(runs):
    """The query looks like a part of the prompt, and the current files differ."""
    query = "Say good.\n[codebase]\n\nNothing.\n"
    _, name = runs.run(runs.replaced("a.txt", "good\n"), arguments=["--query", query])
    assert (runs.project.root / "logs" / name / "input-query.txt").read_text() == query
    runs.project.write(
        {"agent-config/query.txt": "Another.\n", "agent-config/codeRollup.txt": "--- b ---\n"}
    )
    replayed = runs.command("replay", "--json")
    assert (replayed.exit_code, replayed.document["same"]) == (0, True), replayed.stdout


def test_a_replay_with_differences_is_reported_and_kept(runs):
    runs.project.write(
        {
            ".gitignore": "/agent-config\n/luck.txt\n",
            "build.sh": "test -e luck.txt && grep -q good a.txt\n",
        }
    )
    runs.project.write({"luck.txt": "what git ignores is not in the copy\n"})
    runs.run(runs.replaced("a.txt", "good\n"))
    finished = runs.command("replay", "--json", "-q")
    assert finished.exit_code == 1
    differing = {
        row["what"]: row["replayed"] for row in finished.document["compared"] if not row["same"]
    }
    assert differing["process 1"] == "ended with exit code 1"
    assert "a.txt" not in differing.get("files in the end", "")
    folder = Path(finished.document["folder"])
    assert (folder / "run.json").is_file()
    assert not (folder.parents[1] / "agent-config" / "config.toml").exists()
    text = runs.command("replay", "-q").stdout
    assert "DIFFERS" in text
    assert f"rm -r {runs.temporary}" in text
    assert len(runs.scratch_copies) == 2


@pytest.mark.parametrize(("word", "exit_code"), [("", 0), ("odd", 1)])
def test_a_run_of_before_unknown_words_counted_as_cut(runs, word, exit_code):
    _, name = runs.run(runs.replaced("a.txt", "good\n"))
    events = runs.project.root / "logs" / name / "events.jsonl"
    text = events.read_text()
    assert text.count('"finish":"stop","finish_detail":"stop"') == 1
    as_before = f'"finish":"unknown","finish_detail":"{word}"'
    events.write_text(text.replace('"finish":"stop","finish_detail":"stop"', as_before))
    assert runs.command("replay", "--json", "-q").exit_code == exit_code


def test_a_replay_runs_no_filter_of_git(runs, tmp_path):
    marker = tmp_path / "ran"
    runs.project.write({".gitattributes": "* filter=x\n"})
    runs.project.git("config", "--global", "filter.x.clean", f"touch {marker}; cat")
    runs.run(runs.replaced("a.txt", "good\n"))
    assert runs.command("replay", "--json").document["same"]
    assert not marker.exists()


SLOW = "case $PWD in *code-commit-replay-*) sleep 600;; esac\ngrep -q good a.txt\n"


def test_an_interrupted_replay_leaves_no_files(runs):
    runs.project.write({"build.sh": SLOW})
    runs.run(runs.replaced("a.txt", "good\n"))
    with runs.project.start(
        "replay", plugins=runs.plugins, environ={"TMPDIR": str(runs.temporary)}
    ) as process:
        while b"build" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert (process.returncode, runs.scratch_copies) == (130, [])


def test_a_replay_that_cannot_start_leaves_no_files(runs):
    runs.run("down")
    # The run wrote nothing, so the replay copies the current files.
    runs.project.write({".gitignore": ""})
    assert runs.command("replay").exit_code == 3
    assert runs.scratch_copies == []


def test_a_process_that_is_only_in_the_recording_is_a_difference(runs):
    _, name = runs.run(runs.replaced("a.txt", "good\n"))
    events = runs.project.root / "logs" / name / "events.jsonl"
    [line] = [each for each in events.read_text().splitlines() if '"process.finished"' in each]
    with events.open("a") as file:
        file.write(line + "\n")
    compared = runs.command("replay", "--json").document["compared"]
    assert [row["replayed"] for row in compared if row["what"] == "process 2"] == ["none"]


def test_a_failed_call_is_replayed_as_a_failure(runs):
    runs.run("down")
    document = runs.command("replay", "--json").document
    assert document["same"], document


def test_a_real_run_with_recorded_calls_fails_as_they_did(runs):
    _, name = runs.run("down")
    finished, _ = runs.run(model=f"replay/{name}")
    assert (finished.exit_code, "error: " in finished.stderr) == (4, True)
    assert f"it is down\nhint: call 1 of {name} failed like this\n" in finished.stderr


def test_a_real_run_needs_no_more_calls_than_were_recorded(runs):
    _, name = runs.run(runs.replaced("a.txt", "good\n"))
    runs.project.write({"build.sh": "exit 1\n", "a.txt": "old\n"})
    finished, _ = runs.run(model=f"replay/{name}")
    assert finished.exit_code == 4
    assert f"error: the recorded run {name} has only 1 call\n" in finished.stderr
    assert "\nhint: this run differs from the recorded one: use a real model" in finished.stderr


TALKING = """
from code_commit.plugin_api import Flag, WorkflowDefinition, hookimpl

@hookimpl
def code_commit_workflows():
    flag = Flag(("--talk",), "talk", selects=True)
    return [WorkflowDefinition("talk", "talk", (flag,), "nowhere:run", interactive=True)]
"""


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--talk"], "talk is interactive, so it cannot be replayed\nhint: use `runs show`"),
        (["--gone"], "the command line of {name} is not valid any more: there is no flag --gone"),
    ],
)
def test_a_run_that_cannot_start_again_says_why(runs, tmp_path, argv, said):
    _, name = runs.run("down")
    path = runs.project.root / "logs" / name / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "workflow": "talk", "argv": argv}))
    plugins = [*runs.plugins, install_plugin(tmp_path / "talk", "talk", TALKING)]
    finished = runs.command("replay", plugins=plugins)
    assert finished.exit_code == 3
    assert f"error: {said.format(name=name)}" in finished.stderr
    assert not runs.scratch_copies


def test_a_change_of_many_files_is_a_short_row(runs):
    runs.run(
        runs.replaced("a.txt", "good\n")
        + "".join(runs.replaced(f"new/{number}.txt", "x\n") for number in range(99))
    )
    finished = runs.command("replay", "-q")
    assert finished.exit_code == 0, finished.stdout
    assert "new/1.txt" in finished.stdout
    assert max(map(len, finished.stdout.splitlines())) < 250


def test_a_run_without_calls_cannot_be_replayed(runs):
    runs.project.write({"logs/2026-01-01-00-00-00-committing-code/run.json": "{}"})
    finished = runs.command("replay")
    assert finished.exit_code == 3
    assert "called no model" in finished.stderr


@pytest.mark.parametrize(
    "way", [["replay"], ["--model", "replay/latest"]], ids=["replay", "--model"]
)
def test_a_run_that_was_refused_for_a_key_cannot_be_replayed(runs, way):
    runs.project.write({"agent-config/scripted-key.txt": KEY + "\n"})
    assert runs.run(runs.replaced("a.txt", f"good {KEY}\n"))[0].exit_code == 5
    finished = runs.command(*way)
    assert finished.exit_code == 3
    assert "the log does not have the key" in finished.stderr
    assert runs.scratch_copies == []


def test_a_replay_that_is_not_ready_says_why(runs):
    runs.project.write({".gitignore": "/agent-config\n/build.sh\n"})
    runs.project.git("rm", "-q", "--cached", "build.sh")
    runs.project.git("commit", "-qam", "ignored")
    assert runs.run(runs.replaced("a.txt", "good\n"))[0].exit_code == 0
    finished = runs.command("replay")
    assert finished.exit_code == 3
    assert "did not begin: there is no build.sh here" in finished.stderr
    assert not runs.scratch_copies


def sandboxes(folder):
    events = map(json.loads, (folder / "events.jsonl").read_text().splitlines())
    return [event["data"]["sandbox"] for event in events if event["kind"] == "process.started"]


def test_a_log_cannot_turn_the_sandbox_off(runs):
    runs.sandbox = "auto"
    _, name = runs.run(runs.replaced("a.txt", "good\n"))
    path = runs.project.root / "logs" / name / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "argv": ["--sandbox", "off"]}))
    replayed = runs.command("replay", "--keep", "--json").document
    assert sandboxes(Path(replayed["folder"])) == sandboxes(path.parent)


@pytest.mark.parametrize("command", [("replay",), ("runs", "export", "--sink", "ledger")])
def test_a_configuration_from_the_repository_is_not_used(runs, ledger, command):
    runs.run(runs.replaced("a.txt", "good\n"))
    runs.project.write({"agent-config/config.toml": "sandbox.network = true\n"})
    runs.project.git("add", "-f", "agent-config/config.toml")
    finished = runs.command(*command, plugins=ledger)
    assert finished.exit_code == 3
    assert "git tracks agent-config/config.toml" in finished.stderr


def test_keys_are_not_copied(runs):
    runs.project.write(
        {"agent-config/scripted-key.txt": KEY + "\n", "agent-config/config.toml": "max_cost = 5\n"}
    )
    # A setting api_key_file may name it.
    runs.project.write({"agent-config/elsewhere.txt": KEY + "\n"})
    runs.run(runs.replaced("a.txt", "good\n"))
    document = runs.command("replay", "--json", "--keep").document
    assert document["same"], document
    held = [path for path in Path(document["folder"]).parents[1].rglob("*") if path.is_file()]
    assert held
    assert not any(KEY.encode() in path.read_bytes() for path in held)
