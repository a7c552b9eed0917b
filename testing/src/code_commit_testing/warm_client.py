"""Ask a server of `warm_start` for a process of the command; as a program, end as that ends.

A program for `python -I -S`, whose start costs little. Its arguments are the server's address, and
a command: a Python and `-P -m code_commit …`.
"""

from __future__ import annotations

import marshal
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence

KILL = signal.SIGUSR2  # kills the process: nothing can pass SIGKILL on
_PASSED_ON = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1)


def ask(
    address: str, command: Sequence[str], folder: str, environ: Mapping[str, str], *streams: int
) -> tuple[socket.socket, int]:
    """Return a connection and the pid of a new process.

    When the process ends, its wait status arrives. If the connection closes before, it is killed.
    """
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(f"\0{address}")
    socket.send_fds(connection, [b"."], streams)
    connection.sendall(marshal.dumps(([*command], folder, dict(environ))))
    connection.shutdown(socket.SHUT_WR)
    return connection, int.from_bytes(connection.recv(4), "little")


def exit_code_from(connection: socket.socket) -> int:
    """Wait for the process; return its exit code, as `subprocess` has it."""
    return os.waitstatus_to_exitcode(int.from_bytes(connection.recv(4), "little"))


def main() -> None:
    """Run the command with the environment, folder and streams of this process."""
    address, *command = sys.argv[1:]
    connection, pid = ask(address, command, os.getcwd(), os.environ, 0, 1, 2)  # noqa: PTH109 - no pathlib here
    for number in _PASSED_ON:
        signal.signal(number, lambda number, _frame: os.kill(pid, number))
    signal.signal(KILL, lambda *_: os.kill(pid, signal.SIGKILL))
    os.closerange(0, 3)  # or the other ends would not see that the command closes its own
    code = exit_code_from(connection)
    if code < 0:
        if -code not in {signal.SIGKILL, signal.SIGSTOP}:  # their action is fixed
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    main()
