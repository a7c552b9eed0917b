"""The commit workflow with the contexts of code-commit-context: only what fits the query is shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from code_commit_testing import Finished, Project, install_plugin

pytest.importorskip("code_commit_context")

SCRIPTED = "from code_commit_testing.scripted_provider import code_commit_providers\n"
FILLER = "".join(f"def filler_{number}():\n    return {number}\n\n\n" for number in range(800))
FILES = {
    **{f"shop/part_{number}.py": FILLER for number in range(30)},
    "shop/invoice.py": "def total(lines):\n    return sum(lines)\n",
    "shop/tax.py": "RATE = 0.2\n",
    "tests/test_invoice.py": "from shop.invoice import total\n",
}
BUILD = "grep -q tax shop/invoice.py || { echo 'shop/tax.py: RATE is not used'; exit 1; }\n"
RED = "^^^shop/invoice.py\ndef total(lines):\n    return 1\n^^^end\n"
GREEN = RED.replace("return 1", "return 1  # tax")


@pytest.fixture
def project(tmp_path) -> Project:
    return Project.create(tmp_path, files=FILES, build=BUILD, rollup=None)


@pytest.fixture
def plugins(tmp_path) -> list[Path]:
    return [install_plugin(tmp_path / "plugins", "scripted", SCRIPTED)]


@pytest.fixture
def commit(project, plugins):
    """Return a function that runs the workflow with replies of the model."""

    def run(*replies: str, arguments: tuple[str, ...] = ()) -> Finished:
        config = (
            f"[providers.scripted.default]\nmodel = 'gpt-4o'\nreplies = {json.dumps(replies)}\n"
        )
        default = '[providers]\ndefault_provider = "scripted.default"\n'
        project.write({"agent-config/config.toml": default + config})
        query = ("--query", "Add the tax to the total of an invoice.")
        environ = {"CODE_COMMIT_SANDBOX": "off"}
        return project.command(*query, "--json", *arguments, plugins=plugins, environ=environ)

    return run


def chosen(finished: Finished) -> list[dict[str, Any]]:
    return [event["data"] for event in finished.events if event["kind"] == "context.chosen"]


def test_code_that_does_not_fit_is_ranked_and_every_report_says_so(project, commit):
    finished = commit(RED, GREEN, arguments=("--context-tokens", "9000"))
    assert finished.exit_code == 0, finished.stderr
    first = chosen(finished)[0]
    assert first["context"] == "ranked"
    assert "shop/invoice.py" in first["files"][:3]
    assert (first["total"], first["tokens"] <= 9000, first["mapped"] > 0) == (35, True, True)
    prompt = (project.run_folder / "1-initial-query.txt").read_text()
    assert "The codebase has" in prompt
    assert "def total(lines):" in prompt
    shown = project.command("runs", "show", "latest")
    assert f"ranked {len(first['files'])} of 35 files, about " in shown.stdout
    [listed, *_] = project.command("runs", "show", "latest", "--json").document["contexts"]
    assert listed["files"] == first["files"]
    assert project.command("runs", "open", "--no-browser").exit_code == 0
    page = (project.run_folder / "report.html").read_text()
    assert f"ranked {len(first['files'])} of 35 files" in page


def test_the_navigator_names_files_before_the_first_prompt(project, commit):
    request = "%%%files\nshop/tax.py\n%%%end\n"
    arguments = ("--context=map", "--context-tokens=3000")
    finished = commit(request, GREEN, arguments=arguments)
    assert finished.exit_code == 0, finished.stderr
    [first] = chosen(finished)
    assert (first["context"], first["files"][0]) == ("map", "shop/tax.py")
    names = {path.name for path in project.run_folder.glob("[0-9]*-query.txt")}
    assert names == {"1-navigator-query.txt", "2-initial-query.txt"}
    finished = project.command("rollup", "--context=map", "--query=x")
    assert (finished.exit_code, "ranked" in finished.stderr) == (3, True)


def test_a_replay_shows_the_same_code(project, commit, plugins):
    request = "%%%files\nshop/part_3.py\n%%%end\n"
    arguments = ("--context=ranked", "--context-tokens=30000", "--files=shop/tax.py")
    assert commit(request, RED, GREEN, arguments=arguments).exit_code == 0
    kinds = [
        row["cause"]
        for row in project.command("runs", "show", "--json", plugins=plugins).document["contexts"]
    ]
    assert kinds[:2] == ["query", "request"]
    project.git("checkout", "-q", ".")
    replayed = project.command("replay", plugins=plugins, environ={"CODE_COMMIT_SANDBOX": "off"})
    assert replayed.exit_code == 0, replayed.stdout + replayed.stderr


def test_a_change_after_a_request_can_be_applied_later(project, commit, plugins):
    request = "%%%files\nshop/invoice.py\n%%%end\n"
    arguments = ("--files=shop/tax.py", "--dry-run")
    assert commit(request, GREEN, arguments=arguments).exit_code == 0
    applied = project.command(
        "apply", "latest", plugins=plugins, environ={"CODE_COMMIT_SANDBOX": "off"}
    )
    assert applied.exit_code == 0, applied.stderr
    assert "# tax" in project.read("shop/invoice.py")


def test_a_rollup_holds_the_choice(project):
    arguments = ("--context=ranked", "--context-tokens=4000", "--query", "the tax of an invoice")
    finished = project.command("rollup", *arguments, "--json")
    assert finished.exit_code == 0, finished.stderr
    document = finished.document
    assert document["tokens"] <= 4000
    assert "shop/invoice.py" in document["files"]
    assert not set(document["files"]) & set(document["map"])
