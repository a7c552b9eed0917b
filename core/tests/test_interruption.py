"""Ctrl-C, SIGTERM and SIGKILL: the command ends at once with the right outcome, and keeps its
files.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from code_commit.plugin_api import describe_changes, read_summary
from code_commit_testing import Project, Reply, ScriptedServer, install_plugin

KEY = "sk-canary-0123456789-key7Q"


@pytest.fixture
def project(tmp_path):
    return Project.create(tmp_path, build="echo > started; exec sleep 600\n")


def start(
    project: Project, server: ScriptedServer, *arguments: str, plugins=()
) -> subprocess.Popen[bytes]:
    environ = {"OPENAI_API_KEY": KEY, **server.environment()}
    command = ("--model", "gpt-5", "--json", "--quiet", *arguments)
    return project.start(*command, environ=environ, plugins=plugins)


def wait_for(process: subprocess.Popen[bytes], kind: str) -> list[dict]:
    """Read events until one of `kind` arrives."""
    events = []
    for line in process.stdout:
        events.append(json.loads(line))
        if events[-1]["kind"] == kind:
            return events
    raise AssertionError(f"no {kind} in {events}, {process.stderr.read()!r}")


def interrupt(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Send the signal, and check that the run ends at once with the right outcome."""
    process.send_signal(number)
    # Far from the 600 s that a server or a process would take.
    stdout, stderr = process.communicate(timeout=60)
    last = json.loads(stdout.splitlines()[-1])
    assert (process.returncode, last["kind"], last["data"]["outcome"]) == (
        130,
        "run.finished",
        "interrupted",
    ), stderr
    assert b"Traceback" not in stderr
    assert b"interrupted, at" not in stderr, "it did not end by itself"


@pytest.mark.fast_rows(1)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("moment", ["call.started", "process.started"])
def test_an_interrupted_run_ends_at_once_with_130(project, number, moment):
    reply = Reply(fault="hang") if moment == "call.started" else Reply("^^^a.txt\nnew\n^^^end\n")
    with ScriptedServer([reply]) as server:
        process = start(project, server)
        wait_for(process, moment)
        interrupt(process, number)
    assert json.loads((project.run_folder / "run.json").read_bytes())["exit_code"] == 130


POOL = """
from concurrent.futures import ThreadPoolExecutor
from pydantic import BaseModel
from code_commit.plugin_api import (
    Flag,
    Message,
    ProviderFailed,
    Request,
    Text,
    WorkflowDefinition,
    hookimpl,
    run_concurrently,
)


class Options(BaseModel):
    pool: str


@hookimpl
def code_commit_workflows():
    return [
        WorkflowDefinition(
            "pool",
            "wait in threads",
            (Flag(("--pool",), "how", metavar="HOW", selects=True),),
            "pool_plugin:wait",
            options="pool_plugin:Options",
        )
    ]


def wait(run):
    if run.options.pool == "text":
        exec("raise KeyboardInterrupt")

    def ask():
        while True:
            try:
                run.model().complete(Request((Message("user", (Text("hi"),)),)), label="ask")
            except ProviderFailed:
                pass

    def command():
        while True:
            run.execute(["sleep", "600"], timeout=600)

    step = {"ask": ask, "command": command}[run.options.pool.rpartition(" ")[2]]
    if run.options.pool.startswith("beside"):
        return run_concurrently([step] * 4)
    with ThreadPoolExecutor(2) as pool:
        return [job.result() for job in [pool.submit(step) for _ in range(4)]]
"""


@pytest.mark.parametrize(
    ("how", "number"),
    [
        ("ask", signal.SIGINT),
        ("beside command", signal.SIGTERM),
        ("ask", signal.SIGHUP),
        *(
            pytest.param(how, signal.SIGTERM, marks=pytest.mark.slow)
            for how in ("ask", "beside ask", "command")
        ),
        *(
            pytest.param(f"{how}command", signal.SIGINT, marks=pytest.mark.slow)
            for how in ("", "beside ")
        ),
        pytest.param("beside ask", signal.SIGINT, marks=pytest.mark.slow),
    ],
)
def test_waiting_threads_end_too(project, tmp_path, how, number):
    plugins = install_plugin(tmp_path / "plugins", "pool", POOL)
    moment = "call.started" if how.endswith("ask") else "process.started"
    # Without a sandbox, one process at a time runs; the other thread waits for its turn.
    arguments = ("--sandbox", "off", "--pool", how)
    with ScriptedServer([Reply(fault="hang")] * 4) as server:
        process = start(project, server, *arguments, plugins=[plugins])
        wait_for(process, moment)
        interrupt(process, number)


