"""The installed command starts with any set of plugins, and prints what is installed and what to
install.
"""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import astuple
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

pytestmark = pytest.mark.skipif(
    find_spec("code_commit") is None, reason="only the workspace is installed"
)

NO_PLUGINS = {"code-commit", "code-commit-workspace"}
PROVIDERS = {"gemini", "openai", "anthropic"}
FLAGS = {
    "commit": "--query",
    "consistency": "--consistency-check",
    "tasks": "--no-build",
    "planner": "--planning",
}
COMMANDS = {"commit": ["init", "rollup", "check", "demo"], "history": ["runs", "replay", "apply"]}


@cache
def installed_plugins() -> set[str]:
    names = {distribution.metadata["Name"] for distribution in importlib.metadata.distributions()}
    return {
        name.removeprefix("code-commit-")
        for name in names - NO_PLUGINS
        if name.startswith("code-commit-")
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an empty repository, which no test changes."""
    folder = tmp_path_factory.mktemp("empty")
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    (folder / ".gitignore").write_text("/agent-config\n")
    return folder


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


# Importing the libraries takes longer than all that these runs do. For the set without the
# distribution for tests, which has a process that forks.
_RUN_EACH = """
import json, os, sys, tempfile
import code_commit.cli.main, code_commit.config.loading, code_commit.models.resolution
from code_commit.__main__ import main
from code_commit.cli.arguments import load_registry
load_registry(frozenset())
for arguments in json.load(sys.stdin):
    written = [tempfile.TemporaryFile("w+") for _ in range(2)]
    if not os.fork():
        for number, file in enumerate(written, start=1):
            os.dup2(file.fileno(), number)
        sys.argv[1:] = arguments
        sys.exit(main())
    exit_code = os.waitstatus_to_exitcode(os.wait()[1])
    print(json.dumps([exit_code, *(file.seek(0) or file.read() for file in written)]), flush=True)
"""


def of_missing_plugins() -> list[tuple[str, list[str]]]:
    """Return plugins that are not installed, each with arguments that need it."""
    names = [(name, [flag]) for name, flag in FLAGS.items()]
    names += [
        (name, [command_name]) for name, commands in COMMANDS.items() for command_name in commands
    ]
    if "commit" in installed_plugins():
        models = {"gemini": "gemini-2.5-pro", "openai": "gpt-5", "anthropic": "claude-opus-4-5"}
        names += [(name, ["--model", model]) for name, model in models.items()]
    else:
        names += [("commit", []), ("commit", ["--model", "gpt-5"])]
    return [(name, arguments) for name, arguments in names if name not in installed_plugins()]


@pytest.fixture(scope="module")
def command(folder: Path) -> Callable[..., Done]:
    """Return a function that gives the result of the command, which ran in a fork of a process with
    its libraries.
    """
    if find_spec("code_commit_testing"):
        from code_commit_testing import Project

        project = Project(folder, folder.with_name("home"))
        return lambda *arguments: Done(*astuple(project.command(*arguments)))
    lines = [["models"], ["models", "--json"], ["plugins", "--json"], ["undo"]]
    lines += [arguments for _name, arguments in of_missing_plugins()]
    code = [sys.executable, "-P", "-c", _RUN_EACH]
    completed = subprocess.run(
        code, cwd=folder, input=json.dumps(lines), capture_output=True, text=True, check=True
    )
    outcomes = [Done(*json.loads(line)) for line in completed.stdout.splitlines()]
    return lambda *arguments: outcomes[lines.index([*arguments])]


@pytest.fixture(scope="module")
def program(folder: Path) -> Callable[..., Done]:
    """Return a function that runs the installed command, each line once."""
    path = Path(sys.executable).with_name("code-commit")

    @cache
    def run(*arguments: str) -> Done:
        completed = subprocess.run(
            [path, *arguments], cwd=folder, capture_output=True, text=True, check=False
        )
        return Done(completed.returncode, completed.stdout, completed.stderr)

    return run


def test_version_matches_the_distribution(program) -> None:
    completed = program("--version")
    assert (completed.returncode, completed.stderr) == (0, "")
    assert completed.stdout == f"code-commit {importlib.metadata.version('code-commit')}\n"


def test_help_shows_the_flags_and_commands_of_the_installed_plugins(program) -> None:
    completed = program("--help")
    assert (completed.returncode, completed.stderr) == (0, "")
    assert "--model" in completed.stdout
    assert {
        name for name, flag in FLAGS.items() if re.search(f"{flag}[ ,]", completed.stdout)
    } == installed_plugins() & set(FLAGS)
    listed = set(re.findall(r"^  ([a-z]+)  ", completed.stdout, re.MULTILINE))
    for name, commands in COMMANDS.items():
        assert (set(commands) & listed) == (set(commands) if name in installed_plugins() else set())
    assert {"plugins", "models", "config", "completion", "undo"} <= listed


def test_help_imports_no_records_of_runs_and_no_large_library(tmp_path: Path) -> None:
    completed = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "code_commit", "--help"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    imported = set(re.findall(r"[\w.]+$", completed.stderr, re.MULTILINE))
    assert "code_commit.plugins.registry" in imported
    unused = {
        "code_commit.plugin_api.event",
        "code_commit_workspace.records",
        "asyncio",
    }
    if "commit" in installed_plugins():  # else the help says how to install it, as it was installed
        unused |= {"json", "shutil", "pathlib", "email"}
    assert not imported & (unused | {"pydantic", "httpx", "rich", "structlog", "prompt_toolkit"})


def test_help_without_the_default_workflow_shows_how_to_install_it(program) -> None:
    assert ('pip install ".[commit]"' in program("--help").stdout) == (
        "commit" not in installed_plugins()
    )


def test_models_without_a_provider_shows_how_to_install_one(command) -> None:
    if not installed_plugins() & (PROVIDERS | {"history"}):
        output = command("models").stdout
        assert all(f'pip install ".[{name}]"' in output for name in PROVIDERS)


def test_undo_needs_no_plugin(command) -> None:
    completed = command("undo")
    assert completed.returncode == 3
    assert "nothing to undo" in completed.stderr or "no run" in completed.stderr


def test_plugins_are_loaded_without_a_failure(command) -> None:
    completed = command("plugins", "--json")
    assert (completed.returncode, completed.stderr) == (0, "")
    document = json.loads(completed.stdout)
    distributions = {plugin["distribution"] for plugin in document["plugins"]}
    assert distributions - {"code-commit"} == {
        f"code-commit-{name}" for name in installed_plugins()
    }
    assert document["failures"] == []


def test_models_match_the_installed_providers(command) -> None:
    completed = command("models", "--json")
    assert (completed.returncode, completed.stderr) == (0, "")
    assert {
        model["provider"] for model in json.loads(completed.stdout)["models"]
    } == installed_plugins() & PROVIDERS


def test_flags_of_missing_plugins_show_what_to_install(command) -> None:
    for name, arguments in of_missing_plugins():
        completed = command(*arguments)
        assert completed.returncode == 2, arguments
        assert f'pip install ".[{name}]"' in completed.stderr
