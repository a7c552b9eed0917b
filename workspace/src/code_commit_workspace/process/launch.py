"""Start a process under our supervisor, which ends it and everything that it started.

This includes daemons.
"""

from __future__ import annotations

import os
import selectors
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, Self

from code_commit_workspace.process.seccomp import filter_here
from code_commit_workspace.words import count_of

# Imported as a module, to use its bytecode; last on the path, because the standard library has no
# such name.
_SUPERVISOR = (
    "import sys; sys.path.append(sys.argv[1]); import supervisor; supervisor.main(*sys.argv[2:])"
)
_FOLDER = str(Path(__file__).parent)
_STATUS_LIMIT = 4096  # bytes; bubblewrap writes less
_PATIENCE = 60.0  # seconds for the supervisor to end


class Process:
    """A process and everything that it started. As a context manager, it ends all of them on exit.

    `stdout`, `stderr` and `status` are pipes to read; with `one_output`, `stderr` is the pipe of
    `stdout`. Call `wait`, or pass data from `status` to `feed_status`; at its end of file, all
    processes have ended. `exit_code` is None while the process runs and if it was killed, `signal`
    is the signal that ended it, `trouble` describes another failure. `ran` is whether the process
    started in its sandbox, if any.

    If our own process ends in any way, the pipe to the supervisor breaks, and the supervisor ends,
    too.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        wrapper: Sequence[str] | None,
        cwd: Path,
        env: Mapping[str, str],
        stdin: bytes | None,
        one_output: bool = False,
    ) -> None:
        """Start `argv` in the folder `cwd`.

        It runs in the sandbox that the command `wrapper` creates, if any. With `stdin` None, stdin
        is a pipe to write to.

        Raises:
            OSError, ValueError: the system does not accept the command.
        """
        control_end, self._control = os.pipe()
        self.status, status_end = os.pipe()
        self._sandbox_status: list[int] = []
        if wrapper is not None:
            # bubblewrap writes its status in pieces, so it gets its own file.
            self._sandbox_status.append(os.memfd_create("bubblewrap"))
        our_ends = (self._control, self.status, *self._sandbox_status)
        its_ends = [control_end, status_end]
        with _closing_after(its_ends, on_error=our_ends), _input(stdin) as source:
            scope = "all"
            if wrapper is not None:
                scope = "set-uid" if _is_set_uid(wrapper[0]) else "sandbox"
                argv = [*_sandbox(wrapper, self._sandbox_status[0], its_ends), "--", *argv]
            handles = (str(control_end), str(status_end))
            # Isolated: it imports nothing from the folder, and reads no variable for Python.
            supervisor = (sys.executable, "-I", "-S", "-c", _SUPERVISOR, _FOLDER, *handles)
            self._supervisor = subprocess.Popen(
                [*supervisor, scope, *argv],
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if one_output else subprocess.PIPE,
                bufsize=0,
                cwd=cwd,
                env=dict(env),
                pass_fds=(*its_ends, *self._sandbox_status),
                start_new_session=True,
            )
        assert self._supervisor.stdout
        self.stdout = self._supervisor.stdout.fileno()
        self.stderr = (self._supervisor.stderr or self._supervisor.stdout).fileno()
        self.exit_code: int | None = None
        self.signal: int | None = None
        self.trouble = ""
        self.ran = wrapper is None  # in a sandbox, this is known at the end
        self._leader: int | None = None
        self._partial_line = b""
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.end()
        finally:
            supervisor = self._supervisor
            for pipe in (supervisor.stdin, supervisor.stdout, supervisor.stderr):
                if pipe:
                    with suppress(OSError):  # it may be broken
                        pipe.close()
            for handle in (self.status, *self._sandbox_status):
                os.close(handle)

    @property
    def pipes(self) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
        """The stdin, stdout and stderr of a process that was started with `stdin` None."""
        supervisor = self._supervisor
        assert supervisor.stdin
        assert supervisor.stdout
        assert supervisor.stderr
        return supervisor.stdin, supervisor.stdout, supervisor.stderr

    def feed_status(self, data: bytes) -> None:
        """Process data that was read from `status`."""
        *lines, self._partial_line = (self._partial_line + data).split(b"\n")
        for line in lines:
            self._handle_status(line.decode("utf-8", "replace"))

    def wait(self, timeout: float | None = None) -> int | None:
        """Read `status` until all processes have ended; return the exit code, None after a signal.

        Raises:
            TimeoutError: they did not end within `timeout` seconds.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        with selectors.DefaultSelector() as selector:
            selector.register(self.status, selectors.EVENT_READ)
            while True:
                remaining = None
                if deadline is not None:
                    remaining = max(0.0, deadline - time.monotonic())
                if not selector.select(remaining):
                    raise TimeoutError
                data = os.read(self.status, _STATUS_LIMIT)
                if not data:
                    return self.exit_code
                self.feed_status(data)

    def kill(self) -> None:
        """Start ending all processes; callable from any thread."""
        with self._lock:
            control, self._control = self._control, -1
        if control >= 0:
            os.close(control)

    def end(self) -> None:
        """End all processes and wait for them."""
        self.kill()
        with suppress(subprocess.TimeoutExpired):
            self._supervisor.wait(_PATIENCE)
        if self._supervisor.returncode != 0:
            # It hangs, or its child killed it: only the child's process group is known.
            self._supervisor.kill()
            self._supervisor.wait()
            self.trouble = "its supervisor was killed; background processes may still run"
            if self._leader:
                with suppress(OSError):
                    os.killpg(self._leader, signal.SIGKILL)
        for handle in self._sandbox_status:
            self.ran = b'"exit-code"' in os.pread(handle, _STATUS_LIMIT, 0)

    def _handle_status(self, line: str) -> None:
        match line.split(" ", 2):
            case ["pid", pid]:
                self._leader = int(pid)
            case ["exit", code]:
                self.exit_code = int(code)
            case ["signal", number]:
                self.signal = int(number)
            case ["cannot", code, reason]:
                self.exit_code = int(code)
                self.trouble = f"it could not start: {reason}"
            case ["left", count]:
                processes = count_of(int(count), "process", "processes")
                self.trouble = f"{processes} of another user could not be ended"


