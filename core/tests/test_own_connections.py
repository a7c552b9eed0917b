"""A provider that is no `Wire` gets neither address nor key, and nobody is left to believe that it
does.
"""

from __future__ import annotations

import pytest

from code_commit_testing import Project, install_plugin

PLUGIN = """
from dataclasses import replace
from code_commit.plugin_api import hookimpl
from code_commit_testing.scripted_provider import SCRIPTED

@hookimpl
def code_commit_providers():
    return [replace(SCRIPTED, base_url={base_url!r}, key_variable="SCRIPTED_API_KEY")]
"""
CONFIG = """
[providers.scripted.default]
model = "scripted"
replies = ["^^^a.txt\\nsk-canary-0123456789\\n^^^end\\n"]
"""


def run(tmp_path, config: str = CONFIG, *, base_url: str = ""):
    project = Project.create(tmp_path / "made")
    project.write({"agent-config/config.toml": config})
    plugins = [install_plugin(tmp_path / "plugins", "scripted", PLUGIN.format(base_url=base_url))]
    environ = {"SCRIPTED_API_KEY": "sk-canary-0123456789"}
    return project.command("--model", "scripted.default", plugins=plugins, environ=environ)


@pytest.mark.slow
def test_its_key_is_censored_all_the_same(tmp_path):
    finished = run(tmp_path)
    assert (finished.exit_code, "contains an API key" in finished.stderr) == (5, True), (
        finished.stderr
    )


@pytest.mark.parametrize("line", ["base_url = 'https://elsewhere.example'", "allow_http = true"])
def test_an_address_in_its_config_is_an_error(tmp_path, line):
    finished = run(tmp_path, f"{CONFIG}{line}\n")
    assert finished.exit_code == 3
    name = line.split()[0]
    message = f"[providers.scripted.default]: {name} has no effect: provider scripted makes its own connections\n"
    assert (
        message + "hint: remove it; the provider's own settings set the address\n"
        in finished.stderr
    )


def test_an_address_in_its_definition_is_its_plugins_fault(tmp_path):
    finished = run(tmp_path, base_url="https://service.example")
    assert finished.exit_code == 3
    assert (
        "but its definition has a base_url\nhint: this is a bug in its plugin\n" in finished.stderr
    )