SLOW_END = """
import time
from code_commit.plugin_api import hookimpl

@hookimpl
def code_commit_model_layers():
    def slowly(call, next):
        try:
            return next(call)
        finally:
            time.sleep(0.3)
    return [slowly]
"""


def test_a_run_logs_the_end_of_calls_in_other_threads(project, tmp_path):
    plugins = install_plugin(tmp_path / "plugins", "pool", POOL)
    install_plugin(tmp_path / "plugins", "slow", SLOW_END)
    with ScriptedServer([Reply(fault="hang")] * 4) as server:
        process = start(project, server, "--pool", "beside ask", plugins=[plugins])
        wait_for(process, "call.started")
        interrupt(process, signal.SIGINT)
    kinds = [
        json.loads(line)["kind"]
        for line in (project.run_folder / "events.jsonl").read_bytes().splitlines()
    ]
    assert kinds.count("call.finished") == kinds.count("call.started")


DEAF = """
import ctypes, os, signal, sys, time
from code_commit.plugin_api import (
    STOP,
    Flag,
    Interrupted,
    NotReady,
    Outcome,
    Result,
    WorkflowDefinition,
    hookimpl,
)
from pydantic import BaseModel


class Options(BaseModel):
    deaf: str


@hookimpl
def code_commit_workflows():
    flags = (Flag(("--deaf",), "how", metavar="HOW", selects=True),)
    return [
        WorkflowDefinition(
            "deaf", "wait", flags, "deaf_plugin:work", roles=None, options="deaf_plugin:Options"
        )
    ]


def swallow(run):
    while True:
        try:
            run.execute(["sleep", "600"], timeout=600)
        except BaseException:
            pass


def block(run):
    # The signal goes to another thread: it would end this call.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM])
    ctypes.CDLL(None).select(0, 0, 0, 0, None)


def bug(run):
    try:
        run.execute(["sleep", "600"], timeout=600)
    except Interrupted:
        pass
    raise KeyError("a plain bug")


def consequence(run):
    try:
        run.execute(["sleep", "600"], timeout=600)
    except Interrupted as error:
        raise ValueError("no output") from error


def refused(run):
    try:
        run.execute(["sleep", "600"], timeout=600)
    except Interrupted:
        pass
    raise NotReady("two files are left", hint="delete them")


def decide(run):
    try:
        run.execute(["sleep", "600"], timeout=600)
    except Interrupted:
        pass
    return Result(Outcome.REACHED, "it may stop here")


def work(run):
    run.say("")
    if run.options.deaf == "block":
        with run.span("deaf.waits"):
            pass
    return globals()[run.options.deaf](run)
"""


@pytest.mark.fast_rows(6)
@pytest.mark.parametrize(
    ("how", "exit_code", "summary"),
    [
        # It does not end by itself, so it is ended.
        ("swallow", 130, "interrupted, at "),
        ("block", 130, "interrupted, at deaf_plugin.py, line 41, in block"),
        ("bug", 70, "internal error in a workflow of code-commit-deaf: KeyError: 'a plain bug'"),
        ("consequence", 130, "interrupted; ValueError: no output"),
        ("refused", 130, "interrupted; two files are left"),
        ("decide", 0, "it may stop here"),
    ],
)
def test_whatever_a_workflow_does_with_a_signal_it_ends(project, tmp_path, how, exit_code, summary):
    plugins = install_plugin(tmp_path / "plugins", "deaf", DEAF)
    arguments = ("--deaf", how, "--json", "--quiet", "--sandbox", "off")
    with project.start(*arguments, plugins=[plugins]) as process:
        wait_for(process, "deaf.waits.started" if how == "block" else "process.started")
        process.send_signal(signal.SIGTERM)
        begin = time.monotonic()
        stdout, stderr = process.communicate(timeout=60)
        seconds = time.monotonic() - begin
    last = json.loads(stdout.splitlines()[-1])
    assert (process.returncode, last["kind"]) == (exit_code, "run.finished"), stderr
    assert last["data"]["exit_code"] == exit_code
    assert last["data"]["summary"].startswith(summary)
    assert seconds < 30
    run = json.loads((project.run_folder / "run.json").read_bytes())
    assert run["exit_code"] == exit_code


STUCK_SINK = """
import time
from code_commit.plugin_api import hookimpl

class Stuck:
    def receive(self, record):
        if record.kind == "call.started":
            open("agent-config/stuck", "w").close()
            time.sleep(600)
    def close(self): pass

@hookimpl
def code_commit_log_sinks():
    return [Stuck()]
"""


