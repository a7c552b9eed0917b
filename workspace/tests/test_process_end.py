"""Nothing that a process started outlives it: at its end, at the time limit, at Ctrl-C, when the
host is killed.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import uuid
from pathlib import Path

import pytest

from code_commit_workspace import STOP, Interrupted
from code_commit_workspace.keys.redaction import Redactor
from code_commit_workspace.process.launch import Process
from code_commit_workspace.process.runner import ProcessRunner
from code_commit_workspace.records import SandboxSettings

MINUTE = 60.0
KILLS = int(os.environ.get("CODE_COMMIT_TEST_KILLS", "6"))
KILLED_WITHIN = 0.05  # seconds, in which a process is started here
pytestmark = pytest.mark.skipif(
    not Path("/proc/self/task").is_dir(), reason="looks for survivors in /proc"
)

# Children, grandchildren, and daemons that fork twice, leave the session, ignore signals, and hold
# the output open.
TREE = """
daemon() { (setsid bash -c 'trap "" TERM HUP INT; (exec -a MARK sleep 1000) & echo daemon; wait' MARK &) ; }
bash -c 'exec -a MARK sleep 1000' &
bash -c '(exec -a MARK sleep 1000) & wait; true' MARK &
daemon; daemon
"""
# Forks and abandons its parent forever, so that any list of processes is soon outdated.
HYDRA = """
python3 -c '
import os
while True:
    if os.fork():
        os._exit(0)
' MARK &
echo daemon
"""

# A few watch each other and replace one that dies, among many others that take time to kill.
GUARDS = """
mkdir guards
python3 -c '
import os, select, signal

COUNT = 8

