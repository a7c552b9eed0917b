"""Run one Deno process within limits, and exchange lines with it."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Self

from code_commit.plugin_api import STOP, NotReady
from code_commit_tasks.runtime.bounds import bind
from code_commit_tasks.runtime.deno import deno_binary, deno_command, deno_environment

_CHUNK = 256 * 1024
_LONGEST_LINE = 16 * 1024 * 1024  # bytes
_STDERR_KEPT = 16 * 1024  # bytes, the end of it
# Unsent bytes; above this, read no more calls until the process has read some.
_UNSENT = 16 * 1024 * 1024
_EXIT_TIMEOUT = 30.0  # seconds for a process to exit after it has closed its pipes


class ProcessTooSlow(Exception):  # noqa: N818 - the name of an event
    """The process reached its time limit."""


class ProcessOverLimit(Exception):  # noqa: N818 - the name of an event
    """The process exceeded a limit; the message names it."""


class DenoProcess:
    """A process that runs the bridge. As a context manager, it kills all its processes on exit.

    `deadline` is a `time.monotonic()` value; you may change it while the process runs.
    """

    def __init__(self, *, memory: int, seconds: float) -> None:
        """Start the process with a deadline in `seconds`.

        Raises:
            NotReady: Deno is not installed, or does not start.
        """
        try:
            self._process = _started(deno_command(deno_binary(), memory=memory))
        except OSError as error:
            raise NotReady(
                f"cannot start Deno: {error}",
                hint="reinstall it: pip install --force-reinstall deno",
            ) from error
        assert self._process.stdin
        assert self._process.stdout
        assert self._process.stderr
        self._memory = memory
        self._seconds = seconds
        self._stdin = self._process.stdin.fileno()
        self._stdout = self._process.stdout.fileno()
        stderr = self._process.stderr.fileno()
        self._unsent = bytearray()
        self._line = bytearray()
        self._stderr = b""
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._stdout, selectors.EVENT_READ, self._read_stdout)
        self._selector.register(stderr, selectors.EVENT_READ, self._read_stderr)
        os.set_blocking(self._stdin, False)
        self._lines: deque[bytes] = deque()
        self._open = True
        self.deadline = time.monotonic() + seconds
        self._held = ExitStack()

    def __enter__(self) -> Self:
        self._held.enter_context(STOP.child(self._kill))
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()
        self.end()

    def bind(self) -> None:
        """Limit the resources of the process from now on."""
        bind(self._process.pid, memory=self._memory, seconds=self._seconds)

    def send(self, line: bytes) -> None:
        """Queue a line.

        `lines` sends it while it reads, so that a process that does not read cannot block the host.
        """
        self._unsent += line + b"\n"
        with suppress(KeyError, ValueError):
            self._selector.register(self._stdin, selectors.EVENT_WRITE, None)

    def lines(self) -> Iterator[bytes]:
        """Yield its output line by line until it closes stdout.

        Raises:
            ProcessTooSlow: the deadline has passed.
            ProcessOverLimit: a line is too long.
            Interrupted: a signal came.
        """
        while self._open or self._lines:
            if time.monotonic() >= self.deadline:
                raise ProcessTooSlow
            if self._lines and len(self._unsent) < _UNSENT:
                yield self._lines.popleft()
            else:
                self._wait()
        if self._line:
            yield bytes(self._line)

    @property
    def exit_code(self) -> int:
        """Return its exit code, or a negative signal number; kill it if it still runs.

        Exhaust `lines` first.
        """
        try:
            return self._process.wait(_EXIT_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.end()
            return self._process.returncode

    @property
    def stderr(self) -> str:
        """Return the last part of its stderr."""
        return self._stderr.decode("utf-8", "replace")

    def _kill(self) -> None:
        with suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def end(self) -> None:
        """Kill the process and its children, and wait for it."""
        self._kill()
        self._process.wait()
        self._selector.close()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe:
                with suppress(OSError):
                    pipe.close()

    def _wait(self) -> None:
        self._select_stdout()
        ready = self._selector.select(max(0.0, self.deadline - time.monotonic()))
        STOP.check()
        for key, _ in ready:
            if key.fd == self._stdin:
                self._write()
                continue
            data = os.read(key.fd, _CHUNK)
            if data:
                key.data(data)
            else:
                self._selector.unregister(key.fd)
                self._open = self._open and key.data != self._read_stdout

    def _select_stdout(self) -> None:
        """Select its stdout, except while too much input is waiting."""
        reads = self._open and len(self._unsent) < _UNSENT
        if reads == (self._stdout in self._selector.get_map()):
            return
        if reads:
            self._selector.register(self._stdout, selectors.EVENT_READ, self._read_stdout)
        else:
            self._selector.unregister(self._stdout)

    def _write(self) -> None:
        try:
            sent = os.write(self._stdin, self._unsent[:_CHUNK])
        except BlockingIOError:
            return
        except OSError:  # it closed its input, or ended
            sent = len(self._unsent)
        del self._unsent[:sent]
        if not self._unsent:
            self._selector.unregister(self._stdin)

    def _read_stdout(self, data: bytes) -> None:
        *ends, begin = data.split(b"\n")
        for end in ends:
            self._lines.append(bytes(self._line + end))
            self._line.clear()
        self._line += begin
        if len(self._line) > _LONGEST_LINE:
            raise ProcessOverLimit(
                "it printed a line, passed arguments or returned a value of more than "
                f"{_LONGEST_LINE} bytes"
            )

    def _read_stderr(self, data: bytes) -> None:
        self._stderr = (self._stderr + data)[-_STDERR_KEPT:]


def _started(command: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        cwd="/",
        env=deno_environment(),
        start_new_session=True,
    )
