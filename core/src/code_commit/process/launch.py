"""Starts a process, and ends it with everything that it has started, daemons included.

Two ways: `start_supervised`, where a supervisor of ours kills all descendants, and `start_isolated`, in bubblewrap,
where the kernel kills all that lives in the process's own table of processes. Both tell on a pipe, `status`, how the process ended,
and that pipe's end means that it is over.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Protocol, Self

_SUPERVISOR = Path(__file__).with_name("supervisor.py")
_PATIENCE = 5.0  # seconds for killed processes to be gone


class Started(Protocol):
    """A process and all that it has started, as a context: when it is left, nothing of it runs any more."""

    stdout: int
    stderr: int
    status: int

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def told(self, data: bytes) -> None:
        """Take what was read from `status`."""
        ...

    def kill(self) -> None:
        """Begin to end all of it, now; `status` comes to its end when that is done."""
        ...

    @property
    def exit_code(self) -> int | None:
        """How the process itself ended; None: by a signal, or it was killed."""
        ...

    @property
    def signal(self) -> int | None:
        """The signal that ended it, where that is known."""
        ...

    @property
    def trouble(self) -> str:
        """Why it could not be started, or what could not be ended; empty when all is well."""
        ...


class _Process:
    """What both ways share: the direct child, its pipes, and waiting for it."""

    def __init__(
        self, argv: Sequence[str], status: tuple[int, int], more: Sequence[int], cwd: Path, env: Mapping[str, str], stdin: bytes
    ) -> None:
        self.status, ours = status
        try:
            with _input(stdin) as source:
                self._child = subprocess.Popen(
                    argv,
                    stdin=source,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    bufsize=0,
                    cwd=cwd,
                    env=dict(env),
                    pass_fds=(ours, *more),
                    start_new_session=True,
                )
        except BaseException:
            os.close(self.status)
            raise
        finally:
            os.close(ours)
        assert self._child.stdout
        assert self._child.stderr
        self.stdout = self._child.stdout.fileno()
        self.stderr = self._child.stderr.fileno()
        self.exit_code: int | None = None
        self.signal: int | None = None
        self.trouble = ""
        self._pending = b""

    def __enter__(self) -> Self:
        return self

    def told(self, data: bytes) -> None:
        *lines, self._pending = (self._pending + data).split(b"\n")
        for line in lines:
            self._hear(line)

    def _hear(self, line: bytes) -> None:
        raise NotImplementedError

    def _wait(self) -> bool:
        try:
            self._child.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _close(self) -> None:
        for pipe in (self._child.stdout, self._child.stderr):
            if pipe:
                pipe.close()
        os.close(self.status)


class _Supervised(_Process):
    def __init__(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], stdin: bytes) -> None:
        self._leader: int | None = None
        control, self._control = os.pipe()
        status = os.pipe()
        command = [sys.executable, "-I", "-S", str(_SUPERVISOR), str(control), str(status[1]), *argv]
        try:
            super().__init__(command, status, (control,), cwd, env, stdin)
        except BaseException:
            os.close(self._control)
            raise
        finally:
            os.close(control)

    def __exit__(self, *_: object) -> None:
        self.kill()
        if not self._wait() or self._child.returncode < 0:
            # The supervisor hangs, or was killed by what it watches: what is known of it is its process group.
            self._child.kill()
            if self._leader:
                with suppress(OSError):
                    os.killpg(self._leader, signal.SIGKILL)
            self._child.wait()
        self._close()

    def kill(self) -> None:
        if self._control >= 0:
            os.close(self._control)
            self._control = -1

    def _hear(self, line: bytes) -> None:
        match line.decode("utf-8", "replace").split(" ", 2):
            case ["pid", pid]:
                self._leader = int(pid)
            case ["exit", code]:
                self.exit_code = int(code)
            case ["signal", number]:
                self.signal = int(number)
            case ["cannot", code, reason]:
                self.exit_code = int(code)
                self.trouble = reason
            case ["left", count]:
                self.trouble = f"{count} processes could not be ended"
            case _:
                pass


class _Isolated(_Process):
    def __init__(self, wrapper: Sequence[str], argv: Sequence[str], cwd: Path, env: Mapping[str, str], stdin: bytes) -> None:
        self._init: int | None = None  # a handle on the first process of the sandbox
        status = os.pipe()
        super().__init__([*wrapper, "--json-status-fd", str(status[1]), "--", *argv], status, (), cwd, env, stdin)

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._child.wait()
        if self._init is not None:
            # It ends when the last process inside is gone.
            if not select.select([self._init], [], [], _PATIENCE)[0]:
                self.trouble = "a process could not be ended"
            os.close(self._init)
        self._close()

    def kill(self) -> None:
        deadline = time.monotonic() + _PATIENCE
        # The sandbox is still being made: wait for its first process, with which all others go.
        while self._init is None and self._child.poll() is None and time.monotonic() < deadline:
            if select.select([self.status], [], [], 0.05)[0]:
                data = os.read(self.status, 4096)
                if not data:
                    break
                self.told(data)
        if self._init is not None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._init, signal.SIGKILL)
        self._child.kill()

    def _hear(self, line: bytes) -> None:
        told = json.loads(line)
        if "child-pid" in told:
            with suppress(ProcessLookupError):
                self._init = os.pidfd_open(told["child-pid"])
        if "exit-code" in told:
            self.exit_code = int(told["exit-code"])


def start_supervised(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], stdin: bytes) -> Started:
    """Start `argv` in the folder `cwd`, without isolation.

    Raises:
        OSError, ValueError: the system takes no such command.
    """
    return _Supervised(argv, cwd, env, stdin)


def start_isolated(
    wrapper: Sequence[str], argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], stdin: bytes
) -> Started:
    """Start `argv` in the folder `cwd`, inside of the sandbox that the command `wrapper` makes.

    Raises:
        OSError, ValueError: the system takes no such command.
    """
    return _Isolated(wrapper, argv, cwd, env, stdin)


def _input(stdin: bytes) -> IO[bytes]:
    """A file without a name that holds `stdin`: unlike a pipe, it never waits for its reader."""
    if not stdin:
        return open(os.devnull, "rb")
    file = tempfile.TemporaryFile()
    file.write(stdin)
    file.seek(0)
    return file