def _sandbox(wrapper: Sequence[str], status: int, files: list[int]) -> list[str]:
    """Return the command of bubblewrap, and add the files that it reads to `files`.

    Options are read from a file, because a command line with many mounts would be too long.

    Raises:
        ValueError: an option cannot be passed.
    """
    program, *options = wrapper
    if any("\0" in option for option in options):  # it would be two
        raise ValueError("embedded null byte")
    content = b"".join(os.fsencode(option) + b"\0" for option in options)
    options_file = _file("options", content)
    files.append(options_file)
    command = [program, "--args", str(options_file), "--json-status-fd", str(status)]
    system_calls = filter_here()
    if system_calls:
        filter_file = _file("filter", system_calls)
        files.append(filter_file)
        command += ("--seccomp", str(filter_file))
    return command


def _file(name: str, content: bytes) -> int:
    """Return an unnamed file with `content`, to read from its start."""
    handle = os.memfd_create(name)
    with open(handle, "wb", closefd=False) as file:
        file.write(content)
    os.lseek(handle, 0, os.SEEK_SET)
    return handle


def _is_set_uid(program: str) -> bool:
    """Return whether bubblewrap needs set-uid.

    It has no effect in a process that gave up new privileges.
    """
    return bool(Path(program).stat().st_mode & stat.S_ISUID)


@contextmanager
def _closing_after(handles: Sequence[int], *, on_error: Sequence[int]) -> Iterator[None]:
    """Close the pipe ends of the child after the block; on error, also ours."""
    try:
        yield
    except BaseException:
        for handle in on_error:
            os.close(handle)
        raise
    finally:
        for handle in handles:
            os.close(handle)


def _input(stdin: bytes | None) -> AbstractContextManager[IO[bytes] | int]:
    """Return what Popen takes as stdin: for `stdin` None, a pipe.

    Bytes come in an unnamed file: unlike with a pipe, we never wait for a reader.
    """
    if stdin is None:
        return nullcontext(subprocess.PIPE)
    if not stdin:
        return nullcontext(subprocess.DEVNULL)
    import tempfile

    file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    file.write(stdin)
    file.seek(0)
    return file
