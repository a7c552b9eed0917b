"""`--help` of the commands of all plugins: each has its parts, and fits the terminal it is read on."""

from __future__ import annotations

import re

import pytest

from code_commit.cli.host import CommandHost
from code_commit.cli.main import run_command
from code_commit.plugin_api.host import HOST
from code_commit_history.runs.command import ACTIONS

EVERY = [
    *(name.split() for name, (plugin, _) in CommandHost({}).registry.commands.items() if plugin.distribution != HOST),
    *(["runs", name] for name in ACTIONS),
]


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
@pytest.mark.parametrize("columns", [72, 120])
def test_a_help_has_its_parts_and_fits(words, columns, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(columns))
    assert run_command([*words, "--help"]) == 0
    shown, errors = capsys.readouterr()
    usage, description, *_ = shown.split("\n\n")
    assert errors == ""
    assert usage.startswith(f"usage: {' '.join(['code-commit', *words])} ")
    assert re.fullmatch(r"[A-Z].*\.", description, re.DOTALL), "a sentence says what it does"
    assert re.search(r"^flags[^\n]*:\n  --help, -h +show this help$", shown, re.MULTILINE)
    # What stands in columns of its own is not broken.
    assert [line for line in shown.splitlines() if len(line) > max(columns, 80)] == []
