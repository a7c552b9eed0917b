"""Ask a server of `warm_start` for a process of the command, and end as it ends.

For scripts that start the command themselves. A file for `python -I -S`, because the start of this program should cost
nothing; its first argument is the descriptor of the server's socket.
"""

from __future__ import annotations

import json
import os
import socket
import sys


def main() -> None:
    """Run the command with the arguments, environment, folder and streams of this process."""
    descriptor, *arguments = sys.argv[1:]
    request, (status, report) = os.memfd_create("request"), os.pipe()
    command = [sys.executable, "-P", "-m", "code_commit", *arguments]
    asked = {"command": command, "folder": os.getcwd(), "environ": dict(os.environ)}  # noqa: PTH109 - no pathlib here
    os.write(request, json.dumps(asked).encode())
    with socket.socket(fileno=int(descriptor)) as control:
        socket.send_fds(control, [b"fork"], [request, report, 0, 1, 2])
    os.close(report)
    _pid, ended = os.read(status, 4), os.read(status, 4)
    sys.exit(os.waitstatus_to_exitcode(int.from_bytes(ended, "little")))


if __name__ == "__main__":
    main()
