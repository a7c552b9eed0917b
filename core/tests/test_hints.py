"""Hints name only what is installed, and know how it was installed."""

from __future__ import annotations

import json
import sys

import pytest

from code_commit.cli.arguments import BUILTIN, RESERVED
from code_commit.plugin_api import installation
from code_commit.plugins import first_party, hints
from code_commit.plugins.discovery import PluginSource, discover
from code_commit.plugins.host import PluginHost
from code_commit.plugins.registry import Registry
from code_commit.plugins.words_of_others import COMMANDS, FLAGS
from code_commit_testing import install_plugin

RUNS = """
from code_commit.plugin_api import CommandDefinition, hookimpl

@hookimpl
def code_commit_commands():
    return [CommandDefinition("runs", "list runs", "x:y")]
"""


@pytest.fixture
def history(tmp_path, monkeypatch):
    """A registry with the host, and a plugin that has the names of the history."""
    monkeypatch.syspath_prepend(install_plugin(tmp_path, "history", RUNS))
    installed = discover([str(tmp_path)])
    monkeypatch.setattr(hints, "discover", lambda: installed)
    return Registry(PluginHost(installed, builtin=BUILTIN))


FOR_INIT = f"for the command init: {installation('code-commit-commit')}"


@pytest.mark.parametrize(
    ("hint", "shown"),
    [
        ("`code-commit runs` lists the runs", "`code-commit runs` lists the runs"),
        ("`code-commit runs show x` and `code-commit undo`; do it", None),
        ("`code-commit plugins doctor` and --json and --no-such-flag", None),
        ("`code-commit init` writes one; it must pass", f"it must pass; {FOR_INIT}"),
        ("`code-commit -C /a/b init --here`", FOR_INIT),
        ("use codeRollup.sh or `code-commit rollup --exclude x`", "use codeRollup.sh"),
        ("use `code-commit runs` or `code-commit undo`", None),
        (
            "describe it with --query",
            f"for --query: {installation('code-commit-commit')}",
        ),
    ],
)
def test_what_is_not_installed_is_not_named(history, hint, shown):
    assert history.hint_for(hint) == (shown or hint)


RECEIPT = """
[tool]
requirements = [
    {{ name = "rich", specifier = ">=13" }},
    {{ name = "{name}", extras = ["report", "gemini"]{source} }},
]
"""


@pytest.mark.parametrize(
    ("name", "source", "command"),
    [
        ("code-commit", "", '"code-commit[gemini,openai,report]"'),
        ("code-commit", ', specifier = "<2"', '"code-commit[gemini,openai,report]<2"'),
        ("code-commit-checkout", ', directory = "{folder}"', '"{folder}[gemini,openai,report]"'),
        ("code-commit-checkout", ', directory = "/gone"', None),
        ("code-commit", ', git = "https://example.org/x"', None),
    ],
)
def test_a_tool_of_uv_keeps_its_extras(tmp_path, monkeypatch, name, source, command):
    receipt = RECEIPT.format(name=name, source=source.format(folder=tmp_path))
    (tmp_path / "uv-receipt.toml").write_text(receipt)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    expected = installation_elsewhere()
    if command:
        expected = f'uv tool install --with "rich>=13" {command.format(folder=tmp_path)}'
    assert installation("code-commit-openai") == expected


@pytest.mark.parametrize(
    ("spec", "command"),
    [
        ("code-commit", '"code-commit[openai]"'),
        ("code-commit[gemini]<2", '"code-commit[gemini,openai]<2"'),
        ("{folder}[gemini,report]", '"{folder}[gemini,openai,report]"'),
        ("{folder}", '"{folder}[openai]"'),
        ("code-commit @ git+https://example.org/x", None),
        ("git+https://example.org/x", None),
    ],
)
def test_an_application_of_pipx_keeps_its_extras(tmp_path, monkeypatch, spec, command):
    metadata = {"main_package": {"package_or_url": spec.format(folder=tmp_path)}}
    (tmp_path / "pipx_metadata.json").write_text(json.dumps(metadata))
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    expected = installation_elsewhere()
    if command:
        expected = f"pipx install --force {command.format(folder=tmp_path)}"
    assert installation("code-commit-openai") == expected


def installation_elsewhere() -> str:
    return 'in a checkout of code-commit, pip install ".[openai]" or uv tool install ".[all]"'


@pytest.mark.parametrize(
    ("distributions", "command"),
    [
        ({"code-commit": None}, '"code-commit[openai]"'),
        ({"code-commit": "{uri}/core", "code-commit-checkout": "{uri}"}, '"{folder}[openai]"'),
        ({"code-commit": "{uri}/core"}, None),
        ({"code-commit": None, "code-commit-checkout": "file:///gone"}, None),
    ],
)
def test_an_environment_of_pip_is_named(tmp_path, monkeypatch, distributions, command):
    for name, url in distributions.items():
        info = tmp_path / f"{name.replace('-', '_')}-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        if url:
            record = {"url": url.format(uri=tmp_path.as_uri()), "dir_info": {}}
            (info / "direct_url.json").write_text(json.dumps(record))
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    expected = installation_elsewhere()
    if command:
        source = command.format(folder=tmp_path)
        expected = f"uv pip install --python {sys.executable} {source}"
    assert installation("code-commit-openai") == expected
    pip = tmp_path / "pip"
    pip.mkdir()
    (pip / "__init__.py").touch()
    if command:
        expected = f"{sys.executable} -m pip install {source}"
    assert installation("code-commit-openai") == expected


def test_the_words_of_other_programs_are_none_of_ours():
    registry = Registry(PluginHost([], builtin=BUILTIN))
    commands = first_party.names("command").union(registry.commands)
    assert not commands & COMMANDS.keys()
    assert not first_party.names("flag").union(RESERVED) & FLAGS.keys()


@pytest.mark.parametrize(
    ("kind", "name", "part"),
    [
        ("flag", "--prompt", "describe the change with --query"),
        ("flag", "--message", "describe the change with --query"),
        ("flag", "-p", "describe the change with --query"),
        ("flag", "--yes", "code-commit asks no questions"),
        ("flag", "--auto-commit", "--commit commits the changed files"),
        ("command", "exec", "describe the change with --query"),
        ("command", "run", "describe the change with --query"),
        ("command", "edit", "`code-commit --edit` opens your editor"),
        ("command", "login", "a key comes from a file in agent-config or from a variable"),
    ],
)
def test_a_word_of_another_program_gets_what_is_meant(monkeypatch, kind, name, part):
    everything = [
        PluginSource(owner, owner, "1", "code_commit", "x") for owner in first_party.offers()
    ]
    monkeypatch.setattr(hints, "discover", lambda: everything)
    error = Registry(PluginHost([], builtin=BUILTIN)).missing(kind, name, ["--rollup", "--quiet"])
    assert error.message == f"there is no {kind} {name}"
    assert error.hint.startswith(part)
