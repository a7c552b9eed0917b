"""Closed, full and abandoned streams: lost output does not change the outcome of the run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from code_commit_testing import Project, Reply, ScriptedServer, install_plugin

GOOD = Reply("^^^a.txt\nnew\n^^^end\n")
COMMAND = f"{sys.executable} -m code_commit"


LOOK = """
import os, sys
from code_commit.plugin_api import hookimpl


@hookimpl
def code_commit_after_run():
    streams = [
        (os.readlink(f"/proc/self/fd/{number}"), os.get_inheritable(number)) for number in range(3)
    ]
    open("../streams", "w").write(f"{streams} {sys.stdin.readable()} {sys.stderr.writable()}")
"""


LOOKS = """
import os, runpy, sys

sys.argv[1:] = ["--version"]
try:
    runpy.run_module("code_commit", run_name="__main__", alter_sys=True)
except SystemExit as end:
    streams = [
        (os.readlink(f"/proc/self/fd/{number}"), os.get_inheritable(number)) for number in range(3)
    ]
    open("streams", "w").write(
        f"{end.code} {streams} {sys.stdin.readable()} {sys.stderr.writable()}"
    )
"""


@pytest.mark.parametrize("closed", ["<&- >&- 2>&-", "2>&-"])
def test_closed_streams_are_opened_on_the_null_device(project, closed):
    completed = subprocess.run(
        ["bash", "-c", f'"$0" -P -c "$1" {closed}', sys.executable, LOOKS],
        cwd=project.root,
        env=project.environment({}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        check=False,
    )
    assert (completed.returncode, project.read("streams")) == (
        0,
        f"0 {[('/dev/null', True)] * 3} True True",
    )


def in_a_shell(
    project: Project, script: str, *, cwd: Path | None = None, plugins: str = ""
) -> subprocess.CompletedProcess[str]:
    with ScriptedServer([GOOD]) as server:
        environ = project.environment(
            {**server.environment(), "CC": COMMAND, "PYTHONPATH": plugins}
        )
        return subprocess.run(
            ["bash", "-c", script],
            cwd=cwd or project.root,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    "closed",
    [
        "<&- >&- 2>&-",
        *(
            pytest.param(redirection, marks=pytest.mark.slow)
            for redirection in ("<&-", ">&-", "2>&-")
        ),
    ],
)
def test_a_closed_stream_does_not_change_the_exit_code(project, closed, tmp_path):
    plugins = install_plugin(tmp_path / "plugins", "look", LOOK)
    finished = in_a_shell(project, f"$CC --model gpt-5 {closed}", plugins=str(plugins))
    assert (finished.returncode, project.read("a.txt")) == (0, "new\n"), finished.stderr
    assert "internal error" not in finished.stderr
    if closed == "<&- >&- 2>&-":
        assert project.read("../streams") == f"{[('/dev/null', True)] * 3} True True"


@pytest.mark.slow
def test_a_reader_of_the_diff_may_close_the_pipe(project):
    # The pipe is closed before the command starts, so the test does not depend on timing.
    reader, writer = os.pipe()
    os.close(reader)
    with ScriptedServer([GOOD]) as server:
        arguments = ("--model", "gpt-5", "--dry-run")
        with project.start(*arguments, environ=server.environment(), stdout=writer) as process:
            os.close(writer)
            _, stderr = process.communicate()
    assert process.returncode == 0, stderr


def on_a_full_disk(
    project: Project, *arguments: str, unbuffered: bool = False, **options: Any
) -> tuple[int, str]:
    """Run the command with a stdout that cannot be written; return its exit code and stderr."""
    buffering = {"PYTHONUNBUFFERED": "1"} if unbuffered else {}
    with (
        ScriptedServer([GOOD]) as server,
        Path("/dev/full").open("wb") as full,
        project.start(
            *arguments, environ=server.environment() | buffering, stdout=full.fileno(), **options
        ) as process,
    ):
        _, stderr = process.communicate()
    return process.returncode, stderr.decode()


@pytest.mark.parametrize(
    ("arguments", "cold"),
    [
        ("--model gpt-5 --dry-run", False),
        ("models", False),
        pytest.param("plugins --json", False, marks=pytest.mark.slow),
        ("--help", False),
        pytest.param("rollup --help", False, marks=pytest.mark.slow),
        pytest.param("completion bash", False, marks=pytest.mark.slow),
        ("--version", True),  # the interpreter writes what is left when it ends
        pytest.param("completion zsh", True, marks=pytest.mark.slow),
    ],
)
def test_a_full_disk_at_stdout_is_exit_3(project, arguments, cold):
    exit_code, stderr = on_a_full_disk(project, *arguments.split(), cold=cold)
    assert exit_code == 3
    assert "stdout cannot be written: No space left on device" in stderr
    assert "internal error" not in stderr
    assert "Traceback" not in stderr


PRINTS = """
from code_commit.plugin_api import CommandDefinition, hookimpl

