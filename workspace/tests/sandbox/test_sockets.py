"""No process in the sandbox reaches a socket of a service outside."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from code_commit_workspace.errors import NotReady
from code_commit_workspace.records import ProcessResult

pytestmark = pytest.mark.usefixtures("bubblewrap")

Run = Callable[..., ProcessResult]


@pytest.mark.parametrize("setting", ["readable", "writable"])
def test_no_socket_is_reached_in_what_the_user_shows(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    (home / ".gnupg").mkdir()
    (home / ".gnupg/conf").write_text("shown")
    with socket.socket(socket.AF_UNIX) as listener:
        monkeypatch.chdir(home)  # the path of a socket is short
        listener.bind(".gnupg/agent")
        listener.listen()
        connect = "import socket; socket.socket(socket.AF_UNIX).connect('agent')"

        result = run(
            f'cd ~/.gnupg; cat conf; python3 -c "{connect}"', **{setting: (home / ".gnupg",)}
        )

        assert result.output.startswith(b"shown")
        assert b"Error: [Errno" in result.output
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()
        with pytest.raises(NotReady, match="is a socket: what listens there acts outside"):
            run("true", **{setting: (home / ".gnupg/agent",)})


def test_a_socket_in_another_folder_that_the_user_opens_is_reached(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "shared").mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        monkeypatch.chdir(home)
        listener.bind("shared/service")
        listener.listen()
        connect = "import socket; socket.socket(socket.AF_UNIX).connect('service')"
        result = run(
            f'cd ~/shared; python3 -c "{connect}" && echo reached', writable=(home / "shared",)
        )
    assert result.output == b"reached\n"


def test_servers_of_a_build_are_reached_inside(run: Run) -> None:
    script = "from socket import *; end = create_server(('127.0.0.1', 0)); create_connection(end.getsockname())"
    assert run(f'python3 -c "{script}" && echo reached').output == b"reached\n"


def test_no_abstract_socket_outside_is_reached(run: Run) -> None:
    name = f"\0code-commit-{os.getpid()}"
    script = "import socket; socket.socket(socket.AF_UNIX).connect('\\0' + '" + name[1:] + "')"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(name)
        server.listen()
        result = run(f'/usr/bin/env python3 -c "{script}"')

    assert b"PermissionError" in result.output or b"Operation not permitted" in result.output


def test_sockets_and_variables_of_services_are_not_there(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = home / "agent.sock"
    monkeypatch.setenv("SSH_AUTH_SOCK", str(path))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
    monkeypatch.setenv("TMPDIR", "/tmp/elsewhere")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        result = run(
            "test -S ~/agent.sock && echo socket; echo $SSH_AUTH_SOCK$DOCKER_HOST$XDG_RUNTIME_DIR$TMPDIR; ls /run/user"
        )

    assert result.output.partition(b"ls: ")[0] == b"\n"


@pytest.mark.parametrize("name", ["runtime/bus", ".colima/default/docker.sock"])
def test_no_socket_of_a_users_service_is_reached(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(home / "runtime"))
    path = home / name
    path.parent.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        result = run(
            f"/usr/bin/env python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect('{path}')\""
        )
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()

    assert b"Error: [Errno" in result.output