def test_a_sink_that_blocks_delays_the_end_by_a_second_or_two(project, tmp_path):
    plugins = install_plugin(tmp_path / "plugins", "stuck", STUCK_SINK)
    with ScriptedServer([Reply(fault="hang")]) as server:
        process = start(project, server, plugins=[plugins])
        while not (project.root / "agent-config/stuck").exists():
            assert process.poll() is None
            time.sleep(0.02)
        begin = time.monotonic()
        interrupt(process, signal.SIGINT)
    assert time.monotonic() - begin < 10  # the limit is 15 s without a signal


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_an_interrupted_run_whose_output_nobody_reads_says_so(project):
    reader, writer = os.pipe()
    with ScriptedServer([Reply(fault="hang")]) as server:
        environ = {"OPENAI_API_KEY": KEY, **server.environment()}
        with project.start(
            "--model", "gpt-5", "--json", "--quiet", environ=environ, stdout=writer
        ) as process:
            while b"call.started" not in os.read(reader, 65536):
                assert process.poll() is None
            # Another description of the pipe: the command's own must go on to block.
            filling = os.open(f"/proc/self/fd/{writer}", os.O_WRONLY | os.O_NONBLOCK)
            with suppress(BlockingIOError):
                while True:
                    os.write(filling, b" " * 512)
            process.send_signal(signal.SIGINT)
            time.sleep(0.7)
            process.send_signal(signal.SIGINT)
            _, stderr = process.communicate(timeout=60)
    for descriptor in (reader, writer, filling):
        os.close(descriptor)
    assert (process.returncode, stderr[:22]) == (130, b"error: interrupted, at")
    assert json.loads((project.run_folder / "run.json").read_bytes())["exit_code"] == 130


GIT = """#!/bin/sh
case "$*" in *write-tree*) test -e started && echo x >> interrupted && kill -TERM $PPID;; esac
exec {git} "$@"
"""


@pytest.mark.slow
def test_a_signal_while_the_run_ends_does_not_hide_what_stays_changed(project, tmp_path):
    git = tmp_path / "bin/git"
    git.parent.mkdir()
    git.write_text(GIT.format(git=shutil.which("git")))
    git.chmod(0o755)
    project.write({"build.sh": "echo > started; exit 1\n"})
    with ScriptedServer([Reply("^^^a.txt\nnew\n^^^end\n")]) as server:
        environ = {**server.environment(), "PATH": f"{git.parent}:{os.environ['PATH']}"}
        finished = project.command("--model", "gpt-5", "--json", "--repairs", "0", environ=environ)
    # The workflow, then its end. Whether git writes a tree once more there depends on the clock of
    # the file system.
    assert len(project.read("interrupted").split()) in {2, 3}
    ends = [event["data"] for event in finished.events if event["kind"] == "run.finished"]
    assert [end["exit_code"] for end in ends] == [finished.exit_code] == [130]
    assert "a.txt" in ends[0]["data"]["changed"]
    assert "files stay changed:\n    a.txt " in finished.stderr


def test_an_interrupt_in_generated_code_is_exit_130(project, tmp_path):
    """After a Ctrl-C inside `exec`, Python ends with the signal itself unless prevented."""
    plugins = install_plugin(tmp_path / "plugins", "pool", POOL)
    environ = {"OPENAI_API_KEY": "a key for a test"}
    finished = project.command(
        "--pool", "text", "--model", "gpt-5", plugins=[plugins], environ=environ
    )
    assert (finished.exit_code, "interrupted" in finished.stderr) == (130, True)


def test_a_killed_run_keeps_its_files(project):
    with ScriptedServer([Reply("^^^a.txt\nnew\n^^^end\n")]) as server:
        process = start(project, server)
        wait_for(process, "process.started")
        process.kill()
        process.communicate(timeout=60)
    folder = project.run_folder
    assert "^^^a.txt" in (folder / "1-initial-query-response.txt").read_text()
    kinds = [
        json.loads(line)["kind"] for line in (folder / "events.jsonl").read_bytes().splitlines()
    ]
    assert "changes.applied" in kinds
    assert "run.finished" not in kinds
    assert describe_changes(read_summary(folder)) == "1 file"
    # The next run can start, and `undo` reverts the changes of the killed one.
    undone = project.command("undo")
    assert (undone.exit_code, undone.stdout) == (0, "a.txt\n")
    assert undone.stderr == f"restored 1 file from before {folder.name}\n"
    assert project.read("a.txt") == "old\n"
    assert describe_changes(read_summary(folder)) == "1 file, undone"


