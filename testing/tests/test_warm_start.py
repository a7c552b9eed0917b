"""Processes of `Project.start` act alike, whether a server has forked them or a new interpreter
runs.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from code_commit_testing import Project, install_plugin
from code_commit_testing.warm_client import KILL
from code_commit_testing.warm_start import warm_address

# A command that tells what a process can see of its start.
PLUGIN = """
import os, signal, sys
from code_commit.plugin_api import CommandDefinition, hookimpl


@hookimpl
def code_commit_commands():
    return [
        CommandDefinition(
            "look", "Look around.", "look_plugin:look", arguments="look_plugin:arguments"
        )
    ]


def arguments(parser):
    parser.add_argument("what", nargs="?", default="all")


def look(host, arguments):
    import importlib.metadata, json, locale, tempfile, threading, time

    if arguments.what == "wait":
        print("ready", flush=True)
        sys.stdin.read()
    if arguments.what == "much":
        sys.stdout.write(sys.stdin.read() * 2)
        return 3
    if arguments.what == "thread":
        threading.Thread(target=lambda: (time.sleep(0.01), print("the thread has ended"))).start()
        return 0
    seen = {
        "argv": [sys.argv, sys.orig_argv],
        "environ": dict(os.environ),
        "folder": os.getcwd(),
        "path": sys.path,
        "main": sys.modules["__main__"].__file__,
        "flags": repr(sys.flags),
        "zone": [time.tzname, time.timezone],
        "temporary": tempfile.gettempdir(),
        "umask": os.umask(0o22),
        "parents": [os.getpgrp(), os.getsid(0)],
        "streams": [
            [s.name, s.fileno(), s.encoding, s.errors, s.line_buffering]
            for s in (sys.stdin, sys.stdout, sys.stderr)
        ],
        "descriptors": sorted(os.listdir("/proc/self/fd"))[:3],
        "threads": threading.active_count(),
        "signals": {str(n): str(signal.getsignal(n)).partition(" at ")[0] for n in (2, 13, 15, 17)},
        "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
        "locale": locale.setlocale(locale.LC_ALL),
        "distributions": sorted(d.name for d in importlib.metadata.distributions()),
    }
    json.dump(seen, sys.stdout)
    return 0
