"""What `code-commit doctor` says about the build and the code."""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import Any

import pytest

from code_commit_testing import Project

GEMINI = {"GEMINI_API_KEY": "AIzaSy-canary-0123456789-key7Q"}
BROKEN = 'echo "line one"; echo "line two" >&2; exit 3\n'


@pytest.fixture
def project(tmp_path):
    return Project.create(tmp_path, files={"a.py": "print(1)\n"}, rollup=None)


def checks(
    project: Project, name: str, *arguments: str, exit_code: int = 0
) -> list[dict[str, Any]]:
    """Return the lines of `doctor --json` that the check `name` gave."""
    finished = project.command("doctor", "--json", *arguments, environ=GEMINI)
    assert finished.exit_code == exit_code, finished.stdout
    return [line for line in finished.document["checks"] if line["name"] == name]


def test_the_build_is_run(project) -> None:
    (line,) = checks(project, "build.sh")
    assert (line["state"], line["text"][:10], line["data"]["passed"]) == ("ok", "passed in ", True)
    (line,) = checks(project, "build.sh", "--no-build")
    assert (line["state"], line["text"]) == (
        "skipped",
        "not run, because of --no-build (interpreter: bash)",
    )


def test_a_red_build_is_a_problem_with_its_last_lines(project) -> None:
    project.write({"build.sh": BROKEN})
    (line,) = checks(project, "build.sh", exit_code=3)
    first, *rest = line["text"].splitlines()
    assert (line["state"], first[:23], sorted(rest)) == (
        "problem",
        "ended with exit code 3 ",
        ["line one", "line two"],
    )
    shown = project.command("doctor", environ=GEMINI)
    assert "\n" + " " * 22 + "line one\n" in shown.stdout
    assert "running build.sh ..." in shown.stderr
    (project.root / ".gitignore").unlink()  # an earlier check finds that; nothing is run
    assert "running build.sh ..." not in project.command("doctor", environ=GEMINI).stderr


def test_a_missing_build_is_a_problem(project) -> None:
    (project.root / "build.sh").unlink()
    (line,) = checks(project, "build.sh", exit_code=3)
    assert (line["text"], line["hint"][:18]) == ("there is no build.sh here", "`code-commit init`")


def test_the_standing_of_the_rollup(project) -> None:
    assert checks(project, "rollup")[0]["text"] == "none yet; a run collects 3 files"
    assert project.command("rollup").exit_code == 0
    assert checks(project, "rollup")[0]["text"] == "up to date"
    project.write({"a.py": "print(2)\n"})
    line = checks(project, "rollup")[0]
    assert line["text"] == "1 file changed since, so the next run collects 3 files"
    assert (line["state"], line["data"]) == ("ok", {"changed_files": 1})
    for setting, state, exit_code in (("protect", "warning", 0), ("stop", "problem", 3)):
        project.write(
            {"agent-config/config.toml": f'[plugins.commit]\nchanged_since_rollup = "{setting}"\n'}
        )
        line = checks(project, "rollup", exit_code=exit_code)[0]
        assert (line["state"], line["text"]) == (state, "1 file changed since")
        assert "`code-commit rollup`" in line["hint"]
    project.write({"agent-config/codeRollup.txt": "--- a.py ---\nx\n"})
    assert checks(project, "rollup")[0]["text"] == "from another program, so it may be out of date"
    project.write({"agent-config/codeRollup.txt": "\n"})
    assert (
        checks(project, "rollup", exit_code=3)[0]["text"] == "agent-config/codeRollup.txt is empty"
    )


def test_window_and_price_are_those_of_the_model(project) -> None:
    line = checks(project, "rollup", "--model", "gemini-2.5-pro")[1]
    data = line["data"]
    assert data["window"] == 1_048_576
    assert data["cost"] == pytest.approx(data["tokens"] * 1.25e-6)
    assert data["reply_cost"] == pytest.approx(0.1)
    assert (
        f"about {data['tokens']:,} tokens; gemini-2.5-pro reads 1,048,576; a call costs about $"
        in line["text"]
    )
    unknown = checks(project, "rollup", "--model", "gemini/unheard-of")[1]
    assert (unknown["data"]["window"], unknown["data"]["cost"]) == (None, None)


def test_a_prompt_above_the_window_is_a_problem(project) -> None:
    project.write({"big/a.txt": "some words of a text\n" * 300_000})
    arguments = ["--no-build"]
    if find_spec("code_commit_context"):
        arguments.append("--disable-plugin=context")  # it would select files
    line = checks(project, "rollup", *arguments, exit_code=3)[1]
    assert "gemini-2.5-pro reads at most 1,048,576" in line["text"]
    assert "big/" in line["hint"]


def test_init_names_doctor(project) -> None:
    assert "`code-commit doctor`" in project.command("init", "--no-build").stderr
    assert json.loads(project.command("init", "--no-build", "--json").stdout)["next"].startswith(
        "code-commit --query"
    )


@pytest.mark.parametrize(
    ("query", "settings", "check"),
    [
        ("word " * 2_000_000, "", "query"),
        ("word " * 6_000_000, "", "query"),  # too large to be read first
        ("Do it.\n", 'response_format = "nosuch"\n', "format"),
        ("Do it.\n", "auto_commit = true\n", "commit"),
    ],
    ids=["long", "longer", "format", "author"],
)
def test_what_ends_a_run_before_its_first_call_is_a_problem(project, query, settings, check):
    config = f"[plugins.commit]\n{settings}" if settings else ""
    project.write({"agent-config/query.txt": query, "agent-config/config.toml": config})
    # Without a host name, git knows no address.
    project.git("config", "user.useConfigOnly", "true")
    finished = project.command(environ=GEMINI)
    assert finished.exit_code == 3
    (line,) = checks(project, check, "--no-build", exit_code=3)
    assert line["state"] == "problem"
    assert f"error: {line['text']}\nhint: {line['hint']}" in finished.stderr
