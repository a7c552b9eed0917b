"""Starts a process, and ends it with everything that it has started, daemons included.

Two ways: under a supervisor of ours, which kills all descendants, or in bubblewrap, where the kernel kills whatever
lives in the sandbox's own table of processes. Both tell on a pipe how the process ended; that pipe's end means that
it is over.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Self

_SUPERVISOR = Path(__file__).with_name("supervisor.py")
_PATIENCE = 5.0  # seconds for killed processes to be gone


def start(
    argv: Sequence[str], *, wrapper: Sequence[str] | None, cwd: Path, env: Mapping[str, str], stdin: bytes
) -> Process:
    """Start `argv` in the folder `cwd`: inside of the sandbox that the command `wrapper` makes, or without one.

    Raises:
        OSError, ValueError: the system takes no such command.
    """
    if wrapper is None:
        return _Supervised(argv, cwd, env, stdin)
    return _Isolated([*wrapper], argv, cwd, env, stdin)


class Process(ABC):
    """A process and all that it has started. As a context: when it is left, nothing of it runs any more.

    `stdout`, `stderr` and `status` are pipes to read; what comes on `status` belongs to `told`. `exit_code` is None
    while it runs and when it was killed; `signal` is the one that ended it, where that is known; `trouble` says what
    else went wrong.
    """

    def __init__(
        self, command: Sequence[str], cwd: Path, env: Mapping[str, str], stdin: bytes, status: int, *pipes: int
    ) -> None:
        with _input(stdin) as source:
            self._child = subprocess.Popen(
                command,
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                cwd=cwd,
                env=dict(env),
                pass_fds=pipes,
                start_new_session=True,
            )
        assert self._child.stdout
        assert self._child.stderr
        self.stdout = self._child.stdout.fileno()
        self.stderr = self._child.stderr.fileno()
        self.status = status
        self.exit_code: int | None = None
        self.signal: int | None = None
        self.trouble = ""
        self._heard = b""
        self._ended = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.end()
        finally:
            for pipe in (self._child.stdout, self._child.stderr):
                if pipe:
                    pipe.close()
            os.close(self.status)

    def told(self, data: bytes) -> None:
        """Take what was read from `status`."""
        *lines, self._heard = (self._heard + data).split(b"\n")
        for line in lines:
            self._hear(line)

    @abstractmethod
    def kill(self) -> None:
        """Begin to end all of it, now."""

    def end(self) -> None:
        """End all of it, and wait until it is gone."""
        if not self._ended:
            self.kill()
            self._wait_until_gone()
            self._ended = True

    @abstractmethod
    def _hear(self, line: bytes) -> None: ...

    @abstractmethod
    def _wait_until_gone(self) -> None: ...


class _Supervised(Process):
    def __init__(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], stdin: bytes) -> None:
        self._leader: int | None = None
        (ear, self._control), (status, mouth) = os.pipe(), os.pipe()
        command = [sys.executable, "-I", "-S", str(_SUPERVISOR), str(ear), str(mouth), *argv]
        with _closing_after((ear, mouth), on_error=(self._control, status)):
            super().__init__(command, cwd, env, stdin, status, ear, mouth)

    def kill(self) -> None:
        if self._control >= 0:
            os.close(self._control)
            self._control = -1

    def _wait_until_gone(self) -> None:
        with suppress(subprocess.TimeoutExpired):
            self._child.wait(_PATIENCE)
        if self._child.returncode != 0:
            # It hangs, or was killed by what it watches: what is known of that is a process group.
            self._child.kill()
            self._child.wait()
            self.trouble = "its supervisor was killed: daemons of it may be left"
            if self._leader:
                with suppress(OSError):
                    os.killpg(self._leader, signal.SIGKILL)

    def _hear(self, line: bytes) -> None:
        match line.decode("utf-8", "replace").split(" ", 2):
            case ["pid", pid]:
                self._leader = int(pid)
            case ["exit", code]:
                self.exit_code = int(code)
            case ["signal", number]:
                self.signal = int(number)
            case ["cannot", _, reason]:
                self.trouble = f"it could not be started: {reason}"
            case ["left", count]:
                self.trouble = f"{count} processes of another user could not be ended"
            case _:
                pass


class _Isolated(Process):
    def __init__(
        self, wrapper: list[str], argv: Sequence[str], cwd: Path, env: Mapping[str, str], stdin: bytes
    ) -> None:
        self._init: int | None = None  # a handle on the sandbox's first process, with which all others go
        status, mouth = os.pipe()
        with _closing_after((mouth,), on_error=(status,)):
            super().__init__([*wrapper, "--json-status-fd", str(mouth), "--", *argv], cwd, env, stdin, status, mouth)

    def kill(self) -> None:
        deadline = time.monotonic() + _PATIENCE
        # While the sandbox is being made, its first process is not known yet.
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

    def _wait_until_gone(self) -> None:
        self._child.wait()
        if self._init is not None:
            # The first process is gone when the last one inside is.
            if not select.select([self._init], [], [], _PATIENCE)[0]:
                self.trouble = "a process of it could not be ended"
            os.close(self._init)
            self._init = None

    def _hear(self, line: bytes) -> None:
        told = json.loads(line)
        if "child-pid" in told:
            with suppress(ProcessLookupError):
                self._init = os.pidfd_open(told["child-pid"])
        if "exit-code" in told:
            self.exit_code = int(told["exit-code"])


@contextmanager
def _closing_after(handles: Sequence[int], *, on_error: Sequence[int]) -> Iterator[None]:
    """Close the ends of pipes that were given away, and ours too if they could not be."""
    try:
        yield
    except BaseException:
        for handle in on_error:
            os.close(handle)
        raise
    finally:
        for handle in handles:
            os.close(handle)


def _input(stdin: bytes) -> IO[bytes]:
    """Return a file without a name that holds `stdin`: unlike a pipe, it never waits for its reader."""
    if not stdin:
        return Path(os.devnull).open("rb")
    import tempfile

    file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    file.write(stdin)
    file.seek(0)
    return file