@hookimpl
def code_commit_commands():
    return [CommandDefinition("print", "print", "prints_plugin:run")]

def run(host, arguments):
    print("not flushed")
    return 0
"""


def test_what_a_command_leaves_in_the_buffer_is_written_before_the_exit_code(project, tmp_path):
    plugins = [install_plugin(tmp_path / "plugins", "prints", PRINTS)]
    exit_code, stderr = on_a_full_disk(project, "print", plugins=plugins)
    assert (exit_code, "error: stdout cannot be written: No space left on device" in stderr) == (
        3,
        True,
    )


def test_a_run_that_prints_nothing_needs_no_stdout(project):
    # As in many containers: then Python writes even an empty text.
    exit_code, stderr = on_a_full_disk(project, "--model", "gpt-5", unbuffered=True, cold=True)
    assert (exit_code, "cannot be written" in stderr) == (0, False)


def test_events_that_cannot_be_written_are_reported_once(project):
    exit_code, stderr = on_a_full_disk(project, "--model", "gpt-5", "--json")
    assert exit_code == 0
    assert stderr.count("No space left on device") == 1


@pytest.mark.slow
def test_a_full_disk_is_not_an_internal_error(project, tmp_path):
    # The error occurs at an unusual call: writing the lock.
    hook = """
import errno, os
def full(*_):
    raise OSError(errno.ENOSPC, "No space left on device")
os.pwrite = full
"""
    (tmp_path / "sitecustomize.py").write_text(hook)
    finished = project.command("--model", "gpt-5", plugins=[tmp_path])
    assert (finished.exit_code, "cannot write: No space left on device" in finished.stderr) == (
        3,
        True,
    )


def test_an_error_that_cannot_be_printed_keeps_its_exit_code(project):
    with (
        Path("/dev/full").open("wb") as full,
        project.start("--model", "no-such-model", stderr=full.fileno()) as process,
    ):
        process.communicate()
    assert process.returncode == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        "runs",
        *(
            pytest.param(words, marks=pytest.mark.slow)
            for words in ("--model gpt-5", "check a.txt")
        ),
    ],
)
def test_a_working_directory_that_is_gone_is_exit_3(project, tmp_path, arguments):
    finished = in_a_shell(
        project, f"mkdir gone && cd gone && rmdir ../gone && $CC {arguments}", cwd=tmp_path
    )
    assert finished.returncode == 3
    assert "the current folder no longer exists" in finished.stderr


@pytest.mark.slow
def test_text_that_stdout_cannot_encode_is_escaped(project):
    changed = Reply("^^^a.txt\nGrüße\n^^^end\n")
    with ScriptedServer([changed]) as server:
        environ = {**server.environment(), "PYTHONIOENCODING": "ascii"}
        finished = project.command("--model", "gpt-5", "--dry-run", environ=environ)
    assert (finished.exit_code, "+Gr\\xfc\\xdfe" in finished.stdout) == (0, True), finished.stderr


NOISE = """
import os, subprocess, threading
from code_commit.plugin_api import *


def make_noise():
    print("printed")
    os.write(1, b"written\\n")
    subprocess.run(["echo", "of a child"])


make_noise()


@hookimpl
def code_commit_workflows():
    make_noise()
    flag = Flag(("--noisy",), "noisy", selects=True)
    return [WorkflowDefinition("noisy", "noisy", (flag,), "noisy_plugin:run", writes=False)]


@hookimpl
def code_commit_providers():
    return [
        ProviderDefinition(
            "noisy",
            {"noisy-1": ()},
            base_url="",
            base_url_variable=None,
            key_variable=None,
            config="code_commit_testing.scripted_provider:ScriptedConfig",
            factory="noisy_plugin:NoisyProvider",
        )
    ]


class NoisyProvider:
    def __init__(self, config):
        make_noise()

    def complete(self, call):
        pass

    def close(self):
        make_noise()


def print_for_good():
    while True:
        print("printed")


def run(run):
    make_noise()
    threading.Thread(target=print_for_good, daemon=True).start()
    return Result(Outcome.REACHED, "done")
"""


@pytest.mark.parametrize(
    "words", [["--noisy", "--json", "--model", "noisy-1"], ["plugins", "--json"]]
)
def test_with_json_nothing_else_is_on_stdout(project, tmp_path, words):
    plugins = [install_plugin(tmp_path / "plugins", "noisy", NOISE)]
    finished = project.command(*words, plugins=plugins)
    assert finished.exit_code == 0, finished.stderr
    lines = finished.stdout
    assert "of a child" not in lines
    assert "written" not in lines
    assert "printed" not in lines
    assert finished.stderr.count("of a child") >= 2
    assert json.loads(lines if words[0] == "plugins" else lines.splitlines()[-1])
