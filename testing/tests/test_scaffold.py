"""`code-commit plugins new`: what it creates, and what it refuses. tests/docs/test_scaffold.py
tests the plugins.
"""

from __future__ import annotations

import re

import pytest

from code_commit_testing import Project
from code_commit_testing.scaffold import KINDS


@pytest.fixture
def project(tmp_path):
    return Project.create(tmp_path)


def created(project, name, *arguments, kind="sink"):
    return project.command("plugins", "new", name, "--kind", kind, *arguments)


@pytest.mark.parametrize("kind", KINDS)
def test_the_files_are_printed_and_have_the_name(project, kind):
    finished = created(project, "rate-limit", "--folder", "plugins", kind=kind)
    assert finished.exit_code == 0, finished.stderr
    folder = project.root / "plugins/code-commit-rate-limit"
    files = sorted(
        f"plugins/{path.relative_to(folder.parent)}" for path in folder.rglob("*") if path.is_file()
    )
    assert sorted(finished.stdout.splitlines()) == files
    assert {file.removeprefix("plugins/code-commit-rate-limit/") for file in files} > {
        ".gitignore",
        "README.md",
        "pyproject.toml",
        "src/code_commit_rate_limit/__init__.py",
        "src/code_commit_rate_limit/plugin.py",
        "tests/test_rate_limit.py",
    }
    written = "".join((project.root / file).read_text() for file in files)
    assert not re.findall(r"\b(?:KIND|USAGE|SETTINGS|GROUP|VERSION)\b", written)
    text = written.lower()
    assert not {"new-name", "newname", "new_name"} & {*re.findall(r"[a-z_-]+", text)}
    assert "rate-limit" in text


def test_nothing_is_overwritten(project):
    assert created(project, "mine").exit_code == 0
    file = project.root / "code-commit-mine/README.md"
    file.write_text("my words\n")
    again = created(project, "mine")
    assert (again.exit_code, file.read_text()) == (3, "my words\n")
    assert "code-commit-mine exists" in again.stderr


@pytest.mark.parametrize(
    "name",
    [
        "Mine",
        "9mine",
        "mi ne",
        "mine-",
        "mi--ne",
        "../mine",
        "mi_ne",
        "müne",
        "",
        "x" * 31,
        "class",
    ],
)
def test_a_name_that_cannot_be_one_is_an_error(project, name):
    finished = created(project, name)
    assert finished.exit_code == 2
    assert "cannot be the name of a plugin" in finished.stderr
    assert [path.name for path in project.root.glob("code-commit-*")] == []


@pytest.mark.parametrize(
    "name", ["openai", "undo", "model", "testing", "gpt-5", "planning", "workspace"]
)
def test_a_name_that_is_taken_is_an_error(project, name):
    finished = created(project, name)
    assert finished.exit_code == 2
    assert f"{name!r} is a name of code-commit or of an installed plugin" in finished.stderr


@pytest.mark.parametrize("name", ["copy", "model-dump"])
def test_a_workflow_is_no_method_of_its_options(project, name):
    finished = created(project, name, kind="workflow")
    assert finished.exit_code == 2
    assert f"{name!r} is a method of pydantic" in finished.stderr
    assert created(project, name).exit_code == 0


def test_the_name_is_without_that_of_the_host(project):
    finished = created(project, "code-commit-mine")
    assert finished.exit_code == 2
    assert "the name is without code-commit" in finished.stderr


def test_a_folder_that_cannot_be_written_is_an_error(project):
    finished = created(project, "mine", "--folder", "a.txt")
    assert finished.exit_code == 3
    assert "cannot write" in finished.stderr


@pytest.mark.parametrize("arguments", [("mine",), ("mine", "--kind", "hook"), ("--kind", "sink")])
def test_nothing_is_asked(project, arguments):
    assert project.command("plugins", "new", *arguments).exit_code == 2
