"""Flags of workflows: what a workflow gets of them, which exclude each other, and whose fault a
mistake is.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from code_commit_testing import Finished, install_plugin

PLUGIN = """
import json
from pathlib import Path
from pydantic import BaseModel, ConfigDict, field_validator
from code_commit.plugin_api import (
    CodeCommitError,
    CommandDefinition,
    Flag,
    Outcome,
    Result,
    WorkflowDefinition,
    hookimpl,
)

TIMES = Flag(("--times",), "how often", metavar="N")


@hookimpl
def code_commit_settings():
    return "flags_plugin:Settings"


@hookimpl
def code_commit_workflows():
    def workflow(name, *flags, **more):
        return WorkflowDefinition(
            name, name, flags, "flags_plugin:tell", writes=False, roles=None, **more
        )

    deep = Flag(("--look", "-l"), "look", selects=True)
    return [
        workflow(
            "looking",
            deep,
            TIMES,
            Flag(("--two-words",), "no field of its name"),
            Flag(("--names",), "several", metavar="NAME", several=True),
            options="flags_plugin:Options",
        ),
        workflow(
            "bare",
            Flag(("--bare",), "no options", selects=True),
            TIMES,
            ignores=("--look", "--absent"),
        ),
        workflow(
            "strict",
            Flag(("--strict",), "no field", selects=True),
            TIMES,
            options="flags_plugin:Strict",
        ),
        workflow(
            "owed",
            Flag(("--owed",), "no default", selects=True),
            TIMES,
            options="flags_plugin:Owed",
        ),
        workflow(
            "unset",
            Flag(("--unset",), "a field without a flag", selects=True),
            options="flags_plugin:Unset",
        ),
        workflow("lost", Flag(("--lost",), "no root", selects=True), root="flags_plugin:lost"),
        workflow(
            "nowhere", Flag(("--nowhere",), "absent", selects=True), root="flags_plugin:nowhere"
        ),
        workflow("asking", Flag(("--asking",), "asks", selects=True), root="flags_plugin:asking"),
        workflow(
            "quitting", Flag(("--quitting",), "quits", selects=True), root="flags_plugin:quitting"
        ),
    ]


@hookimpl
def code_commit_commands():
    return [
        CommandDefinition(name, "start workflows", f"flags_plugin:{name}", "flags_plugin:arguments")
        for name in ("start", "each")
    ]


class Settings(BaseModel):
    times: int = 1


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")
    times: int = 1


class Owed(BaseModel):
    times: int


class Unset(BaseModel):
    depth: int


class Options(Strict):
    look: bool = False
    names: tuple[str, ...] = ()

    @field_validator("times")
    @classmethod
    def few(cls, times):
        return {1: 1, 2: 2, 3: 3}[times]


def tell(run):
    return Result(Outcome.REACHED, f"options: {run.options!r}", {"flags": sorted(run.flags)})


def lost(options, ask):
    raise KeyError("root")


def nowhere(options, ask):
    return Path("no-such-folder")


def asking(options, ask):
    return Path(ask("where?"))


def quitting(options, ask):
    return None


def arguments(parser):
    parser.add_argument("words", nargs="+")


def start(host, arguments):
    host.out.line(host.start(host.parse([f"--{word}" for word in arguments.words])).summary)
    return 0


def each(host, arguments):
    told = []
    for words in map(json.loads, arguments.words):
        try:
            told.append(["", host.start(host.parse(words)).summary])
        except CodeCommitError as error:
            told.append([type(error).__name__, f"{error.message}\\nhint: {error.hint}\\n"])
    host.out.document(told)
    return 0
