"""How a command ends and what it prints: exit codes, signals, closed streams, and no key in any of
it.
"""

from __future__ import annotations

import re

import pytest

from code_commit_testing import Finished, install_plugin

TOKEN = "odd-canary-0123456789-7Q"
PLUGIN = """
import os
from code_commit.plugin_api import (
    CommandDefinition,
    Flag,
    NotReady,
    Outcome,
    Result,
    WorkflowDefinition,
    hookimpl,
)


@hookimpl
def code_commit_commands():
    return [CommandDefinition("odd", "do something odd", "odd_plugin:odd", "odd_plugin:arguments")]


@hookimpl
def code_commit_workflows():
    return [
        WorkflowDefinition(
            "idle",
            "idle",
            (Flag(("--idle",), "idle", selects=True),),
            "odd_plugin:idle",
            writes=False,
            roles=None,
        )
    ]


def idle(run):
    return Result(Outcome.REACHED, "idle")


def arguments(parser):
    parser.add_argument("code")
    parser.add_argument("--json", action="store_true")


def odd(host, arguments):
    token = os.environ.get("ODD_TOKEN")
    exec(arguments.code)
    return 0
"""
BROKEN = "import os\nraise KeyError(os.environ['ODD_TOKEN'])\n"


@pytest.fixture
def run(project, tmp_path):
    plugins = [install_plugin(tmp_path / "plugins", "odd", PLUGIN)]

    def run(*words: str) -> Finished:
        return project.command(
            *words, plugins=plugins, environ={"ODD_TOKEN": TOKEN, "OPENAI_API_KEY": TOKEN[::-1]}
        )

    return run


@pytest.mark.fast_rows(3)
@pytest.mark.parametrize(
    ("code", "exit_code", "said"),
    [
        (
            "os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone'); os.getcwd()",
            3,
            "the current folder no longer exists: No such file or directory\nhint: change to another folder\n",
        ),
        (
            "raise SystemExit(3)",
            70,
            "internal error: SystemExit: 3, in the command odd of code-commit-odd",
        ),
        (
            "raise NotReady('one\\nerror: two', hint='three\\nfour' + token)",
            3,
            "error: one\n    error: two\nhint: three\n    four***7Q\n",
        ),
        (
            "list(host.collect('code_commit_log_sinks', plugin='nobody'))",
            2,
            "there is no log sink 'nobody'",
        ),
        ("raise SystemExit", 0, ""),
        (
            "import signal, time; os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)",
            130,
            "interrupted",
        ),
        ("raise KeyboardInterrupt", 130, "interrupted"),
        ("raise NotReady('it has ' + token)", 3, "it has ***7Q"),
    ],
)
def test_a_command_ends_with_its_exit_code(run, code, exit_code, said):
    finished = run("odd", code)
    assert (finished.exit_code, finished.stdout) == (exit_code, ""), finished.stderr
    assert said in finished.stderr
    assert TOKEN not in finished.stderr


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize(
    ("code", "outcome", "hint"),
    [
        ("raise NotReady('a ' + token, hint='b ' + token)", "not_ready", "b ***7Q"),
        ("raise KeyError(token)", "internal", "this is a bug; --debug shows where"),
    ],
)
def test_with_json_an_error_is_the_last_event(run, code, outcome, hint):
    finished = run("odd", "--json", code)
    (event,) = finished.events
    assert (event["kind"], event["data"]["outcome"], event["data"]["data"]) == (
        "run.finished",
        outcome,
        {"hint": hint},
    )
    assert (event["seq"], event["run"], event["span"], event["parent"]) == (1, "", 0, None)
    assert event["data"]["exit_code"] == finished.exit_code
    assert finished.stderr.startswith(f"error: {event['data']['summary']}\nhint: {hint}\n")


@pytest.mark.slow
def test_an_error_without_a_hint_has_none(run):
    finished = run("odd", "--json", "raise NotReady('no')")
    assert (finished.events[0]["data"]["data"], finished.stderr) == ({}, "error: no\n")
    assert TOKEN not in finished.stdout + finished.stderr


def test_no_key_is_printed(run):
    prints = {
        "host.out.line('\\x1b[1m' + key)": "\\x1b[1m***do\n",
        "host.out.table([('a\\n', key), ('longer', 'b')])": "a\\n     ***do\nlonger  b\n",
        "host.out.document([key])": '[\n  "***do"\n]\n',
        "host.out.write('\\x1b[1m' + key)": "\x1b[1m***do",
    }
    finished = run("odd", "; ".join(["key = os.environ['OPENAI_API_KEY']", *prints]))
    assert (finished.exit_code, finished.stdout) == (0, "".join(prints.values())), finished.stderr


@pytest.mark.slow
def test_the_error_of_a_plugin_that_fails_shows_no_key(run, tmp_path):
    install_plugin(tmp_path / "plugins", "broken", BROKEN)
    for words in (["plugins"], ["plugins", "--json"], ["broken"], ["--broken"]):
        finished = run(*words)
        assert "KeyError" in finished.stdout + finished.stderr
        assert TOKEN not in finished.stdout + finished.stderr


def test_settings_that_git_brings_are_not_read(run, project):
    project.write({"agent-config/config.toml": "sandbox.network = false\n"})
    assert '"agent-config/config.toml"' in run("config", "--json").stdout
    project.git("add", "--force", "agent-config/config.toml")
    finished = run("config")
    assert (finished.exit_code, finished.stdout) == (3, "")
    assert "agent-config" in finished.stderr


def test_a_process_of_a_workspace_for_files_alone_gets_no_variable_that_may_hold_a_key(run):
    code = """
with host.workspace() as workspace:
    done = workspace.run_command(["env"], log=host.root / "log.txt", timeout=60)
    host.out.write(done.output.decode())
"""
    finished = run("odd", code)
    assert finished.exit_code in {0, 3}, finished.stderr  # 3 where no sandbox works
    assert "_TOKEN" not in finished.stdout


@pytest.mark.slow
def test_a_sink_that_fails_at_the_end_is_named(run, tmp_path):
    sink = """
from code_commit.plugin_api import hookimpl

class Sink:
    def receive(self, record): pass
    def close(self): raise ValueError("no room")

@hookimpl
def code_commit_log_sinks():
    return [Sink()]
"""
    install_plugin(tmp_path / "plugins", "late", sink)
    finished = run("--idle")
    assert finished.exit_code == 0
    assert re.search(
        r"late of code-commit-late failed.*: ValueError: no room$", finished.stderr, re.MULTILINE
    )


def test_stdout_without_a_reader_is_no_success(project):
    with project.start("config") as process:
        process.stdout.close()
        assert (process.stderr.read(), process.wait()) == (b"", 1)


@pytest.mark.slow
def test_quiet_says_nothing_of_a_success(run):
    assert "idle" in run("--idle").stderr
    assert run("--idle", "--quiet").stderr == ""


def test_a_run_that_wrote_nothing_cannot_be_taken_back(run):
    assert run("--idle").exit_code == 0
    for words, message in (
        (["undo"], "no run has left changes here"),
        (["undo", "latest"], "changed no files"),
    ):
        finished = run(*words)
        assert (finished.exit_code, message in finished.stderr) == (3, True)


def test_without_a_provider_the_models_name_what_to_install(run):
    offered = run("models", "--json").document["models"]
    disabled = [f"--disable-plugin={name}" for name in {model["distribution"] for model in offered}]
    assert ("no provider is installed" in run("models").stdout) == (not offered)
    finished = run("models", *disabled)
    assert 'pip install ".[openai]"' in finished.stdout
