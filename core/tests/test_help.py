"""`--help` of the command and of each command below it: fit for the terminal it is read on."""

from __future__ import annotations

import os
import pty
import re

import pytest

from code_commit import __version__
from code_commit.cli.host import CommandHost
from code_commit.cli.main import run_command
from code_commit_history.runs.command import ACTIONS
from code_commit_testing import install_plugin

EVERY = [
    [],
    *(name.split() for name in CommandHost({}).registry.commands),
    *(["runs", name] for name in ACTIONS),
]
each_help = pytest.mark.parametrize(
    "words", EVERY, ids=lambda words: " ".join(words) or "code-commit"
)
EVIL = """
from code_commit.plugin_api import Flag, WorkflowDefinition, hookimpl


@hookimpl
def code_commit_workflows():
    flag = Flag(("--evil",), "red \\x1b[31m", selects=True)
    return [
        WorkflowDefinition(
            name="evil", help="title \\x1b]0;owned\\x07", flags=(flag,), run="evil_plugin:run"
        )
    ]
"""
NAMED = """
from code_commit.plugin_api import ProviderDefinition, hookimpl


@hookimpl
def code_commit_providers():
    aliases = tuple(f"alias-{number}" for number in range(12))
    return [
        ProviderDefinition(
            "named", {"named-1": aliases}, "", None, None, ("a", "{key}"), "x:y", "x:y"
        )
    ]
"""


def on_a_terminal(project, words, plugins=(), last="--help", **environ):
    """What the command writes to a terminal of 80 columns."""
    controller, theirs = pty.openpty()
    environ = {
        "TERM": "xterm",
        "COLUMNS": "80",
        "PYTHONPATH": os.pathsep.join(map(str, plugins)),
        **environ,
    }
    with project.start(*words, last, environ=environ, stdout=theirs) as process:
        os.close(theirs)
        shown = b""
        while piece := _read(controller):
            shown += piece
    os.close(controller)
    assert process.returncode == 0
    return shown.decode()


def _read(handle):
    try:
        return os.read(handle, 4096)
    except OSError:  # the end of a pty
        return b""


@each_help
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


@pytest.mark.slow
def test_without_a_terminal_a_help_has_80_columns(project):
    shown = project.command("--help", environ={"COLUMNS": ""}).stdout
    assert 70 < max(map(len, shown.splitlines())) <= 80


@pytest.mark.slow
def test_a_table_is_wrapped_on_a_terminal_only(project, tmp_path):
    plugins = [install_plugin(tmp_path / "plugins", "named", NAMED)]
    rows = project.command("models", plugins=plugins).stdout.splitlines()
    [row] = [line for line in rows if line.startswith("named-1 ")]
    assert len(row) > 80
    shown = on_a_terminal(project, [], plugins, last="models").replace("\r\n", "\n")
    assert max(map(len, shown.splitlines())) <= 80
    assert " ".join(row.split()) in " ".join(shown.split())
    lines = shown[shown.index("named-1 ") :].splitlines()
    assert lines[1].startswith(" " * row.index("alias-0")), "below the column of the aliases"


@pytest.mark.parametrize(
    ("words", "same"),
    [
        (["help"], ["--help"]),
        (["help", "models"], ["models", "--help"]),
        (["help", "plugins", "doctor"], ["plugins", "doctor", "--help"]),
    ],
    ids=str,
)
def test_help_is_also_a_command(words, same, capsys):
    assert run_command(words) == run_command(same) == 0
    shown = capsys.readouterr().out
    assert shown[: len(shown) // 2] == shown[len(shown) // 2 :]


@pytest.mark.parametrize(
    "words", [["-V"], ["--version"], ["--version", "--json"], ["-V", "--json"]], ids=" ".join
)
def test_the_version_is_one_line(project, words):
    finished = project.command(*words)
    assert (finished.exit_code, finished.stdout) == (0, f"code-commit {__version__}\n")


@pytest.mark.slow
def test_on_a_terminal_names_and_headings_stand_out(project):
    shown = on_a_terminal(project, [])
    assert "\x1b[1mcommands:\x1b[0m" in shown
    assert "\x1b[36m--model" in shown
    assert "\x1b[36mdoctor\x1b[0m" in shown
    plain = re.sub(r"\x1b\[\d*m", "", shown).replace("\r\n", "\n")
    assert plain == project.command("--help", environ={"COLUMNS": "80"}).stdout


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_whoever_wants_no_colour_gets_none(project, environ):
    assert "\x1b" not in on_a_terminal(project, ["plugins"], **environ)


def test_what_a_plugin_says_brings_no_sequences_of_its_own(project, tmp_path):
    shown = on_a_terminal(project, [], plugins=[install_plugin(tmp_path / "plugins", "evil", EVIL)])
    assert "red \\x1b[31m" in shown
    assert set(re.findall(r"\x1b[^m]*m", shown)) == {"\x1b[0m", "\x1b[1m", "\x1b[36m"}
    assert "\x07" not in shown


@pytest.mark.slow
def test_the_help_of_plugins_names_the_commands_for_authors(project):
    words = " ".join(project.command("plugins", "--help").stdout.split())
    assert "there is `code-commit plugins doctor`" in words
    assert "code-commit-testing adds `code-commit plugins new`" in words
    assert re.search(r"plugins doctor\S* +examine every plugin", project.command("--help").stdout)


def test_the_help_of_a_command_that_is_misspelled_is_an_error(project):
    finished = project.command("dcotor", "--help")
    assert (finished.exit_code, finished.stdout) == (2, "")
    assert "did you mean doctor?" in finished.stderr
