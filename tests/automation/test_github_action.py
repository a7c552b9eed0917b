"""Run the steps of the GitHub Action as a runner does: scripts with bash, inputs as variables,
files.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from code_commit_testing import Project, Reply

yaml = pytest.importorskip(
    "yaml", reason="the action is YAML; the environment `automation` has PyYAML"
)
pytest.importorskip(
    "hatchling",
    reason="the action builds the distributions; the environment `automation` has hatchling",
)

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
INSTALL = ACTION["runs"]["steps"][:1]
WORKFLOW = yaml.safe_load((ROOT / "examples/github-action/code-commit.yml").read_text("utf-8"))
KEY = "sk-canary-0123456789-key7Q"
GOOD, BAD = "^^^a.txt\ngood\n^^^end\n^^^new/b.txt\nnew\n^^^end\n", "^^^a.txt\nbad\n^^^end\n"

ASKED = {"query": "Make it good.", "model": "gpt-5", "provider": "openai"}


def steps_of(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from document.get("runs", {}).get("steps", [])
    for job in document.get("jobs", {}).values():
        yield from job["steps"]


def test_the_first_step_installs_the_requested_plugins(runner) -> None:
    listed = subprocess.run(
        [
            runner.temp / "code-commit/bin/python",
            "-I",
            "-m",
            "pip",
            "list",
            "--path",
            *_packages(runner),
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert set(re.findall(r"^code-commit\S*", listed, re.MULTILINE)) == {
        "code-commit",
        "code-commit-acceptance",
        "code-commit-checkout",
        "code-commit-commit",
        "code-commit-context",
        "code-commit-gemini",
        "code-commit-history",
        "code-commit-openai",
        "code-commit-truncation",
        "code-commit-workspace",
    }


def _packages(runner) -> list[str]:
    return [str(path) for path in runner.temp.glob("code-commit/lib/python*/site-packages")]


@pytest.mark.parametrize(
    "plugins", ["gemini] ; touch owned #", "../elsewhere", "$(touch owned)", "gemini\n--index=x"]
)
def test_an_invalid_plugin_name_is_rejected(runner, project, plugins: str) -> None:
    job = runner.run(project, steps=INSTALL, plugins=plugins)
    assert job.exit_code == 2
    assert "::error::" in job.log
    assert not (project.root / "owned").exists()


def test_a_change_that_builds_succeeds(runner, project, server) -> None:
    server.script(Reply(BAD), Reply(GOOD))
    job = runner.run(project, server, api_key=KEY, **ASKED)
    assert job.exit_code == 0, job.log
    folder = project.run_folder
    assert job.outputs == {
        "exit-code": "0",
        "outcome": "reached",
        "run-folder": str(folder),
        "patch": str(folder / "change.patch"),
    }
    assert job.uploaded == [
        {"name": "code-commit-run", "path": str(folder), "if-no-files-found": "error"},
    ]
    assert "--- a.txt ---\nold\n" in server.requests[0].prompt
    assert "Make it good." in server.requests[0].prompt
    assert {request.headers["authorization"] for request in server.requests} == {f"Bearer {KEY}"}
    assert "reached" in job.summary
    assert all(line.startswith("    ") for line in job.summary.splitlines())
    assert KEY not in job.log + job.summary


def test_the_patch_is_the_change(runner, project, server, tmp_path: Path) -> None:
    server.script(Reply(GOOD))
    job = runner.run(project, server, api_key=KEY, **ASKED)
    copy = tmp_path / "copy"
    project.git("clone", "-q", str(project.root), str(copy))
    subprocess.run(["git", "apply", "--index", job.outputs["patch"]], cwd=copy, check=True)
    assert (copy / "a.txt").read_text("utf-8") == "good\n"
    assert (copy / "new/b.txt").read_text("utf-8") == "new\n"
    assert not (copy / "logs").exists()
    assert project.git("diff", "--cached", "--name-only") == "", (
        "the index of the checkout is unchanged"
    )


def test_a_failing_build_fails_the_step(runner, project, server) -> None:
    server.script(Reply(BAD), Reply("^^^a.txt\nworse\n^^^end\n"))
    job = runner.run(project, server, api_key=KEY, repairs="1", on_failure="restore", **ASKED)
    assert job.exit_code == 1
    assert (job.outputs["exit-code"], job.outputs["outcome"], job.outputs["patch"]) == (
        "1",
        "not_reached",
        "",
    )
    assert project.read("a.txt") == "old\n"
    assert [upload["path"] for upload in job.uploaded] == [str(project.run_folder)]


@pytest.mark.parametrize(
    ("given", "answers", "code"),
    [
        ({"query": ""}, [], 3),
        ({"repairs": "many"}, [], 2),
        ({}, [Reply.error(401)], 4),
        ({}, [Reply("^^^../out.txt\nx\n^^^end\n")], 5),
        ({"max_cost": "0.000001"}, [], 6),
        ({"query_file": "there-is-none.md", "query": ""}, [], 3),
    ],
)
def test_the_exit_code_is_that_of_code_commit(
    runner, project, server, given, answers, code
) -> None:
    server.script(*answers)
    job = runner.run(project, server, **{"api_key": KEY, **ASKED, **given})
    assert (job.exit_code, job.outputs["exit-code"]) == (code, str(code)), job.log
    assert bool(job.uploaded) == bool(job.outputs["run-folder"])


def test_a_project_that_does_not_ignore_keys_is_an_error(runner, tmp_path, server) -> None:
    project = Project.create(tmp_path, query=None, rollup=None, gitignore="\n")
    job = runner.run(project, server, api_key=KEY, **ASKED)
    assert (job.exit_code, job.outputs["run-folder"], job.uploaded) == (3, "", [])
    assert "/agent-config" in job.log
    assert server.requests == []


def test_the_rollup_of_an_earlier_step_stays(runner, project, server) -> None:
    server.script(Reply(GOOD))
    project.write({"agent-config/codeRollup.txt": "--- the project's own ---\nold\n"})
    assert runner.run(project, server, api_key=KEY, **ASKED).exit_code == 0
    assert "--- the project's own ---" in server.requests[0].prompt


def test_the_patch_holds_binary_files_and_names_them_from_the_top(runner, tmp_path, server) -> None:
    around = Project.create(tmp_path, files={"other/x": "x\n"})
    around.write(
        {
            "sub/build.sh": "touch built.txt\n",
            "sub/a.txt": "old\n",
            "sub/.gitignore": "/agent-config\n",
        }
    )
    around.git("add", "-A")
    around.git("commit", "-qm", "below")
    shutil.rmtree(around.root / "agent-config")  # a checkout in CI has none
    server.script(Reply(f"{GOOD}^^^new.bin\n\0x\n^^^end\n"))
    job = runner.run(around, server, working_directory="sub", api_key=KEY, **ASKED)
    assert job.exit_code == 0, job.log
    copy = tmp_path / "copy"
    around.git("clone", "-q", str(around.root), str(copy))
    subprocess.run(["git", "apply", "--index", job.outputs["patch"]], cwd=copy, check=True)
    assert (copy / "sub/new.bin").read_bytes() == b"\0x\n"
    assert not (copy / "sub/built.txt").exists(), "no response wrote it"
    assert (copy / "sub/a.txt").read_text("utf-8") == "good\n"


def test_scripts_contain_no_expression_and_actions_are_pinned() -> None:
    for document in (ACTION, WORKFLOW):
        for step in steps_of(document):
            assert "${{" not in step.get("run", "")
            assert re.search(r"@[0-9a-f]{40}$", step.get("uses", "@" + "0" * 40)), step


# --- the example ----------------------------------------------------------------------------------


def test_the_example_uses_existing_inputs() -> None:
    [used] = [
        step for step in steps_of(WORKFLOW) if step.get("uses", "").startswith("OWNER/code-commit@")
    ]
    assert used["with"].keys() <= ACTION["inputs"].keys()
    [download] = [
        step for step in steps_of(WORKFLOW) if "download-artifact" in step.get("uses", "")
    ]
    assert download["with"]["name"] == ACTION["inputs"]["artifact"]["default"]


def test_the_job_that_runs_the_change_cannot_write() -> None:
    assert WORKFLOW["permissions"] == {}
    assert WORKFLOW["jobs"]["change"]["permissions"] == {"contents": "read"}
    checkouts = [step for step in steps_of(WORKFLOW) if "actions/checkout" in step.get("uses", "")]
    assert [step["with"]["persist-credentials"] for step in checkouts] == [False, False]


def test_the_example_proposes_the_change(runner, project, server, tmp_path) -> None:
    server.script(Reply(GOOD))
    job = runner.run(project, server, api_key=KEY, **ASKED)
    origin, copy, temporary, tools = (
        tmp_path / name for name in ("origin", "copy", "temp", "tools")
    )
    project.git("clone", "-q", "--bare", str(project.root), str(origin))
    project.git("clone", "-q", str(origin), str(copy))
    shutil.copytree(job.outputs["run-folder"], temporary / "run")
    run_json = temporary / "run/run.json"
    document = json.loads(run_json.read_bytes())
    document["data"]["acceptance"] = {
        "trailers": {"Signals": "none", "Reviewed-By": "$(touch owned)"}
    }
    run_json.write_text(json.dumps(document))
    tools.mkdir()
    (tools / "gh").write_text(f'#!/bin/sh\nprintf "<%s>" "$@" >> {tmp_path}/gh\n', "utf-8")
    (tools / "gh").chmod(0o755)
    [step] = [step for step in WORKFLOW["jobs"]["propose"]["steps"] if "run" in step]
    query = "Make it good.\n\n$(touch owned) `touch owned`"
    message = f"{query}\n\nSignals: none\nReviewed-By: $(touch owned)"
    environ = project.environment(
        {"RUNNER_TEMP": str(temporary), "QUERY": query, "BRANCH": "code-commit/7", "GH_TOKEN": "t"}
    )
    environ["PATH"] = f"{tools}{os.pathsep}{environ['PATH']}"
    script = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]]
    completed = subprocess.run(
        script, cwd=copy, env=environ, capture_output=True, text=True, check=False
    )
    assert completed.returncode == 0, completed.stderr
    log = ["git", "log", "-1", "--format=%B", "code-commit/7"]
    assert (
        subprocess.run(log, cwd=origin, capture_output=True, text=True, check=True).stdout.strip()
        == message
    )
    show = ["git", "show", "code-commit/7:a.txt"]
    assert (
        subprocess.run(show, cwd=origin, capture_output=True, text=True, check=True).stdout
        == "good\n"
    )
    assert (tmp_path / "gh").read_text("utf-8") == (
        "<auth><setup-git><pr><create><--head><code-commit/7><--title><Make it good.><--body><"
        + message
        + ">"
    )
    assert not list(tmp_path.rglob("owned"))
