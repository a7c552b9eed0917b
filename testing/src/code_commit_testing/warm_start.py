"""Start the command in a process that has imported its libraries before.

Imports are most of the time of a short run. On Linux a server, one for each test process, imports
the host and its libraries once, and forks for each start. The fork takes over arguments,
environment, working directory and standard streams, and runs the command: a process of its own,
with its own pid, signals and exit code.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from code_commit.plugin_api import python_command

# What the interpreter reads at its start, and only then.
_AT_START = ("PYTHON", "LANG", "LC_", "LD_", "COVERAGE_")
# Libraries that few tests need, and what those tests import: pages that are mapped make each fork
# slower.
_LARGE = {
    "dask": "code_commit_fleet",
    "distributed": "code_commit_fleet",
    "mcp": "mcp",
    "mcp_types": "mcp",
}
_lock = threading.Lock()
_started: list[WarmServer] = []


def fastest_start(environ: Mapping[str, str]) -> Callable[..., subprocess.Popen[bytes]]:
    """Return the fastest constructor of a `Popen` whose process acts like a new interpreter with
    `environ`.
    """
    server = shared_server(environ)
    return partial(_WarmProcess, server) if server else ChildProcess


def shared_server(environ: Mapping[str, str]) -> WarmServer | None:
    """Return the server of this test process, if its forks can act like a new interpreter with
    `environ`.
    """
    at_start = {
        name: text
        for name, text in environ.items()
        if name.startswith(_AT_START) and name != "PYTHONPATH"
    }
    if not hasattr(os, "pidfd_open") or any(name.startswith("COVERAGE_") for name in at_start):
        return None
    with _lock:
        if not _started:
            _started.append(WarmServer(at_start))
    return _started[0] if _started[0].environ == at_start else None


class WarmServer:
    """A server that forks. A script, which gets its `descriptor`, asks it with `warm_client.py`."""

    def __init__(self, environ: Mapping[str, str], python: str = "") -> None:
        """Start the server with `python`, by default this one.

        Its interpreter sees `environ` alone.
        """
        self.environ = environ
        left_out = [library for library, user in _LARGE.items() if user not in sys.modules]
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            words = (str(theirs.fileno()), *left_out)
            this_python, *command = python_command("code_commit_testing.warm_server", *words)
            self._server = subprocess.Popen(
                [python or this_python, *command],
                cwd="/",
                env=environ,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        atexit.register(self._close)

    @property
    def descriptor(self) -> int:
        """Return the descriptor of the socket that takes requests."""
        return self._control.fileno()

    def _close(self) -> None:
        self._control.close()  # which the server sees as well when this process is killed
        self._server.wait()

    def fork(self, request: Mapping[str, Any], streams: Sequence[int]) -> tuple[int, int]:
        """Return the pid of a new process, and a descriptor that has its wait status when it has
        ended.
        """
        message = os.memfd_create("request")
        status, theirs = os.pipe()
        try:
            os.write(message, json.dumps(request).encode())
            socket.send_fds(self._control, [b"fork"], [message, theirs, *streams])
        finally:
            os.close(message)
            os.close(theirs)
        return int.from_bytes(os.read(status, 4), "little"), status


class ChildProcess(subprocess.Popen[bytes]):
    """A process that ends with the test that fails: the `with` statement alone would wait for it."""

    def __exit__(self, failed: type[BaseException] | None, *given: Any) -> None:  # noqa: PYI036 - passed on
        """Kill the process after an exception, and wait for it."""
        if failed:
            self.kill()
        super().__exit__(failed, *given)


class _WarmProcess(ChildProcess):
    """A process of `python -P -m MODULE ...`.

    Choose `cwd`, `env` and the standard streams, nothing else.
    """

    def __init__(self, starts: WarmServer, command: Sequence[str], **options: Any) -> None:
        self._starts = starts
        super().__init__(command, **options)

    def _execute_child(self, *given: Any) -> None:
        command, cwd, env, pipes = given[0], given[5], given[6], given[10:16]
        streams = [
            end if end != -1 else number
            for number, end in enumerate((pipes[0], pipes[3], pipes[5]))
        ]
        request = {
            "command": [*map(os.fspath, command)],
            "folder": os.fspath(cwd),
            "environ": dict(env),
        }
        try:
            self.pid, self._status = self._starts.fork(request, streams)
            self._child_created = True
        finally:
            self._close_pipe_fds(*pipes)  # type: ignore[attr-defined] # Popen's own

    def _wait(self, timeout: float | None) -> int:
        with self._waitpid_lock:  # type: ignore[attr-defined] # Popen's own
            if self.returncode is not None:
                return self.returncode
            # A thread that waits, too, may close ours, and its number be used again.
            status = os.dup(self._status)
        ended = select.poll()
        ended.register(status)
        try:
            ended.poll(None if timeout is None else max(0, timeout * 1000))
            with self._waitpid_lock:  # type: ignore[attr-defined]
                if self.returncode is None:
                    if not ended.poll(0):
                        raise subprocess.TimeoutExpired(self.args, timeout or 0)
                    number = os.read(self._status, 4)
                    os.close(self._status)
                    self.returncode = os.waitstatus_to_exitcode(int.from_bytes(number, "little"))
        finally:
            os.close(status)
        return self.returncode

    def _internal_poll(self, _deadstate: int | None = None) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            self._wait(0)
        return self.returncode