@pytest.mark.slow
def test_a_closed_stdout_does_not_change_the_outcome(project):
    project.write({"build.sh": "exit 0\n"})
    with ScriptedServer([Reply("^^^a.txt\nnew\n^^^end\n")]) as server:
        process = start(project, server)
        process.stdout.close()
        assert process.wait(60) == 0
        process.stderr.close()
        process.stdin.close()
    assert project.read("a.txt") == "new\n"


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_at_stdout_does_not_change_the_outcome(project):
    project.write({"build.sh": "exit 0\n"})
    with (
        ScriptedServer([Reply("^^^a.txt\nnew\n^^^end\n")]) as server,
        Path("/dev/full").open("wb") as full,
    ):
        environ = {"OPENAI_API_KEY": KEY, **server.environment()}
        with project.start(
            "--model", "gpt-5", "--json", environ=environ, stdout=full.fileno()
        ) as process:
            _, stderr = process.communicate()
    assert (process.returncode, project.read("a.txt")) == (0, "new\n"), stderr


@pytest.mark.fast_rows(2)
@pytest.mark.parametrize(
    "module", ["signal", "code_commit.cli.arguments", "code_commit.cli.main", "pluggy"]
)
def test_ctrl_c_during_the_imports_of_the_command(tmp_path, module):
    """Of `signal`, when nothing listens yet; and of the others."""
    project = Project.create(tmp_path / "made")
    hook = f"""
import os, sys
class Pressed:
    def find_spec(self, name, *_):
        if name == {module!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), 2)
sys.meta_path.insert(0, Pressed())
"""
    (tmp_path / "sitecustomize.py").write_text(hook)
    finished = project.command("--json", plugins=[tmp_path], cold=True)
    assert (finished.exit_code, finished.stderr) == (130, "error: interrupted\n")
    assert [event["data"]["outcome"] for event in finished.events] == ["interrupted"]


FOLDERS = """
from code_commit.plugin_api import CommandDefinition, hookimpl
@hookimpl
def code_commit_commands():
    return [CommandDefinition("wait", "wait", "folders_plugin:wait")]

def wait(host, arguments):
    with host.workspace() as workspace:
        workspace.git.head()
        print(workspace.git._opened().environ["GIT_COMMON_DIR"])
        raise KeyboardInterrupt
"""


def test_an_interrupted_command_keeps_its_output_and_no_temporary_folder(project, tmp_path):
    finished = project.command(
        "wait", plugins=[install_plugin(tmp_path / "plugins", "folders", FOLDERS)]
    )
    assert (finished.exit_code, finished.stderr) == (130, "error: interrupted\n")
    folder = Path(finished.stdout.strip())
    assert "code-commit" in folder.name
    assert not folder.exists()


LATE = """
import atexit, os, signal, sys, threading
from code_commit.plugin_api import STOP, CommandDefinition, hookimpl

@hookimpl
def code_commit_commands():
    return [CommandDefinition(name, "signal", f"late_plugin:{name}")
            for name in ("callback", "thread", "teardown", "now")]

def end():
    os.kill(os.getpid(), signal.SIGTERM)

def callback(host, arguments):
    atexit.register(end)
    atexit.register(print, "at exit", flush=True)
    return 7

def now(host, arguments):
    os.kill(os.getpid(), signal.SIGHUP)
    STOP.check()
    return 7

class Teardown:
    def __init__(self, number):
        self.number = number
    def __del__(self, kill=os.kill, process=os.getpid()):
        kill(process, self.number)

def teardown(host, arguments):
    sys.kept = Teardown(signal.SIGTERM)
    return 7

def thread(host, arguments):
    def run():
        threading.main_thread().join()
        end()
        threading.Event().wait()
    threading.Thread(target=run).start()
    return 7
"""


@pytest.mark.fast_rows(2)
@pytest.mark.parametrize("moment", ["callback", "thread", "teardown"])
def test_a_signal_after_the_end_does_not_change_the_exit_code(tmp_path, moment):
    project = Project.create(tmp_path / "made")
    plugins = install_plugin(tmp_path / "plugins", "late", LATE)
    finished = project.command(moment, plugins=[plugins], cold=True)
    printed = "at exit\n" if moment == "callback" else ""
    assert (finished.exit_code, finished.stdout) == (7, printed)


@pytest.mark.slow
def test_a_signal_that_is_ignored_stays_so(tmp_path):
    """As under `nohup`."""
    project = Project.create(tmp_path / "made")
    plugins = install_plugin(tmp_path / "plugins", "late", LATE)
    assert project.command("now", plugins=[plugins]).exit_code == 130
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert project.command("now", plugins=[plugins], cold=True).exit_code == 7
    finally:
        signal.signal(signal.SIGHUP, before)