"""


@pytest.fixture
def run(project, tmp_path):
    plugins = [install_plugin(tmp_path / "plugins", "flags", PLUGIN)]

    def run(*words: str, **options: object) -> Finished:
        return project.command(*words, plugins=plugins, **options)

    return run


@pytest.fixture
def start_each(run):
    """Return a function that starts runs in one process; it returns the error, if any, and the text
    of each.
    """

    def start_each(*lines: str) -> list[Any]:
        return run("each", *(json.dumps(line.split()) for line in lines)).document

    return start_each


def test_a_workflow_gets_its_flags_which_beat_the_settings_of_the_same_name(start_each, project):
    project.write({"agent-config/config.toml": "[plugins.flags]\ntimes = 2\n"})
    summaries = {
        "--bare --look": "None",
        "--strict --times 9": "Strict(times=9)",
        "--look": "Options(times=2, look=True, names=())",
        "--owed": "Owed(times=2)",
        "--owed --times 9": "Owed(times=9)",
        "-l --times 1": "Options(times=1, look=True, names=())",
        "--look --times=3": "Options(times=3, look=True, names=())",
        "--look --names a b --times=3 --names=-c": (
            "Options(times=3, look=True, names=('a', 'b', '-c'))"
        ),
        "--bare": "None",
        "--bare --absent x": "None",
    }
    assert start_each(*summaries) == [["", f"options: {options}"] for options in summaries.values()]


def test_a_workflow_knows_which_options_come_from_flags(run, project):
    project.write({"agent-config/config.toml": "[plugins.flags]\ntimes = 2\n"})
    for words, flags in {"--look": ["look"], "--look --times=2": ["look", "times"]}.items():
        finished = run("--json", *words.split())
        assert finished.events[-1]["data"]["data"] == {"flags": flags}


def test_a_mistake_of_a_flag_is_named(start_each):
    mistakes = [
        ("--look --strict", "--look and --strict cannot be used together: a run has one workflow"),
        ("--strict --two-words", "--two-words belongs to looking, not to strict"),
        ("--look --two-words", "there is no setting --two-words\n"),
        ("--look --absent x", "there is no flag --absent"),
        ("--look --times x", "--times should be a valid integer\n"),
        ("--owed --times x", "--times should be a valid integer\n"),
        (
            "--unset",
            "the workflow unset of code-commit-flags 1.0 is broken: the field 'depth' of flags_plugin:Unset is",
        ),
        ("--look --times", "argument --times: expected one argument"),
        ("--look --sandbox of", "--sandbox should be 'auto', 'require' or 'off'"),
        ("--look --on-failure=stop", "--on-failure should be 'keep' or 'restore'"),
        ("--look --max-cost 0", "--max-cost should be greater than 0"),
        ("--loook", "there is no flag --loook; did you mean --look?"),
        ("--lo", "there is no flag --lo"),
        (
            "--look undo",
            "the command undo must come before all flags\nhint: `code-commit undo --help`",
        ),
        ("--look undoo", "there is no command undoo; did you mean undo?"),
        ("--strict --bare --look", "--bare and --strict cannot be used together: a run"),
        ("--look -m", "argument --model/-m: expected one argument"),
    ]
    errors = start_each(*(line for line, _ in mistakes))
    assert [
        (name, text[: len(message)])
        for (name, text), (_, message) in zip(errors, mistakes, strict=True)
    ] == [("UsageError", message) for _, message in mistakes]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--look", "--times", "x"], 2, "error: --times should be a valid integer\n"),
        (["plugin"], 2, "did you mean plugins?\nhint: `code-commit plugins --help`"),
        (["plugins", "--jso"], 2, "unexpected argument --jso; did you mean --json?"),
        (["plugins", "--jso=1"], 2, "unexpected argument --jso=1; did you mean --json?"),
        (
            ["plugins", "doctor", "extra"],
            2,
            "unexpected argument extra\nhint: `code-commit plugins doctor --help`",
        ),
        (["plugins", "-x"], 2, "unexpected argument -x\nhint: `code-commit plugins --help`"),
        (["help", "plugin"], 2, "did you mean plugins?"),
        (["--nowhere"], 3, "there is no folder no-such-folder"),
        (["--asking"], 3, "not interactive asked a question\nhint: this is a bug in its plugin\n"),
        (["--quitting"], 0, ""),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_on_the_command_line_is_named(run, words, code, said):
    finished = run(*words)
    assert finished.exit_code == code, finished.stderr
    assert said in finished.stderr
    assert "Traceback" not in finished.stderr


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize(
    ("words", "error", "workflow"),
    [
        (["--look", "--times", "7"], "KeyError: 7", "looking"),
        (["--lost"], "KeyError: 'root'", "lost"),
    ],
    ids=["options", "root"],
)
def test_a_bug_before_the_run_names_the_plugin(run, words, error, workflow):
    finished = run(*words)
    assert finished.exit_code == 70
    assert (
        f"internal error: {error}, in the workflow {workflow} of code-commit-flags"
        in finished.stderr
    )
    assert "a bug in code-commit" not in finished.stderr
    assert "flags_plugin.py" in run(*words, "--debug").stderr


def test_a_command_starts_a_workflow_with_its_flags(run):
    assert "Options(times=1, look=True, names=())" in run("start", "look").stdout
    quit_run = run("start", "quitting")
    assert (quit_run.exit_code, "quit before the run began" in quit_run.stderr) == (130, True)


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize(
    "words",
    [["--disable-plugin", "flags", "plugins"], ["plugins", "--disable-plugin=flags"]],
    ids=" ".join,
)
def test_a_plugin_is_disabled_before_and_after_a_command(run, words):
    assert run(*words, "--json").document["disabled"] == ["flags"]
    assert run("--disable-plugin", "flags", "start", "x").exit_code == 2
    assert "there is no plugin" in run("plugins", "--disable-plugin").stderr


def test_a_run_that_the_user_quits_ends_with_an_event(run):
    finished = run("--quitting", "--json")
    assert [(event["kind"], event["data"]["outcome"]) for event in finished.events] == [
        ("run.finished", "reached")
    ]


@pytest.mark.slow
def test_the_default_workflow_stands_first_in_the_help(project, tmp_path):
    code = (
        "from code_commit.plugin_api import Flag, WorkflowDefinition, hookimpl\n"
        "@hookimpl\ndef code_commit_workflows():\n"
        "    flags = (Flag(('--first',), 'a flag', selects=True),)\n"
        "    return [WorkflowDefinition('aa-first', 'a workflow', flags, 'first_plugin:run')]\n"
    )
    plugins = [install_plugin(tmp_path / "plugins", "first", code)]
    shown = project.command("--help", plugins=plugins).stdout
    assert 0 < shown.index("\nworkflow committing-code") < shown.index("\nworkflow aa-first")


def test_a_run_without_the_line_in_gitignore_names_init_if_it_is_installed(run, project):
    project.write({".gitignore": ""})
    init = (
        "hint: run `code-commit init` to add the line and create the other files that a run needs\n"
    )
    finished = run("--bare")
    installed = "code-commit init" in run("--help").stdout
    assert (finished.exit_code, init in finished.stderr) == (3, installed)
    if installed:
        finished = run("--disable-plugin", "commit", "--bare")
        assert (finished.exit_code, "init" in finished.stderr) == (3, False)