def serve(slot):
    with open(f"guards/new-{slot}-{os.getpid()}", "w") as file:
        file.write(str(os.getpid()))
    os.rename(file.name, f"guards/{slot}")
    signal.alarm(300)
    watched, poll = {}, select.poll()
    while True:
        for other in set(range(COUNT)) - set(watched.values()) - {slot}:
            try:
                handle = os.pidfd_open(int(open(f"guards/{other}").read()))
            except OSError:
                continue
            watched[handle] = other
            poll.register(handle, select.POLLIN)
        for handle, _ in poll.poll(1 if len(watched) < COUNT - 1 else None):
            other = watched.pop(handle)
            poll.unregister(handle)
            dead = open(f"guards/{other}").read()
            try:
                os.close(os.open(f"guards/dead-{dead}", os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                continue
            if os.fork() == 0:
                serve(other)

for slot in range(COUNT):
    if os.fork() == 0:
        serve(slot)
for idle in range(100):
    if os.fork() == 0:
        signal.alarm(300)
        signal.pause()
os.mkdir("guards/up")
signal.pause()
' MARK &
until [ -e guards/up ]; do :; done
"""


def _alive(mark: str) -> list[str]:
    running = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and process.name != str(os.getpid()):
            try:
                command = (process / "cmdline").read_bytes().replace(b"\0", b" ")
                state = (process / "stat").read_bytes().rpartition(b")")[2].split()[0]
            except OSError:
                continue
            if mark.encode() in command and state != b"Z":
                running.append(f"{process.name} {state.decode()} {command.decode()}")
    return running


@pytest.fixture
def mark():
    return f"mark-{uuid.uuid4().hex}"


@pytest.fixture(params=["bubblewrap", "off"])
def mode(request):
    if request.param == "off":
        return "off"
    request.getfixturevalue("bubblewrap")
    return "require"


@pytest.fixture
def run(mode, tmp_path, mark):
    (tmp_path / "project").mkdir()
    runner = ProcessRunner(
        tmp_path / "project",
        SandboxSettings(mode),
        state_folder="agent-config/.code-commit",
        redactor=Redactor(),
    )

    def run(script, timeout=MINUTE):
        return runner.run(
            ["bash", "-c", script.replace("MARK", mark)], log=tmp_path / "log", timeout=timeout
        )

    return run


@pytest.mark.parametrize("tree", [TREE, HYDRA], ids=["daemons", "hydra"])
def test_nothing_survives_a_success(run, mark, tree):
    result = run(f"{tree} exit 0")

    assert result.passed
    assert not _alive(mark)


@pytest.mark.parametrize("before", ["", "setsid bash -c 'exec -a MARK sleep 1000' &", TREE])
def test_nothing_survives_a_build_that_kills_its_parent(run, mode, mark, before):
    result = run(f"{before}\nkill -KILL $PPID; echo still here")

    assert result.passed == (mode != "off")  # in the sandbox, nothing can kill that parent
    assert not _alive(mark)


def test_a_supervisor_that_hangs_is_ended_and_so_is_the_command(tmp_path, mark, monkeypatch):
    monkeypatch.setattr("code_commit_workspace.process.launch._PATIENCE", 0.1)
    (tmp_path / "project").mkdir()
    runner = ProcessRunner(
        tmp_path / "project",
        SandboxSettings("off"),
        state_folder="agent-config/.code-commit",
        redactor=Redactor(),
    )
    script = (
        f"kill -STOP $(cut -d' ' -f4 /proc/$PPID/stat); echo stopped; exec -a {mark} sleep 1000"
    )
    monkeypatch.setattr("code_commit_workspace.process.runner._PATIENCE", 0.1)

    for limit in (0.5, 5, 50):  # until it has stopped, which takes longer on a busy machine
        result = runner.run(["bash", "-c", script], log=tmp_path / "log", timeout=limit)
        if result.output:
            break

    assert result.timed_out
    assert "its supervisor was killed; background processes may still run" in result.log.read_text()
    _wait_until_gone(mark)


def test_no_process_sees_another_one_die(tmp_path, mark):
    """All are stopped before the first is killed.

    Killed one by one, they could replace each other forever; that is a race, so without the stop
    this test fails only sometimes.
    """
    (tmp_path / "project").mkdir()
    runner = ProcessRunner(
        tmp_path / "project",
        SandboxSettings("off"),
        state_folder="agent-config/.code-commit",
        redactor=Redactor(),
    )
    result = runner.run(
        ["bash", "-c", GUARDS.replace("MARK", mark)], log=tmp_path / "log", timeout=MINUTE
    )

    assert result.passed
    assert not _alive(mark)
    assert not list((tmp_path / "project/guards").glob("dead-*"))


def test_nothing_survives_the_time_limit(run, mark):
    # Until all of them had started, which takes longer on a busy machine.
    for limit in (0.5, 5, 50):
        result = run(f"{TREE} wait", timeout=limit)

        assert result.timed_out
        assert result.exit_code is None
        assert not _alive(mark)
        assert f"time limit of {limit:g} s" in result.log.read_text()
        if result.output == b"daemon\ndaemon\n":
            return
    pytest.fail("the daemons never started")


def test_the_time_limit_holds_for_what_closed_its_output(run, mark):
    result = run("exec >&- 2>&-; exec -a MARK sleep 1000", timeout=0.5)

    assert result.timed_out
    assert not _alive(mark)


def test_a_time_limit_that_is_over_at_once(run, mark):
    assert run("exec -a MARK sleep 1000", timeout=0.0).timed_out
    assert not _alive(mark)


def test_output_that_never_ends_ends_with_the_time_limit(run):
    assert run("yes", timeout=0.5).timed_out


def test_processes_run_concurrently_leave_each_other_alone(run, mode, tmp_path):
    """Each waits for the other: this fails if ending one kills the other's children."""
    second_runner = ProcessRunner(
        tmp_path / "project",
        SandboxSettings(mode),
        state_folder="agent-config/.code-commit",
        redactor=Redactor(),
    )
    os.mkfifo(tmp_path / "project" / "pipe")
    results = []
    long = threading.Thread(
        target=lambda: results.append(
            second_runner.run(
                ["bash", "-c", "(cat pipe) & wait; echo heard"],
                log=tmp_path / "long",
                timeout=MINUTE,
            )
        )
    )
    long.start()
    short = run("(setsid sleep 1000 &); echo short")
    last = run("echo said > pipe")
    long.join()

    assert short.passed
    assert last.passed
    assert results[0].output == b"said\nheard\n"


# The host in a separate process: its build reports through a named pipe when everything has
# started.
HOST = """
    import os, sys
    from pathlib import Path
    from code_commit_workspace.process.runner import ProcessRunner
    from code_commit_workspace.records import SandboxSettings
    from code_commit_workspace.keys.redaction import Redactor
    from code_commit_workspace import STOP, Interrupted

    STOP.listen(os._exit)
    STOP.begin_work()
    root, mode, script = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    runner = ProcessRunner(root / "project", SandboxSettings(mode), state_folder="agent-config/.code-commit", redactor=Redactor())
    print("ready", flush=True)
    try:
        runner.run(["bash", "-c", script], log=root / "log", timeout=600.0)
    except Interrupted:
        print("interrupted", flush=True)
        sys.exit(130)
"""


def _wait_until_gone(*marks):
    """Wait for the work of the kernel and the supervisor, however busy the machine is."""
    deadline = time.monotonic() + MINUTE
    while left := [process for mark in marks for process in _alive(mark)]:
        assert time.monotonic() < deadline, "\n".join(left)
        threading.Event().wait(0.02)


@pytest.fixture
def host(mode, tmp_path, mark):
    (tmp_path / "project").mkdir()
    os.mkfifo(tmp_path / "project" / "up")
    script = f"{TREE} echo partial output; echo up > up; wait".replace("MARK", mark)
    # Not in the command line of the host itself, which must not be found.
    (tmp_path / "project" / "script").write_text(script)
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(HOST), str(tmp_path), mode, "source ./script"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        assert (tmp_path / "project" / "up").read_text() == "up\n"
        assert process.stdout.readline() == b"ready\n"
        yield process
        process.kill()


def test_nothing_survives_ctrl_c_and_the_log_keeps_what_it_had(host, mark, tmp_path):
    host.send_signal(signal.SIGINT)
    out, err = host.communicate(timeout=MINUTE)

    assert (host.returncode, out) == (130, b"interrupted\n"), err
    assert not _alive(mark)
    log = (tmp_path / "log").read_text()
    assert "partial output\n" in log
    assert log.endswith("--- end ---\ninterrupted (Interrupted)\n")


class _InterruptingRedactor(Redactor):
    """A signal comes while the first piece of output is between the pipe and the log."""

    def stream(self):
        stream = super().stream()

        def feed(data, feed=stream.feed):
            stream.feed = feed
            STOP.set()
            return feed(data)

        stream.feed = feed
        return stream


def test_ctrl_c_loses_no_output_that_was_read(tmp_path, monkeypatch):
    monkeypatch.setattr(STOP, "is_set", False)  # and again after the test
    runner = ProcessRunner(
        tmp_path,
        SandboxSettings("off"),
        state_folder="agent-config/.code-commit",
        redactor=_InterruptingRedactor(),
    )

    with pytest.raises(Interrupted):
        runner.run(
            ["bash", "-c", "echo partial output; sleep 1000"], log=tmp_path / "log", timeout=MINUTE
        )

    assert "--- output ---\npartial output\n" in (tmp_path / "log").read_text()


def test_ctrl_c_at_the_start_ends_the_process_and_keeps_its_output(tmp_path, mark, monkeypatch):
    os.mkfifo(tmp_path / "up")
    script = f"{TREE} echo partial output; echo up > up; wait".replace("MARK", mark)

    def interrupted(*arguments, **options):
        process = Process(*arguments, **options)
        assert (tmp_path / "up").read_text() == "up\n"
        STOP.set()
        return process

    monkeypatch.setattr(STOP, "is_set", False)  # and again after the test
    monkeypatch.setattr("code_commit_workspace.process.runner.Process", interrupted)
    runner = ProcessRunner(
        tmp_path,
        SandboxSettings("off"),
        state_folder="agent-config/.code-commit",
        redactor=Redactor(),
    )

    with pytest.raises(Interrupted):
        runner.run(["bash", "-c", script], log=tmp_path / "log", timeout=MINUTE)

    assert not _alive(mark)
    assert "partial output\n" in (tmp_path / "log").read_text()


def test_nothing_survives_the_death_of_the_host(host, mark):
    host.kill()
    host.communicate(timeout=MINUTE)

    _wait_until_gone(mark)


# No thread of ours is needed.
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_nothing_of_the_trial_of_the_sandbox_survives_the_host(tmp_path, mark, monkeypatch):
    """bubblewrap leaves its second process behind, waiting, if it is killed as it starts."""
    for folder in ("bin", "project"):
        (tmp_path / folder).mkdir()
    os.mkfifo(tmp_path / "up")
    bubblewrap = tmp_path / "bin/bwrap"
    waiting = f"bash -c 'echo up > {tmp_path}/up; sleep 1000; true' {mark}"
    bubblewrap.write_text(f"#!/bin/bash\n{waiting} &\nwait\n")
    bubblewrap.chmod(0o755)
    monkeypatch.setenv("PATH", f"{bubblewrap.parent}:{os.environ['PATH']}")
    runner = ProcessRunner(
        tmp_path / "project",
        SandboxSettings("require"),
        state_folder="agent-config/.code-commit",
        redactor=Redactor(),
    )
    host = multiprocessing.get_context("fork").Process(target=lambda: runner.sandbox_in_use)
    host.start()
    assert (tmp_path / "up").read_text() == "up\n"
    assert _alive(mark)
    host.kill()
    host.join()

    _wait_until_gone(mark)


# No thread of ours is needed.
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_whenever_the_host_dies_nothing_of_it_stays(run, mark):
    """Also while the sandbox is being made, when bubblewrap itself would not notice."""
    for kill in range(KILLS):
        host = multiprocessing.get_context("fork").Process(target=run, args=(f"{TREE} wait",))
        host.start()
        host.join(timeout=KILLED_WITHIN * kill / KILLS)
        host.kill()
        host.join()

    _wait_until_gone(mark)
