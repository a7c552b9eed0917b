"""What a command gets of its host: the project, settings, plugins and runs; and how a run that it
starts is shown.
"""

from __future__ import annotations

import sys

import pytest

from code_commit.cli.host import CommandHost
from code_commit_testing import Finished, install_plugin

PLUGIN = """
import sys
from pathlib import Path
from pydantic import BaseModel
from code_commit.plugin_api import *


class Settings(BaseModel):
    color: str = "red"


@hookimpl
def code_commit_settings():
    return "odd_plugin:Settings"


@hookimpl
def code_commit_commands():
    return [CommandDefinition("odd", "do something odd", "odd_plugin:odd", "odd_plugin:arguments")]


@hookimpl
def code_commit_workflows():
    def workflow(name, **more):
        return WorkflowDefinition(
            name,
            name,
            (Flag((f"--{name}",), name, selects=True),),
            f"odd_plugin:{name}",
            writes=False,
            roles=None,
            **more,
        )

    return [
        workflow("idle"),
        workflow("telling", reports_progress=True),
        workflow("hinting"),
        workflow("failing"),
    ]


def idle(run):
    run.execute(["true"], timeout=60)
    return Result(Outcome.REACHED, f"idle in {run.root.name}")


def telling(run):
    return idle(run)


def hinting(run):
    run.keep("b.html", "")
    run.keep("a.html", "")
    return Result(Outcome.REACHED, "done", hint="look there")


def failing(run):
    return Result(Outcome.NOT_REACHED, "not done", hint="try again")


def arguments(parser):
    parser.add_argument("code")


def odd(host, arguments):
    exec(arguments.code)
    return 0
"""
LAYER = """
from code_commit.plugin_api import hookimpl

@hookimpl
def code_commit_model_layers(settings, secret):
    return ["{0}", settings, callable(secret)]
"""
OFF = {"CODE_COMMIT_SANDBOX": "off"}


@pytest.fixture
def run(project, tmp_path):
    plugins = [install_plugin(tmp_path / "plugins", "odd", PLUGIN)]

    def run(*words: str, **options: object) -> Finished:
        return project.command(*words, plugins=plugins, environ=OFF, **options)

    return run


