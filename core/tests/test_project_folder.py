"""The flag `-C`, and commands in a folder below a project."""

from __future__ import annotations

import json
import shlex

import pytest

from code_commit_testing import Project, install_plugin

SCRIPTED = "from code_commit_testing.scripted_provider import code_commit_providers\n"
SCRIPTED_CONFIG = """\
[providers]
default_provider = "scripted.default"
[providers.scripted.default]
replies = ["^^^a.txt\\nnew\\n^^^end\\n"]
"""


@pytest.fixture
def project(tmp_path) -> Project:
    project = Project.create(tmp_path, files={"src/deep/a.py": "", "a.txt": "old\n"})
    project.write({"agent-config/config.toml": SCRIPTED_CONFIG, "src/query.txt": "Change it.\n"})
    return project


@pytest.fixture
def outside(project, tmp_path) -> Project:
    """The same machine, seen from a folder above the project."""
    return Project(tmp_path, project.home)


@pytest.mark.parametrize("place", ["before", "after"])
def test_a_command_works_in_the_folder_that_the_flag_names(outside, project, place):
    command = ["config", "--json"]
    folder = ["-C", project.root.name, "-C", "src/.."]
    words = [*folder, *command] if place == "before" else [*command, *folder]
    finished = outside.command(*words)
    assert finished.exit_code == 0, finished.stderr
    assert "scripted.default" in finished.stdout


def test_a_run_works_in_the_folder_that_the_flag_names(outside, project, tmp_path):
    plugins = [install_plugin(tmp_path / "plugins", "scripted", SCRIPTED)]
    words = ("--query-file", "src/query.txt", "-C", project.root.name, "--sandbox", "off")
    finished = outside.command(*words, plugins=plugins)
    assert (finished.exit_code, project.read("a.txt")) == (0, "new\n"), finished.stderr
    assert f"`code-commit -C {project.root} undo` reverts the changes" in finished.stderr
    (record,) = project.root.glob("logs/*/run.json")
    assert json.loads(record.read_bytes())["argv"] == ["--query-file", "src/query.txt", *words[4:]]


@pytest.mark.parametrize(
    ("words", "exit_code", "message"),
    [
        (["doctor", "-C"], 2, "-C needs the name of a folder"),
        (["-C", "gone", "doctor"], 3, "cannot change to gone: No such file or directory"),
        (["-C", "project/a.txt"], 3, "cannot change to project/a.txt: Not a directory"),
        (["check", "--", "-C", "x"], 3, "is not in a git repository"),
    ],
)
def test_a_folder_that_is_none_is_an_error(outside, project, words, exit_code, message):
    assert project.root.name == "project"
    finished = outside.command(*words)
    assert (finished.exit_code, message in finished.stderr) == (exit_code, True), finished.stderr


@pytest.mark.parametrize(
    ("words", "seen_from_the_root"),
    [
        (["config"], ["config"]),
        (["doctor", "--no-build"], ["doctor", "--no-build"]),
        (["undo", "~2"], ["undo", "~2"]),
        (["--query", "a b", "--json"], ["--query", "a b", "--json"]),
        (["--query-file", "query.txt"], ["--query-file", "src/query.txt"]),
        (["--query-file=query.txt"], ["--query-file=src/query.txt"]),
    ],
)
def test_below_a_project_the_error_has_the_command_to_run(project, words, seen_from_the_root):
    below = Project(project.root / "src", project.home)
    finished = below.command(*words)
    assert (finished.exit_code, list(below.root.glob("logs"))) == (3, [])
    command = shlex.join(["code-commit", "-C", str(project.root), *seen_from_the_root])
    assert f"inside the project {project.root}; " in finished.stderr
    assert finished.stderr.endswith(f"hint: `{command}`\n")
    if "--json" in words:
        assert finished.events[-1]["data"]["exit_code"] == 3


def test_commands_about_no_project_work_everywhere(project):
    below = Project(project.root / "src/deep", project.home)
    for words in (
        ["plugins"],
        ["plugins", "doctor"],
        ["--help"],
        ["completion", "bash"],
        ["--version"],
    ):
        assert below.command(*words).exit_code == 0


def test_a_repository_below_a_project_is_no_part_of_it(project):
    project.git("init", "--quiet", "src/deep")
    assert Project(project.root / "src/deep", project.home).command("config").exit_code == 0
