"""`code-commit completion`: the scripts, in the shells that are installed."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from code_commit.cli.completion import known_words
from code_commit.cli.host import CommandHost
from code_commit_testing import Project, install_plugin

ODD = """
from code_commit.plugin_api import Flag, WorkflowDefinition, hookimpl

@hookimpl
def code_commit_workflows():
    flags = (Flag(("--odd",), "it's odd: $(touch pwned) `touch pwned`", selects=True),)
    return [WorkflowDefinition("odd", "odd", flags, "nowhere:run")]
"""
WORSE = ODD.replace("--odd", "--a;touch pwned").replace('"odd", "odd"', '"worse", "worse"')


@pytest.fixture
def project(tmp_path):
    project = Project.create(tmp_path)
    project.write({"logs/2026-01-01-00-00-00-x/events.jsonl": ""})
    return project


def script(project, shell, **options):
    finished = project.command("completion", shell, **options)
    assert finished.exit_code == 0, finished.stderr
    return finished.stdout


def completed(project, text, *words):
    """What bash offers for the last of `words`."""
    line = " ".join(f"'{word}'" for word in words)
    code = f'{text}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _code_commit; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(
        ["bash", "--norc", "-c", code],
        cwd=project.root,
        capture_output=True,
        text=True,
        check=True,
        env=project.environment(),
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["code-commit", "ru"], ["runs"]),
        (["code-commit", "--que"], ["--query", "--query-file"]),
        (["code-commit", "--quiet", "--on-f"], ["--on-failure"]),
        (["code-commit", "--on-failure", ""], ["keep", "restore"]),
        (["code-commit", "--sandbox", "r"], ["require"]),
        (["code-commit", "runs", "ex"], ["export"]),
        (["code-commit", "runs", "export", "--si"], ["--sink"]),
        (["code-commit", "undo", "2026"], ["2026-01-01-00-00-00-x"]),
        (["code-commit", "replay", "la"], ["latest"]),
        (["code-commit", "plugins", "d"], ["doctor"]),
        (["code-commit", "completion", "z"], ["zsh"]),
        (["code-commit", "--query-file", "a."], ["a.txt"]),
    ],
)
def test_bash_offers_what_may_follow(project, words, offered):
    assert completed(project, script(project, "bash"), *words) == offered


def test_every_command_has_its_words():
    host = CommandHost({})
    words = known_words(host)
    assert list(words.commands) == list(host.registry.commands)
    assert "--json" in words.commands["check"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_and_what_a_plugin_says_does_not_run(project, tmp_path, shell):
    folder = tmp_path / "plugins"
    plugins = [install_plugin(folder, "odd", ODD)]
    install_plugin(folder, "worse", WORSE)
    text = script(project, shell, plugins=plugins)
    assert "--odd" in text or "-l odd" in text
    assert "a;touch" not in text
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed: its script was only looked at")
    flags = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    before = "autoload -U compinit; compinit -D; " if shell == "zsh" else ""
    done = subprocess.run(
        [program, *flags, "-c", f"{before}{text}"],
        cwd=project.root,
        env=project.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert not (project.root / "pwned").exists()


def test_an_unknown_shell_is_a_usage_error(project):
    assert project.command("completion", "csh").exit_code == 2
