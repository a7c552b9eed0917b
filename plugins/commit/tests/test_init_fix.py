"""`code-commit init --fix`, the command to run after a failed build, and folders in projects."""

from __future__ import annotations

import shutil

import pytest

from code_commit_commit.commands.test_counts import count_tests
from code_commit_testing import Project

NEEDS_NPM = pytest.mark.skipif(not shutil.which("npm"), reason="npm not installed")
PACKAGE = """\
{"dependencies": {"dep": "file:dep"}, "scripts": {"test": "node --test test.js"}}
"""
SITE = {
    "web/package.json": PACKAGE,
    "web/dep/package.json": '{"name": "dep", "version": "1.0.0"}',
    "web/dep/index.js": "module.exports = 1\n",
    "web/test.js": """\
const { test } = require("node:test")
test("dep", () => require("node:assert").equal(require("dep"), 1))
test("two", () => {})
""",
}


@NEEDS_NPM
def test_fix_installs_what_is_missing_and_the_build_passes(tmp_path, project_with):
    project = project_with(tmp_path, SITE)
    before = project.command("init")
    assert (before.exit_code, before.stderr.splitlines()[-1]) == (
        1,
        "Next: (cd web && npm install)",
    )
    finished = project.command("init", "--fix", "--json")
    assert finished.exit_code == 0, finished.stderr
    assert "\nRunning (cd web && npm install) ...\n" in finished.stderr
    assert "\nbuild.sh passed: 2 tests in " in finished.stderr
    document = finished.document
    assert document["installations"] == [{"command": "(cd web && npm install)", "passed": True}]
    assert (document["build"]["passed"], document["build"]["tests"]) == (True, 2)
    assert document["next"].startswith("code-commit --query")
    again = project.command("init", "--fix", "--json").document
    assert again["installations"] == []


@NEEDS_NPM
def test_fix_ends_with_one_thing_to_do(tmp_path, project_with):
    project = project_with(tmp_path, SITE | {"web/package-lock.json": "{}"})
    finished = project.command("init", "--fix")
    assert finished.exit_code == 1
    assert "It ended with exit code 1. Run it yourself" in finished.stderr
    assert finished.stderr.count("Running (cd web && npm ci) ...") == 1
    assert finished.stderr.endswith("\nNext: (cd web && npm ci)\n")


@pytest.mark.slow
def test_fix_makes_the_environment_that_a_build_of_the_user_needs(tmp_path, cache):
    files = {"requirements.txt": "", "m.py": "x = 1\n"}
    project = Project.create(tmp_path, files=files, build="test -x .venv/bin/python")
    assert project.command("init", environ=cache).stderr.endswith("\nNext: bash build.sh\n")
    finished = project.command("init", "--fix", environ=cache)
    assert finished.exit_code == 0, finished.stderr
    assert "\nadded .venv/ to .gitignore\n" in finished.stderr
    assert ".venv" not in project.git("status", "--short")


@pytest.mark.parametrize(
    ("build", "step"),
    [
        ("fail() { echo build.sh: $1; exit 1; }; fail 'cargo is not installed'", "install cargo, then run ./build.sh"),
        ("just --test", "install just, then run ./build.sh"),
        ("echo 'error: No interpreter found for Python >=3.99'; exit 2", "uv python install"),
        ("echo \"ModuleNotFoundError: No module named 'x'\"; exit 1", "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt"),
        ("echo 'assert 1 == 2'; exit 1", "./build.sh"),
    ],
)  # fmt: skip
def test_a_failed_build_names_what_helps(tmp_path, build, step):
    files = {"requirements.txt": "x\n", "tests/template/requirements.txt": "y\n"}
    project = Project.create(tmp_path, files=files, build=f"#!/usr/bin/env bash\n{build}\n")
    (project.root / "build.sh").chmod(0o755)
    finished = project.command("init")
    assert (finished.exit_code, finished.stderr.splitlines()[-1]) == (1, f"Next: {step}")


def test_fix_and_no_build_cannot_be_combined(tmp_path):
    assert Project.create(tmp_path).command("init", "--fix", "--no-build").exit_code == 2


def test_init_makes_no_second_project_below_one_by_mistake(tmp_path):
    project = Project.create(tmp_path, files={"sub/a.py": "x = 1\n"})
    below = Project(project.root / "sub", project.home)
    finished = below.command("init", "--no-build")
    assert (finished.exit_code, list(below.root.iterdir())) == (3, [below.root / "a.py"])
    command = f"`code-commit -C {project.root} init --no-build`"
    assert f"hint: {command}, or `code-commit init --here` for" in finished.stderr
    assert below.command("init", "--here", "--no-build").exit_code == 0
    assert below.command("doctor", "--no-build").exit_code in {0, 3}
    assert below.command("init", "--no-build").exit_code == 0


def test_outside_of_git_init_says_so_first(tmp_path):
    project = Project(tmp_path / "project", tmp_path / "home")
    project.root.mkdir()
    project.home.mkdir()
    finished = project.command("init", "--no-build")
    assert finished.stderr.startswith(
        "This folder is in no git repository. A run needs one: `git init`"
    )
    assert finished.stderr.endswith("\nNext: git init\n")


OUTPUTS = {
    "=== 3 failed, 12 passed, 1 warning in 1.20s ===\n": 12,
    "299 passed in 62.01s (0:01:02)\n": 299,
    "Ran 7 tests in 0.001s\n\nOK\n": 7,
    "test result: ok. 4 passed; 0 failed; 0 ignored\ntest result: ok. 2 passed; 0 failed;\n": 6,
    "# tests 5\n# pass 5\n": 5,
    "\x1b[34m\u2139 tests 8\x1b[39m\n": 8,
    "Tests:       1 skipped, 3 passed, 4 total\n": 3,
    " Test Files  2 passed (2)\n      Tests  1 skipped | 9 passed (10)\n": 9,
    "  5 passing (12ms)\n": 5,
    "100% tests passed, 0 tests failed out of 31\n": 31,
    "Tests run: 2, Failures: 0, Errors: 0, Skipped: 0 - in A\nTests run: 2, Failures: 0, Errors: 0, Skipped: 0\n": 2,
    "12 runs, 24 assertions, 0 failures\n": 12,
    "3 examples, 0 failures\n": 3,
    "OK (12 tests, 30 assertions)\n": 12,
    "Files=2, Tests=14, 1 wallclock secs\n": 14,
    "build.sh: there are no tests yet\n": 0,
    "compiled 3 files\n12 passed checks\n": None,
}  # fmt: skip


@pytest.mark.parametrize("output", OUTPUTS)
def test_the_tests_of_the_usual_runners_are_counted(output):
    assert count_tests(output) == OUTPUTS[output]