def test_the_program_is_named_so_that_it_starts_in_any_folder(monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    for argv0, shown in {
        "code-commit": "code-commit",
        "/usr/bin/code-commit": "/usr/bin/code-commit",
        ".venv/bin/code-commit": f"{tmp_path}/.venv/bin/code-commit",
        "/my tools/bin/code-commit": "'/my tools/bin/code-commit'",
        "/x/code_commit/__main__.py": f"{sys.executable} -P -m code_commit",
    }.items():
        monkeypatch.setattr(sys, "argv", [argv0, "demo"])
        assert CommandHost({}).argv0 == shown


def test_a_command_gets_its_project_and_settings(run, project) -> None:
    code = (
        "color = host.settings().color; "
        "host.out.line(f'{host.root} {host.build_timeout} {color} {len(host.failures)}')"
    )
    assert run("odd", code).stdout == f"{project.root} 3600 red 0\n"
    text = '[build]\ntimeout_seconds = 7\n[plugins.odd]\ncolor = "blue"\n'
    project.write({"agent-config/config.toml": text})
    assert run("odd", code).stdout == f"{project.root} 7.0 blue 0\n"


@pytest.mark.slow
def test_the_redactor_of_a_command_knows_the_configured_keys(run, project) -> None:
    code = "sys.stdout.write(host.redactor.text('a key-in-file'))"
    project.write({"agent-config/openai-key.txt": "key-in-file\n"})
    assert run("odd", code).stdout == "a ***le"
    project.write({".gitignore": ""})  # now no key is read
    assert run("odd", code).stdout == "a key-in-file"


@pytest.mark.fast_rows(5)
@pytest.mark.parametrize(
    ("hook", "plugin", "code", "said"),
    [
        ("model_layers", "", 0, "[('one', 'one'), ('one', None), ('one', True), ('two', 'two'), "),
        ("model_layers", "two", 0, "[('two', 'two'), ('two', None), ('two', True)]\n"),
        (
            "model_layers",
            "twoo",
            2,
            "there is no model layer 'twoo'; did you mean two?\nhint: installed: one, two\n",
        ),
        (
            "model_layers",
            "odd",
            2,
            "error: there is no model layer 'odd'\nhint: installed: one, two\n",
        ),
        (
            "model_layers",
            "bad",
            2,
            "error: the plugin bad of code-commit-bad is broken: ValueError: no\n",
        ),
        ("model_layer", "odd", 2, "error: there is no model layer 'odd'\nhint: installed: none\n"),
    ],
)
def test_a_command_calls_a_hook_of_every_plugin_or_of_one(
    run, tmp_path, hook, plugin, code, said
) -> None:
    for name, source in {
        "two": LAYER.format("two"),
        "one": LAYER.format("one"),
        "bad": "raise ValueError('no')",
    }.items():
        install_plugin(tmp_path / "plugins", name, source)
    finished = run(
        "odd", f"host.out.line(str(list(host.collect('code_commit_{hook}', plugin={plugin!r}))))"
    )
    assert (finished.exit_code, said in finished.stdout + finished.stderr) == (code, True), finished


STARTS = [
    (["--idle", "--quiet"], None, False, "<ExitCode.REACHED: 0> idle in project", False),
    (["--idle"], "inner", False, "<ExitCode.REACHED: 0> idle in inner", True),
    (["--idle"], None, True, "<ExitCode.REACHED: 0> idle in project", False),
    (["--failing"], None, False, "<ExitCode.NOT_REACHED: 1> not done", False),
    (["--idle"], None, False, "<ExitCode.REACHED: 0> idle in project", True),
    (["--idle", "--json"], None, False, "<ExitCode.REACHED: 0> idle in project", True),
]
START = """
for words, root, quiet in {rows}:
    done = host.start(host.parse(words), root=root and Path(root), quiet=quiet)
    host.out.line(f"{{done.exit_code!r}} {{done.summary}}")
    host.out.note("---")
"""


def test_a_command_starts_runs_without_their_output(run, project) -> None:
    project.write({"inner/.gitignore": "/agent-config\n"})
    finished = run("odd", START.format(rows=[row[:3] for row in STARTS]))
    assert finished.exit_code == 0, finished.stderr
    assert finished.stdout.splitlines() == [row[3] for row in STARTS]
    assert ["logs/" in text for text in finished.stderr.split("---\n")[:-1]] == [
        row[4] for row in STARTS
    ]


@pytest.mark.slow
def test_a_workflow_that_reports_its_progress_is_not_reported_as_well(run) -> None:
    shown = {
        words: run(*words).stderr
        for words in (("--idle",), ("--telling",), ("--telling", "--json"))
    }
    assert ["`true`" in text or " true" in text for text in shown.values()] == [
        True,
        False,
        True,
    ], shown


@pytest.mark.slow
def test_the_last_lines_of_a_run_name_the_log_and_the_hint(run, project) -> None:
    endings = {word: run(word).stderr for word in ("--idle", "--hinting", "--failing")}
    folders = {
        folder.name.rpartition("-")[2]: folder.name for folder in (project.root / "logs").iterdir()
    }
    assert run("--hinting", "--quiet").stderr == ""
    for word, lines in {
        "--idle": "\nidle in project\nlog: ",
        "--hinting": "done\nhint: look there\nlog: ",
        "--failing": "error: not done\nhint: try again\nlog: ",
    }.items():
        before, name, after = endings[word].rpartition(f"logs/{folders[word[2:]]}")
        assert (before[-len(lines) :], name != "", after.endswith(".html\n") or after == "\n") == (
            lines,
            True,
            True,
        )
    assert endings["--hinting"].endswith("/a.html\n"), "the first page"


@pytest.mark.slow
@pytest.mark.parametrize(("code", "exit_code"), [("255", 255), ("256", 70), ("0", 0)])
def test_an_exit_code_fits_into_a_byte(project, tmp_path, code, exit_code) -> None:
    text = PLUGIN.replace("    return 0\n", f"    return {code}\n")
    plugins = [install_plugin(tmp_path / "plugins", "odd", text)]
    assert project.command("odd", "pass", plugins=plugins).exit_code == exit_code


@pytest.mark.slow
def test_the_help_of_a_command_begins_with_its_line_as_a_sentence(run) -> None:
    assert "\n\nDo something odd.\n\n" in run("odd", "--help").stdout
