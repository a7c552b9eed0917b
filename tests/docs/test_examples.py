"""The examples of the pages work: configurations load, flags exist, the steps of the README
succeed.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from code_commit.cli.arguments import workflow_parser
from code_commit.cli.host import CommandHost, command_parser
from code_commit.config.loading import load_settings
from code_commit.config.schema import validated
from code_commit.imports import import_object
from code_commit.models.resolution import HOST_FIELDS
from code_commit.plugin_api.errors import ExitCode
from code_commit.plugin_api.event import RunFinished
from code_commit.plugins.host import PluginHost
from code_commit.plugins.registry import Registry
from code_commit_testing import Reply, ScriptedServer

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("core/*.md"),
        *ROOT.glob("testing/*.md"),
        *ROOT.glob("workspace/*.md"),
        *ROOT.glob("plugins/*/*.md"),
        *ROOT.glob("examples/*.md"),
    ]
)
FENCE = re.compile(
    r"^(?P<indent> *)(?P<fence>`{3,})(?P<language>\w*)[^\n]*\n(?P<text>.*?)^ *(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)
COMMAND = re.compile(
    r"(?:^|[|;&(] *|\$ |\bif )(?:[A-Z_]+=\S* )*(?:[\w./~$-]*/)?code-commit(?P<rest>(?: [^|;&>#\n]*)?)(?=[|;&>#\n]|\Z)",
    re.MULTILINE,
)
# Tables of a pyproject.toml.
NOT_OURS = {"repository", "project", "build-system", "tool", "dependencies"}

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def blocks(page: Path, *languages: str) -> Iterator[str]:
    for fence in FENCE.finditer(page.read_text("utf-8")):
        if fence["language"] in languages:
            yield textwrap.dedent(fence["text"])


@cache
def registry() -> Registry:
    return CommandHost({}).registry


# --- configurations -------------------------------------------------------------------------------


@each_page
def test_every_configuration_loads(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is also valid for each installed provider and plugin.

    Only the user's own one opens the sandbox or names servers.
    """
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    projects, users = tmp_path / "agent-config", tmp_path / "home/code-commit"
    projects.mkdir()
    users.mkdir(parents=True)
    sections = {
        plugin.name: target for plugin, target in PluginHost().collect("code_commit_settings")
    }
    for text in blocks(page, "toml"):
        if NOT_OURS & tomllib.loads(text).keys():
            continue
        tables = tomllib.loads(text)
        opens = {"readable", "writable"} & tables.get("sandbox", {}).keys()
        opens |= {"mcp"} & tables.get("plugins", {}).get("toolbox", {}).keys()
        (projects / "config.toml").write_text("" if opens else text, "utf-8")
        (users / "config.toml").write_text(text if opens else "", "utf-8")
        settings = load_settings(tmp_path, environ={})
        for provider, config in configs(settings.providers):
            if provider in registry().providers:
                table = settings.connection(provider, config).items()
                model = import_object(registry().providers[provider][1].config)
                validated(
                    model,
                    {name: value for name, value in table if name not in HOST_FIELDS},
                    text,
                    lambda _: "",
                )
        for name, target in sections.items():
            settings.plugin(name, import_object(target))


def test_the_shown_last_event_of_a_run_is_valid() -> None:
    """It has exactly the fields of the event, and the outcome of its exit code."""
    [text] = [text for text in blocks(ROOT / "docs/usage.md", "json") if "exit_code" in text]
    shown = json.loads(text)
    assert shown.keys() == {field.name for field in dataclasses.fields(RunFinished)}
    assert shown["outcome"] == ExitCode(shown["exit_code"]).outcome
    TypeAdapter(RunFinished).validate_json(text, strict=True)


def configs(providers: Any) -> Iterator[tuple[str, str]]:
    for provider, tables in providers.items():
        if isinstance(tables, dict):
            yield from ((provider, config) for config in tables)


# --- commands -------------------------------------------------------------------------------------


@cache
def flags_of(command: str) -> frozenset[str]:
    """Return the flags of a command; for an empty name, the flags of all workflows."""
    parser = (
        command_parser(*registry().commands[command]) if command else workflow_parser(registry())
    )
    return frozenset(flags_in(parser))


