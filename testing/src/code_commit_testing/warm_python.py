"""A `python` for programs that start the command themselves, such as the fleet and the MCP server.

It starts the command as `warm_start` does, and everything else as Python does.
"""

from __future__ import annotations

import os
import shlex
import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from code_commit.plugin_api import isolated_python
from code_commit_testing import warm_client
from code_commit_testing.warm_start import WarmServer, shared_server

_SCRIPT = """\
#!/bin/sh
case "$1 $2 $3" in
"-P -m code_commit") WARM_PYTHON=$0 exec {client} {address} "$@" ;;
*) exec {python} "$@" ;;
esac
"""


@contextmanager
def warm_python(folder: Path, environ: Mapping[str, str]) -> Iterator[str]:
    """Yield the path of a new `python` in `folder`; `environ` is that of `fastest_start`.

    The end of its process does not end the command, only Ctrl-C is passed on: for tests of kills,
    use `sys.executable`.
    """
    server = shared_server(environ)
    if server is None:
        yield sys.executable
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind("")  # Linux chooses an abstract address
        listener.listen()
        address = "@" + listener.getsockname()[1:].decode()
        path = folder / "python"
        python, client = (
            shlex.quote(sys.executable),
            shlex.join(isolated_python("-S", warm_client.__file__)),
        )
        path.write_text(_SCRIPT.format(python=python, client=client, address=address), "utf-8")
        path.chmod(0o755)
        threading.Thread(target=_pass_on, args=(listener, server), daemon=True).start()
        try:
            yield str(path)
        finally:
            listener.shutdown(socket.SHUT_RDWR)  # wakes the thread


def _pass_on(listener: socket.socket, server: WarmServer) -> None:
    """Pass the requests of the scripts on to the server."""
    with suppress(OSError), socket.socket(fileno=os.dup(server.descriptor)) as control:
        while True:
            with listener.accept()[0] as connection:
                message, descriptors, *_ = socket.recv_fds(connection, 16, 8)
            if message:
                socket.send_fds(control, [message], descriptors)
            for descriptor in descriptors:
                os.close(descriptor)
