"""The installed command starts, whichever plugins are there, and says which they are."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
from pathlib import Path

import pytest

NO_PLUGINS = {"code-commit", "code-commit-workspace", "code-commit-testing"}
PROVIDERS = {"gemini", "openai", "anthropic"}
WORKFLOWS = {"consistency": "--consistency-check", "tasks": "--task-file"}


def installed_plugins() -> set[str]:
    names = {distribution.metadata["Name"] for distribution in importlib.metadata.distributions()}
    return {name.removeprefix("code-commit-") for name in names - NO_PLUGINS if name.startswith("code-commit-")}


@pytest.fixture
def command(tmp_path: Path):
    """Give a function that runs the installed command in an empty folder."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        program = Path(sys.executable).with_name("code-commit")
        return subprocess.run(
            [program, *arguments], cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )

    return run


def test_version_is_that_of_the_distribution(command) -> None:
    done = command("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"code-commit {importlib.metadata.version('code-commit')}\n"


def test_help_tells_the_flags_of_the_installed_workflows(command) -> None:
    done = command("--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "--model" in done.stdout
    told = {name for name, flag in WORKFLOWS.items() if flag in done.stdout}
    assert told == installed_plugins() & set(WORKFLOWS)


def test_plugins_are_loaded_without_a_failure(command) -> None:
    done = command("plugins", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    distributions = {plugin["distribution"] for plugin in document["plugins"]}
    assert distributions - {"code-commit"} == {f"code-commit-{name}" for name in installed_plugins()}
    assert document["failures"] == []


def test_models_are_those_of_the_installed_providers(command) -> None:
    done = command("models", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert {model["provider"] for model in json.loads(done.stdout)["models"]} == installed_plugins() & PROVIDERS


def test_what_a_missing_plugin_offers_says_what_to_install(command) -> None:
    asked = {
        "consistency": ["--consistency-check"],
        "tasks": ["--task", "Do it."],
        "gemini": ["--model", "gemini-2.5-pro"],
        "openai": ["--model", "gpt-5"],
        "anthropic": ["--model", "claude-opus-4-5"],
    }
    for name in asked.keys() - installed_plugins():
        done = command(*asked[name])
        assert done.returncode == 2
        assert f"code-commit-{name}" in done.stderr