def flags_in(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the flags of a parser and of the parsers below it."""
    for action in parser._actions:
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):
            yield from (
                flag for subparser in action.choices.values() for flag in flags_in(subparser)
            )


def flags_of_the_page(page: Path) -> set[str]:
    """Return the flags of a tutorial's own workflow or command."""
    return set(re.findall(r'(?:Flag\(|add_argument)\("(--[a-z-]+)"', page.read_text("utf-8")))


def commands_of_the_page(page: Path) -> set[str]:
    """Return the commands that a tutorial adds."""
    return set(re.findall(r'CommandDefinition\(\s*name="([a-z-]+)"', page.read_text("utf-8")))


def commands(page: Path) -> Iterator[list[str]]:
    for text in blocks(page, "sh", "console"):
        for match in COMMAND.finditer(text.replace("\\\n", " ")):
            yield shlex.split(match["rest"])
    for code in re.findall(r"`code-commit( [^`]+)`", FENCE.sub("", page.read_text("utf-8"))):
        yield shlex.split(code.replace("…", " "))


@each_page
def test_every_command_line_has_flags_that_exist(page: Path) -> None:
    for argv in commands(page):
        command = argv[0] if argv and not argv[0].startswith("-") else ""
        if " " in command:  # a query
            command = ""
        if " ".join(argv[:2]) in registry().commands:
            command = " ".join(argv[:2])
        own = command in commands_of_the_page(page)
        assert not command or own or command in registry().commands, argv
        flags = argv[: argv.index("--")] if "--" in argv else argv
        used = {word.partition("=")[0] for word in flags if word.startswith("-") and word != "-"}
        assert used <= (frozenset() if own else flags_of(command)) | flags_of_the_page(page), argv


@each_page
def test_every_flag_in_the_text_exists(page: Path) -> None:
    """A code span that starts with two hyphens is a flag of code-commit; flags of other programs
    follow their names.
    """
    spans = re.findall(r"`(--[a-z][a-z-]*)[^`]*`", FENCE.sub("", page.read_text("utf-8")))
    existing = flags_of("").union(
        *(flags_of(command) for command in registry().commands), flags_of_the_page(page)
    )
    assert set(spans) <= existing


def test_command_lines_are_found() -> None:
    """The two tests above must not pass on empty input."""
    lines = [argv for page in PAGES for argv in commands(page)]
    assert ["undo"] in lines
    assert ["--model", "gpt-5", "--query", "Rename the module util to text"] in lines
    assert ["--query-file", "-"] in lines
    assert len(lines) > 40


# --- the steps of the README ----------------------------------------------------------------------

KEY = "a-key-that-is-pasted-in"
GREETING = 'def greet(name: str) -> str:\n    return f"Hello, {name}!"\n'
TEST = """\
import unittest

from greeting import greet


class Greeting(unittest.TestCase):
    def test_one(self) -> None:
        self.assertEqual(greet("Ada"), "Hello, Ada!")
"""
OTHERS = f"{GREETING}# and all the others\n"
ANSWERS = [
    f"^^^greeting.py\n{text}^^^end\n" for text in ("def greet(\n", OTHERS, f"{OTHERS}# and again\n")
]


def test_the_steps_of_the_readme_make_a_change(tmp_path: Path) -> None:
    section = (ROOT / "README.md").read_text("utf-8").partition("\n## Start\n")[2]
    install, *steps = [fence["text"] for fence in FENCE.finditer(section.partition("\n## ")[0])]
    assert install.startswith("uv tool install ")
    # The first change, and one command for each later one.
    assert [len(step.splitlines()) for step in steps] == [3, 1]
    script = "".join(steps).replace("…", KEY)
    project = tmp_path / "project"
    project.mkdir()
    for name, text in {
        ".gitignore": "__pycache__/",
        "greeting.py": GREETING,
        "test_greeting.py": TEST,
    }.items():
        (project / name).write_text(text, "utf-8")
    for git in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "a greeting"]):
        subprocess.run(["git", *git], cwd=project, check=True)
    with ScriptedServer(map(Reply, ANSWERS)) as server:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environ = {**os.environ, **server.environment(), "PATH": path, "HOME": str(tmp_path)}
        command = ["bash", "-euc", script]
        completed = subprocess.run(
            command, cwd=project, env=environ, capture_output=True, text=True, check=False
        )
        requests = server.requests
    assert completed.returncode == 0, completed.stderr
    assert "build.sh passed: 1 test" in completed.stderr
    assert [request.headers["x-goog-api-key"] for request in requests] == [KEY] * 3
    assert f"--- greeting.py ---\n{GREETING}" in requests[0].prompt
    assert "take a list of names as well" in requests[0].prompt
    assert f"--- greeting.py ---\n{OTHERS}" in requests[2].prompt
    assert KEY not in completed.stdout + completed.stderr + "".join(
        request.prompt for request in requests
    )
    status = subprocess.run(
        ["git", "status", "--porcelain"], cwd=project, capture_output=True, text=True, check=True
    )
    changes = ["?? build.sh", "?? codeRollup.sh"]
    assert status.stdout.splitlines() == [" M .gitignore", " M greeting.py", *changes]
