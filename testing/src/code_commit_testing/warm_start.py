"""Start the command in a process that has imported its libraries before.

Imports are most of the time of a short run. On Linux a server, one for each test process, imports
the host and its libraries once, and forks for each start. The fork takes over arguments,
environment, working directory and standard streams, and runs the command: a process of its own,
with its own pid, signals and exit code.
"""

from __future__ import annotations

import atexit
import os
import shlex
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from code_commit.plugin_api import isolated_python, python_command
from code_commit_testing import warm_client

# What the interpreter reads at its start, and only then.
_AT_START = ("PYTHON", "LANG", "LC_", "LD_", "COVERAGE_")
# Libraries that few tests need, and what those tests import: more pages make each fork slower.
_LARGE = {
    "dask": "code_commit_fleet",
    "distributed": "code_commit_fleet",
    "mcp": "mcp",
    "mcp_types": "mcp",
}
_lock = threading.Lock()
_servers: list[tuple[dict[str, str], str]] = []  # what it read at its start, and its address


def warm_address(environ: Mapping[str, str]) -> str | None:
    """Return the address of this process's server.

    It is None if its forks cannot act like a new interpreter with `environ`.
    """
    at_start = {
        name: text
        for name, text in environ.items()
        if name.startswith(_AT_START) and name != "PYTHONPATH"
    }
    if not hasattr(os, "pidfd_open") or any(name.startswith("COVERAGE_") for name in at_start):
        return None
    with _lock:
        if not _servers:
            _servers.append((at_start, start_server(at_start, sys.executable)))
    server_environ, address = _servers[0]
    return address if server_environ == at_start else None


def start_server(environ: Mapping[str, str], python: str) -> str:
    """Start a server with `python`, which sees `environ` alone; return its address.

    It ends with this process.
    """
    left_out = [library for library, user in _LARGE.items() if user not in sys.modules]
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("")  # Linux chooses an abstract address
        listener.listen()
        words = (str(listener.fileno()), *left_out)
        _, *command = python_command("code_commit_testing.warm_server", *words)
        server = subprocess.Popen(
            [python, *command],
            cwd="/",
            env=environ,
            pass_fds=[listener.fileno()],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )
        atexit.register(server.communicate)  # closes its stdin, which ends it
        address: str = listener.getsockname()[1:].decode()
        return address


def warm_command(address: str, command: Sequence[str]) -> list[str]:
    """Return the command of a program that runs `command` in a fork of the server.

    It passes signals on, and ends as the fork ends.
    """
    return isolated_python("-S", warm_client.__file__, address, *command)


def run_warm(
    address: str,
    command: Sequence[str],
    folder: Path,
    environ: Mapping[str, str],
    streams: Sequence[IO[bytes]],
    timeout: float,
) -> int:
    """Run `command` in a fork of the server; return its exit code.

    Raises:
        TimeoutExpired: it took longer than `timeout` seconds, and was killed.
    """
    descriptors = (stream.fileno() for stream in streams)
    connection, _pid = warm_client.ask(address, command, str(folder), environ, *descriptors)
    with connection:
        connection.settimeout(timeout)
        try:
            return warm_client.exit_code_from(connection)
        except TimeoutError:
            raise subprocess.TimeoutExpired(command, timeout) from None


def warm_python(folder: Path, environ: Mapping[str, str]) -> str:
    """Return the path of a new `python` in `folder`, for programs that start the command.

    It starts the command in a fork of the server, and everything else as Python does. `environ` is
    the environment of the command.
    """
    address = warm_address(environ)
    if address is None:
        return sys.executable
    path = folder / "python"
    warm = shlex.join(warm_command(address, ()))
    python = shlex.quote(sys.executable)
    script = f"""\
#!/bin/sh
case "$1 $2 $3" in
"-P -m code_commit") exec {warm} "$0" "$@" ;;
*) exec {python} "$@" ;;
esac
"""
    path.write_text(script, "utf-8")
    path.chmod(0o755)
    return str(path)
