"""Ctrl-C while `code-commit plugins doctor` runs code of a plugin."""

from __future__ import annotations

import pytest

from code_commit_testing import Project, install_plugin

PLUGIN = """
import sys
from code_commit.plugin_api import CommandDefinition, hookimpl

def at(place):
    if place == {place!r} and not hasattr(sys, "interrupted"):
        sys.interrupted = True  # Ctrl-C comes once
        raise KeyboardInterrupt

at("import")

def add(parser):
    at("examination")

def say(host, arguments):
    pass

@hookimpl
def code_commit_commands():
    return [CommandDefinition("odd", "a command", "odd_plugin:say", "odd_plugin:add")]
"""


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("import", "interrupted while the plugin odd of code-commit-odd was imported"),
        ("examination", "interrupted"),
    ],
)
def test_an_interrupted_examination_ends(tmp_path, place, words):
    folder = install_plugin(tmp_path / "plugins", "odd", PLUGIN.format(place=place))
    finished = Project.create(tmp_path).command("plugins", "doctor", plugins=[folder])
    assert (finished.exit_code, finished.stdout) == (130, "")
    assert words in finished.stderr
