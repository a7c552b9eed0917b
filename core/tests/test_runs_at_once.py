"""`Host.start_many`: several runs at the same time, and how a signal ends them."""

from __future__ import annotations

import os
import signal

from code_commit_testing import Project, install_plugin

PLUGIN = """
from pathlib import Path
from code_commit.plugin_api import *


@hookimpl
def code_commit_commands():
    return [CommandDefinition("many", "start runs", "many_plugin:many", "many_plugin:arguments")]


def arguments(parser):
    parser.add_argument("roots", nargs="+")


def many(host, arguments):
    words = ["--writing", "--on-failure", "restore", "--sandbox", "off"]
    invocations = [host.parse(words) for _ in arguments.roots]
    roots = [Path(root) for root in arguments.roots]
    for root, done in zip(roots, host.start_many(invocations, roots=roots), strict=True):
        print(f"{root.parent.name}: {done.exit_code.name}, {done.summary}", flush=True)
    return 0


@hookimpl
def code_commit_workflows():
    flag = Flag(("--writing",), "write", selects=True)
    return [WorkflowDefinition("writing", "write", (flag,), "many_plugin:write", roles=None)]


def write(run):
    print("of a run")
    run.apply([Change("a.txt", b"new\\n")])
    build = run.build()
    return Result(Outcome.REACHED if build.passed else Outcome.NOT_REACHED, build.ending)
"""


def projects(tmp_path, build):
    return [Project.create(tmp_path / name, build=build) for name in ("one", "two", "three")]


def start(made, tmp_path):
    plugins = [install_plugin(tmp_path / "plugins", "many", PLUGIN)]
    roots = [str(project.root) for project in made]
    return made[0].start("many", *roots, plugins=plugins)


def test_each_run_has_a_summary_in_order(tmp_path):
    made = projects(tmp_path, "true\n")
    made[1].write({"build.sh": "false\n"})
    made[2].write({".gitignore": ""})  # it cannot start
    stdout, stderr = start(made, tmp_path).communicate(timeout=60)
    lines = stdout.decode().splitlines()
    assert [line.split(",")[0] for line in lines] == [
        "one: REACHED",
        "two: NOT_REACHED",
        "three: NOT_READY",
    ], stderr
    assert stderr.count(b"of a run\n") == 2


def test_after_a_signal_each_run_puts_its_files_back_and_no_other_starts(tmp_path):
    pipe = tmp_path / "started"
    os.mkfifo(pipe)
    made = projects(tmp_path, f"echo x > {pipe}; exec sleep 600\n")
    before = [project.read("a.txt") for project in made]
    process = start(made, tmp_path)
    with pipe.open("rb+", buffering=0) as started:
        for _ in range(2):
            assert started.readline() == b"x\n"
    process.send_signal(signal.SIGINT)
    stdout, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    lines = stdout.decode().splitlines()
    assert [line.split(",")[0] for line in lines] == ["one: INTERRUPTED", "two: INTERRUPTED"]
    assert [project.read("a.txt") for project in made] == before
    assert not (made[2].root / "logs").exists()
