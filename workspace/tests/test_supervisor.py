"""The supervisor by itself: what it reports, also where the system offers less than Linux does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from code_commit_workspace.process import launch

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/task").is_dir(), reason="looks for processes in /proc"
)

MAIN = """\
import os, sys
sys.path.append(sys.argv[1])
import supervisor
exec(os.environ["PATCH"])
supervisor.main(*sys.argv[2:])
"""
FOLDER = str(Path(launch.__file__).parent)
# What other systems lack.
NO_SUBREAPER = "sys.platform = 'other'"
NO_LIST_OF_CHILDREN = "supervisor._LISTS_CHILDREN = False"
NO_PIDFD = "del os.pidfd_open"
NO_SESSION = """
spawn = os.posix_spawnp
def without_session(*args, setsid=False, **more):
    if setsid: raise NotImplementedError
    return spawn(*args, **more)
os.posix_spawnp = without_session
"""
PATCHES = ["pass", NO_SUBREAPER, NO_LIST_OF_CHILDREN, NO_PIDFD, NO_SESSION]


def start(
    *command: str, scope: str = "all", patch: str = "pass", **options: Any
) -> tuple[subprocess.Popen[bytes], int, int]:
    """Start the supervisor; return it, the end of the pipe that stops it, and the end of its status
    to read.
    """
    (control_end, control), (status, status_end) = os.pipe(), os.pipe()
    argv = [
        sys.executable,
        "-S",
        "-c",
        MAIN,
        FOLDER,
        str(control_end),
        str(status_end),
        scope,
        *command,
    ]
    process = subprocess.Popen(
        argv,
        pass_fds=(control_end, status_end),
        env={**os.environ, "PATCH": patch},
        start_new_session=True,
        **options,
    )
    for end in (control_end, status_end):
        os.close(end)
    return process, control, status


def report(status: int) -> list[str]:
    """Return the lines of the status, without the id of the command."""
    with os.fdopen(status, "rb") as file:
        lines = file.read().decode().splitlines()
    return [line for line in lines if not line.startswith("pid ")]


def supervised(*command: str, **options: str) -> list[str]:
    process, control, status = start(*command, **options)
    with process:
        reported = report(status)
    os.close(control)
    assert process.returncode == 0
    return reported


def alive(mark: str) -> list[int]:
    running = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes()
            ended = b") Z " in (folder / "stat").read_bytes()
        except OSError:
            continue
        if mark.encode() in command and not ended:
            running.append(int(folder.name))
    return running


def survivors(mark: str, patch: str) -> list[int]:
    """Return what is alive. Without a subreaper, nobody waits until what was killed has ended."""
    for _ in range(6000 if patch == NO_SUBREAPER else 0):
        if not alive(mark):
            break
        threading.Event().wait(0.01)
    return alive(mark)


@pytest.fixture
def mark() -> Iterator[str]:
    mark = f"mark-{uuid.uuid4().hex}"
    yield mark
    for pid in alive(mark):
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("scope", ["all", "sandbox", "set-uid"])
@pytest.mark.parametrize("patch", PATCHES)
def test_the_end_is_reported(patch, scope):
    assert supervised("sh", "-c", "exit 3", patch=patch, scope=scope) == ["exit 3"]


@pytest.mark.parametrize("patch", ["pass", NO_SUBREAPER])
@pytest.mark.parametrize(
    ("command", "told"),
    [
        (("sh", "-c", "kill -9 $$"), "signal 9"),
        (("true",), "exit 0"),
        (("/missing",), "cannot 127 No such file or directory"),
        ((FOLDER,), "cannot 126 Permission denied"),
    ],
)
def test_a_signal_and_a_command_that_cannot_start_are_reported(patch, command, told):
    assert supervised(*command, patch=patch) == [told]


@pytest.mark.parametrize("patch", PATCHES)
def test_what_the_command_left_is_ended(patch, mark):
    # Without a subreaper, only its own group can be found.
    away = "" if patch in {NO_SUBREAPER, NO_SESSION} else "setsid"
    script = f"{away} bash -c 'exec -a {mark} sleep 1000' & exit 0"
    assert supervised("bash", "-c", script, patch=patch) == ["exit 0"]
    assert survivors(mark, patch) == []


@pytest.mark.parametrize("scope", ["all", "sandbox"])
@pytest.mark.parametrize("patch", PATCHES)
def test_at_the_end_of_its_control_all_is_ended_and_no_exit_reported(patch, scope, mark):
    process, control, status = start(
        "bash",
        "-c",
        f"echo up; exec -a {mark} sleep 1000",
        patch=patch,
        scope=scope,
        stdout=subprocess.PIPE,
    )
    with process:
        assert process.stdout.readline() == b"up\n"
        os.close(control)
        assert report(status) == []
    assert process.returncode == 0
    assert survivors(mark, patch) == []


@pytest.mark.parametrize(
    ("patch", "told"), [("supervisor._signal = lambda *_: False", ["left 2"]), ("pass", [])]
)
def test_what_may_not_be_killed_is_counted_and_what_was_killed_is_waited_for(patch, told, mark):
    script = f"for n in 1 2; do bash -c 'exec -a {mark} sleep 1000' & done; exit 0"
    patch = f"supervisor._PATIENCE = -1; {patch}"
    assert supervised("bash", "-c", script, scope="sandbox", patch=patch) == ["exit 0", *told]


def test_the_command_gets_neither_pipe():
    assert supervised("sh", "-c", "test $(ls /proc/$$/fd | wc -l) -le 4") == ["exit 0"]
    script = "test $(cut -d' ' -f6 /proc/$$/stat) = $$"  # the leader of a session of its own
    assert supervised("sh", "-c", script) == ["exit 0"]
