"""`code-commit runs cost`, and what `runs list` tells of changes."""

from __future__ import annotations

import json
from importlib.util import find_spec

import pytest


def test_the_cost_of_runs_is_that_of_their_models_by_day(past_runs):
    listed = past_runs.command("runs", "--json").document["runs"]
    document = past_runs.command("runs", "cost", "--json").document
    known, unknown = document["rows"]
    assert (known["model"], known["runs"], known["calls"]) == ("gemini-2.5-flash", 1, 3)
    assert known["cost_usd"] == listed[0]["cost_usd"] > 0
    assert known["cost_complete"]
    assert (unknown["model"], unknown["runs"], unknown["cost_complete"]) == ("unpriced", 2, False)
    assert document["total"]["cost_usd"] == known["cost_usd"]
    assert (document["total"]["runs"], document["total"]["tokens"]["input"]) == (3, 4000)
    text = past_runs.command("runs", "cost").stdout
    assert (
        f"total                         3     6      4,000 / 400      ${known['cost_usd']:.4f}+"
        in text
    )


def test_the_cost_in_the_document_is_that_of_the_list(past_runs):
    for row in past_runs.command("runs", "--json").document["runs"]:
        folder = past_runs.project.root / "logs" / row["run"]
        document = json.loads((folder / "run.json").read_text())
        expected = row["cost_usd"] if row["cost_complete"] else None
        assert document["cost_usd"] == expected
        [end] = [
            json.loads(line)["data"]
            for line in (folder / "events.jsonl").read_text().splitlines()
            if '"kind":"run.finished"' in line
        ]
        assert end["cost_usd"] == expected


def test_the_flags_that_choose_runs_need_no_word(past_runs):
    def names(*arguments):
        return [row["run"] for row in past_runs.command(*arguments, "--json").document["runs"]]

    chosen = names("runs", "--since", "today", "--model", "flash", "--outcome", "reached")
    assert chosen == [past_runs.repaired]
    assert names("runs", "list", "--outcome", "reached", "--model", "flash") == chosen
    assert names("runs", "--outcome", "reached", "list", "--model", "flash") == chosen
    assert names("runs", "--outcome", "provider_failed", "list", "--model", "flash") == []
    assert (
        past_runs.command("runs", "cost", "--until", "yesterday", "--json").document["rows"] == []
    )


@pytest.mark.parametrize("action", ["show", "diff", "path", "open"])
def test_an_action_for_one_run_takes_no_flag_that_chooses_runs(past_runs, action):
    refused = past_runs.command("runs", "--since", "today", action)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert f"--since is for `runs list` and `runs cost`, not for `runs {action}`" in refused.stderr


def test_the_list_tells_undone_and_committed_runs_apart(runs):
    runs.project.write({"build.sh": "grep -q good a.txt\n"})
    for name, value in (("name", "Ann"), ("email", "ann@example.invalid")):
        runs.project.git("config", f"user.{name}", value)
    good = runs.replaced("a.txt", "good\n")
    assert runs.run(good, good, arguments=("--commit",))[0].exit_code == 0
    for text in ("good too\n", "good again\n"):
        reply = runs.replaced("a.txt", text) + runs.replaced("b.txt", text)
        runs.project.write(
            {"agent-config/codeRollup.txt": f"--- a.txt ---\n{runs.project.read('a.txt')}"}
        )
        finished, _ = runs.run(reply, reply)
        assert finished.exit_code == 0, finished.stderr
    assert runs.command("undo").exit_code == 0
    head, *lines = runs.command("runs").stdout.splitlines()
    changes = [line[head.index("CHANGES") : head.index("ATTEMPTS")].strip() for line in lines]
    rows = runs.command("runs", "--json").document["runs"]
    assert changes[0] == f"1 file, committed {rows[0]['committed'][:7]}"
    assert changes[1:] == ["2 files", "2 files, undone"]
    assert [row["undone"] for row in rows] == [[], [], ["a.txt", "b.txt"]]
    assert [row["committed"] is None for row in rows] == [False, True, True]
    assert runs.command("redo").exit_code == 0
    assert "undone" not in runs.command("runs").stdout


def test_a_page_needs_its_plugin(past_runs):
    without = ["--disable-plugin", "html"] if find_spec("code_commit_report") else []
    refused = past_runs.project.command("runs", "open", *without)
    assert refused.exit_code == 3
    assert refused.stderr.startswith("error: no plugin makes pages of runs\nhint: ")
