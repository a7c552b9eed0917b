"""Run a process of a unit, with limited output and time.

It ends with the fleet, and with its worker.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from code_commit.plugin_api import python_command, python_environment
from code_commit_workspace import Process

_KEPT = 256 * 1024  # bytes of the end of each output
_CHUNK = 64 * 1024
_POLL = 0.25  # seconds between checks whether the fleet has stopped
_GRACE = 30.0  # seconds for code-commit to end after Ctrl-C


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended; the outputs are their last part.

    `reason` is "timeout" or "stopped" if we ended it.
    """

    exit_code: int | None
    stdout: bytes
    stderr: bytes
    reason: str = ""


def run_code_commit(
    arguments: Sequence[str],
    project: Path,
    *,
    stdin: bytes = b"",
    deadline: float,
    stopped: Callable[[], bool],
) -> Ended:
    """Run `code-commit` in `project` until it ends, the deadline passes or the fleet stops.

    Send it Ctrl-C first, so that it restores its project and reports its cost, and kill it some
    seconds later. If our own process is killed, the supervisor ends it.
    """
    command = python_command("code_commit", *arguments)
    env = _environment(os.environ)
    with Process(command, wrapper=None, cwd=project, env=env, stdin=stdin) as process:
        return _follow(process, deadline, stopped)


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a unit, without the variables of the cluster."""
    own = {name: value for name, value in environ.items() if not name.startswith("DASK_")}
    return python_environment(own)


def _follow(process: Process, deadline: float, stopped: Callable[[], bool]) -> Ended:
    outputs = {process.stdout: b"", process.stderr: b""}
    leader = 0  # its process id
    status = b""
    reason = ""
    with selectors.DefaultSelector() as selector:
        for pipe in (process.stdout, process.stderr, process.status):
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select(_POLL):
                data = os.read(key.fd, _CHUNK)
                if not data:
                    selector.unregister(key.fd)
                elif key.fd == process.status:
                    process.feed_status(data)
                    status = (status + data)[-_CHUNK:]
                    if not leader and status.startswith(b"pid ") and b"\n" in status:
                        leader = int(status.split(maxsplit=2)[1])
                else:
                    outputs[key.fd] = (outputs[key.fd] + data)[-_KEPT:]
            now = time.monotonic()
            if reason and now > deadline:
                process.kill()
            elif not reason and (now > deadline or stopped()):
                reason = "timeout" if now > deadline else "stopped"
                deadline = now + _GRACE
                if leader:
                    with contextlib.suppress(OSError):
                        os.kill(leader, signal.SIGINT)
                else:
                    process.kill()
    return Ended(process.exit_code, outputs[process.stdout], outputs[process.stderr], reason)
