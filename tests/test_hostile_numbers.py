"""Numbers in the files of a run may be anything: no command fails for them."""

from __future__ import annotations

import re
import shutil

import pytest

from code_commit_testing import Project, Reply, ScriptedServer

NUMBER = re.compile(r"([:\[,] ?)(?:-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|null|true|false)(?=[,}\]\n])")
VALUES = {
    "long": "9" * 400,
    "minus": "-1",
    "longer": "9" * 5000,
    "infinite": "1e999",
    "large": "1.5e308",
    "greatest": "9" * 19,
    "not-a-number": "NaN",
    "truth": "true",
    "text": '"12"',
    "null": "null",
    "list": "[[]]",
}
COMMANDS = [
    ("runs",),
    ("runs", "--json"),
    ("runs", "show"),
    ("runs", "show", "--json"),
    ("runs", "cost"),
    ("runs", "diff", "--no-pager"),
    ("runs", "open", "--no-browser"),
    ("runs", "open", "--no-browser", "--all"),
    ("replay",),
    ("apply", "latest"),
    ("--model", "replay/latest", "--dry-run"),
    ("undo", "latest"),
    ("runs", "prune", "--keep", "1"),
]


@pytest.fixture
def project(tmp_path):
    """A project with a run that has builds, a repair, candidates, prices and a page."""
    project = Project.create(tmp_path / "made", build="grep -q good a.txt\n")
    replies = [Reply(f"^^^a.txt\n{text}\n^^^end\n") for text in ("bad", "worse", "good")]
    with ScriptedServer(replies) as server:
        environ = {
            **server.environment(),
            "OPENAI_API_KEY": "sk-canary-0123456789",
            "CODE_COMMIT_SANDBOX": "off",
        }
        finished = project.command("--model", "gpt-5", "--candidates", "2", environ=environ)
    assert finished.exit_code == 0, finished.stderr
    return project


@pytest.mark.fast_rows(2)
@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_no_number_in_a_run_folder_is_an_internal_error(project, tmp_path, value):
    logs = project.root / "logs"
    run = project.run_folder.name
    shutil.copytree(logs, tmp_path / "logs")
    for name in ("run.json", "events.jsonl"):
        text, count = NUMBER.subn(rf"\g<1>{value}", (tmp_path / "logs" / run / name).read_text())
        assert count > 20
        for command in COMMANDS:
            shutil.rmtree(logs)
            shutil.copytree(tmp_path / "logs", logs)
            project.write({f"logs/{run}/{name}": text, "a.txt": "good\n"})
            if name == "events.jsonl":
                (logs / run / "run.json").unlink()  # the events count without it
            finished = project.command(*command, environ={"CODE_COMMIT_SANDBOX": "off"})
            assert finished.exit_code in {0, 1, 3, 4, 5}, (name, command, finished.stderr)


def test_a_run_with_a_forged_cost_is_read_from_its_events(project):
    run = project.run_folder
    before = project.command("runs", "--json").document["runs"][0]
    assert before["cost_usd"] > 0
    text = (run / "run.json").read_text()
    for cost in ("-5", "true", "1e999", "9" * 400):
        forged = re.sub(r'("cost_usd": )[\d.e-]+', rf"\g<1>{cost}", text)
        assert forged != text
        (run / "run.json").write_text(forged)
        assert project.command("runs", "--json").document["runs"][0] == before