"""


@pytest.fixture
def project(tmp_path):
    return Project.create(tmp_path)


@pytest.fixture
def plugins(tmp_path):
    return [install_plugin(tmp_path / "plugins", "look", PLUGIN)]


def both(project, *arguments, **options):
    """Return the results of a fork and of a new interpreter."""
    return project.command(*arguments, **options), project.command(*arguments, cold=True, **options)


def test_all_that_a_process_sees_of_its_start(project, plugins, tmp_path):
    (tmp_path / "t").mkdir()
    environ = {"TZ": "Asia/Tokyo", "TMPDIR": str(tmp_path / "t"), "EMPTY": "", "BYTES": "caf\udce9"}
    options = {"environ": environ, "plugins": [*plugins, tmp_path / "missing"], "cwd": project.home}
    warm, cold = (json.loads(finished.stdout) for finished in both(project, "look", "ä", **options))
    assert warm == cold
    assert (warm["zone"][0], warm["temporary"]) == (["JST", "JST"], str(tmp_path / "t"))


def test_a_fork_has_its_own_temporary_folder(project, plugins, tmp_path):
    seen = project.command("look", environ={"TMPDIR": str(tmp_path)}, plugins=plugins).document
    assert seen["temporary"] == str(tmp_path)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--version"],
        ["--help"],
        ["plugins"],
        ["config", "--json"],
        ["--model", "nobody"],
        ["--no-such-flag"],
        ["look", "--no"],
    ],
    ids=" ".join,
)
def test_equal_results(project, plugins, arguments):
    warm, cold = both(project, *arguments, plugins=plugins)
    assert warm == cold


def test_exit_code_and_much_output(project, plugins):
    warm = project.command("look", "much", plugins=plugins, stdin="x" * 3_000_000)
    assert (warm.exit_code, len(warm.stdout)) == (3, 6_000_000)


def test_a_module_that_exits_with_words(tmp_path):
    (tmp_path / "words.py").write_text("raise SystemExit('enough')\n")
    run = "from code_commit_testing.warm_server import run; run('words')"
    ended = subprocess.run(
        [sys.executable, "-c", run], cwd=tmp_path, capture_output=True, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, b"", b"enough\n")


def test_the_process_waits_for_its_threads(project, plugins):
    assert project.command("look", "thread", plugins=plugins).stdout == "the thread has ended\n"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_signals(project, plugins, number):
    codes = []
    for cold in (False, True):
        with project.start("look", "wait", plugins=plugins, cold=cold) as process:
            assert process.stdout.readline() == b"ready\n"
            assert process.poll() is None
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.01)
            process.send_signal(number)
            codes.append(process.wait(60))
            assert process.poll() == process.returncode
    assert codes[0] == codes[1]


def test_a_signal_before_the_command_runs_is_not_lost(project, plugins):
    with project.start("look", "wait", plugins=plugins) as process:
        process.send_signal(signal.SIGINT)
        assert process.wait(60) in {130, -signal.SIGINT}


def test_a_plugin_that_has_changed(project, plugins):
    for text in ("one", "three"):
        (plugins[0] / "look_plugin.py").write_text(
            PLUGIN.replace("Look around.", f"Look for {text}.")
        )
        assert f"Look for {text}." in project.command("--help", plugins=plugins).stdout


@pytest.mark.parametrize("name", ["pluggy", "sitecustomize"])
def test_a_folder_with_a_module_that_the_server_has_imported(project, plugins, name):
    (plugins[0] / f"{name}.py").write_text("print('mine')\n")
    warm, cold = both(project, "--help", plugins=plugins)
    assert warm == cold
    assert warm.stdout.startswith("mine\n")


@pytest.mark.parametrize("variable", ["PYTHONUNBUFFERED", "LC_CTYPE", "COVERAGE_PROCESS_START"])
def test_what_only_an_interpreter_reads_starts_one(project, variable):
    project.command("--version")  # the first start decides what the server is for
    assert warm_address(project.environment())
    assert warm_address(project.environment({variable: "1"})) is None


HOST = """
import sys, time
from pathlib import Path
from code_commit_testing import Project
from code_commit_testing.warm_client import KILL
from code_commit_testing.warm_start import warm_address
project = Project(Path(sys.argv[1]), Path(sys.argv[1]))
print(project.command("--version").exit_code, warm_address(project.environment()), flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="there is a server on Linux alone")
def test_the_server_ends_when_its_process_is_killed(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", HOST, tmp_path], stdout=subprocess.PIPE, text=True
    ) as host:
        code, address = host.stdout.readline().split()
        host.kill()
    assert code == "0"
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(60)
        with pytest.raises(ConnectionError):  # noqa: PT012 - refused, or reset
            connection.connect(f"\0{address}")
            connection.recv(4)


@pytest.mark.parametrize("cold", [False, True])
def test_a_process_that_is_killed_leaves_its_streams(project, plugins, cold):
    with project.start("look", "wait", plugins=plugins, cold=cold) as process:
        assert process.stdout.readline() == b"ready\n"
        process.kill()
        assert process.stdout.read() == b""  # although its stdin is still open
    assert process.returncode == -signal.SIGKILL


@pytest.mark.parametrize("cold", [False, True])
def test_a_process_that_is_killed_has_ended(project, tmp_path, cold):
    plugin = install_plugin(tmp_path / "plugins", "slow", SLOW.format(file=str(tmp_path / "pid")))
    with project.start("--help", plugins=[plugin], cold=cold) as process:
        while not (pid := (tmp_path / "pid").exists() and (tmp_path / "pid").read_text()):
            time.sleep(0.001)
        process.kill()
        assert process.wait(60) == -signal.SIGKILL
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)


SLOW = """
import os, time
open({file!r}, "w").write(str(os.getpid()))
time.sleep(600)
"""


@pytest.mark.parametrize("cold", [False, True])
def test_a_command_that_takes_too_long_is_killed(project, tmp_path, cold):
    plugin = install_plugin(tmp_path / "plugins", "slow", SLOW.format(file=str(tmp_path / "pid")))
    with pytest.raises(subprocess.TimeoutExpired):
        project.command("--help", plugins=[plugin], cold=cold, timeout=3)
    pid = int((tmp_path / "pid").read_text())
    with pytest.raises(ProcessLookupError):  # noqa: PT012 - at once, or when the server has seen it
        for _ in range(1000):
            os.kill(pid, 0)
            time.sleep(0.01)


@pytest.mark.parametrize("cold", [False, True])
def test_a_process_ends_with_the_test_that_fails(tmp_path, cold):
    plugin = install_plugin(tmp_path / "plugins", "slow", "import time\ntime.sleep(600)\n")
    start = Project.create(tmp_path).start("--help", plugins=[plugin], cold=cold)
    with pytest.raises(LookupError), start as process:
        raise LookupError
    assert -process.returncode in {signal.SIGKILL, KILL}  # the latter before there is a fork
