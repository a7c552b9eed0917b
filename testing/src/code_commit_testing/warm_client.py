"""Ask a server of `warm_start` for a process of the command, and end as it ends.

For scripts that start the command themselves. A file for `python -I -S`, because the start of this
program should cost nothing. Its first argument is the descriptor of the server's socket, or `@` and
an address that leads there. The others are those of Python: `-P -m code_commit …`.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys


def main() -> None:
    """Run the command with the arguments, environment, folder and streams of this process."""
    server, *arguments = sys.argv[1:]
    request, (status, report) = os.memfd_create("request"), os.pipe()
    python = os.environ.pop("WARM_PYTHON", sys.orig_argv[0])
    asked = {"command": [python, *arguments], "folder": os.getcwd(), "environ": dict(os.environ)}  # noqa: PTH109 - no pathlib here
    os.write(request, json.dumps(asked).encode())
    with _connect(server) as control:
        socket.send_fds(control, [b"fork"], [request, report, 0, 1, 2])
    os.close(report)
    pid = int.from_bytes(os.read(status, 4), "little")
    signal.signal(signal.SIGINT, lambda number, _frame: os.kill(pid, number))
    ended = os.read(status, 4)
    sys.exit(os.waitstatus_to_exitcode(int.from_bytes(ended, "little")))


def _connect(server: str) -> socket.socket:
    if not server.startswith("@"):
        return socket.socket(fileno=int(server))
    control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    control.connect(f"\0{server[1:]}")
    return control


if __name__ == "__main__":
    main()
