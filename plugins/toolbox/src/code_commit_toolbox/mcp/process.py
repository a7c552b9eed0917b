"""Run a server outside of the sandbox, if its entry in the user's configuration allows that."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, Protocol

from code_commit.plugin_api import STOP, NotReady
from code_commit_workspace import replaceable_places


class ServerProcess(Protocol):
    """A process with unbuffered pipes."""

    stdin: IO[bytes]
    stdout: IO[bytes]
    stderr: IO[bytes]

    def kill(self) -> None:
        """End the process and everything that it started; callable from any thread."""


class TrustedProcess:
    """A process in its own process group, without a sandbox.

    It ends with our own process at the latest.

    Raises:
        NotReady: it cannot be started; or a build could have put the program there.
    """

    def __init__(self, argv: Sequence[str], *, root: Path, env: Mapping[str, str]) -> None:
        variables = {**os.environ, **env}
        _require_outside(argv[0], root, variables.get("PATH"))
        try:
            self._process = subprocess.Popen(
                argv,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=root,
                env=variables,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise NotReady(f"{argv[0]} cannot be started: {error}") from error
        assert self._process.stdin
        assert self._process.stdout
        assert self._process.stderr
        self.stdin = self._process.stdin
        self.stdout = self._process.stdout
        self.stderr = self._process.stderr
        self._held = ExitStack()
        self._held.enter_context(STOP.child(self._signal))

    def kill(self) -> None:
        """End its process group."""
        self._held.close()
        self._signal()
        self._process.wait()

    def _signal(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)


def _require_outside(program: str, root: Path, search_path: str | None) -> None:
    """Check that neither `program` nor a folder above it is in the project at `root`."""
    path = program if "/" in program else shutil.which(program, path=search_path)
    if path and (root / path).exists() and any(replaceable_places(root / path, root)):
        raise NotReady(
            f"{path} is in the project, where a build could replace it, "
            "and would run outside of the sandbox",
            hint="install it outside of the project, or remove trusted = true",
        )
